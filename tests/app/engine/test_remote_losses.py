"""The real engine with a device over RPC: what doesn't fit, and what goes away."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.engine.client import EngineClient, WorkerDied
from app.engine.protocol import (
    Chunk,
    LoadOptions,
    MemoryNow,
    QueryMemory,
)
from tests.helpers.engine import chat, generate
from tests.helpers.network import Network
from tests.helpers.remote_engine import MIB, ROUNDING, Speaks, plan_of
from tests.helpers.rpc_server import RpcServer, free_port, rpc_server
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

WORDS = tuple(f" word{i}" for i in range(400))
"""A reply that lasts for seconds over a slow network: long enough to be cut in the middle."""


# --- what does not fit


def test_31_asked_fewer_fit(starter: Path) -> None:
    options = LoadOptions(n_ctx=2048)
    with (
        rpc_server(memory_bytes=110 * MIB) as small,
        EngineClient(remotes=[small.endpoint]) as client,
    ):
        plan = plan_of(client, starter, options)
        assert plan.fits is False
        info = client.load(str(starter), options)
        fitting = msgspec.structs.replace(options, gpu_layers=info.layers_offloaded)
        now = plan_of(client, starter, fitting)
        more = msgspec.structs.replace(options, gpu_layers=info.layers_offloaded + 1)
        with_one_more = plan_of(client, starter, more)
        driver_text = _reply(client)
    assert info.layers_asked == info.layers_total == 31
    assert 10 < info.layers_offloaded < 31
    (notice,) = info.notices
    assert notice.startswith(
        f"31 layers were asked onto RPC0, and {info.layers_offloaded} of 31 fit: RPC0 has 110 MiB "
        "free, and they would take "
    )
    # As many as fit, and not one fewer.
    assert now.fits is True
    assert with_one_more.fits is False
    held = sum(item.size_bytes for item in info.buffers if item.device == "RPC0")
    assert held < 110 * MIB
    remote = next(item for item in info.devices if item.name == "RPC0")
    assert remote.free_bytes is not None
    assert remote.free_bytes == pytest.approx(110 * MIB - held, abs=3 * ROUNDING)
    assert driver_text


def _reply(client: EngineClient) -> str:
    request = generate(Speaks(client), chat("Name a colour."), max_tokens=4)
    text = ""
    for message in client.generate(request):
        if isinstance(message, Chunk):
            text += message.answer
    return text


def test_nothing_fits(model: Path) -> None:
    with rpc_server(memory_bytes=1000) as tiny, EngineClient(remotes=[tiny.endpoint]) as client:
        info = client.load(str(model), LoadOptions(n_ctx=512))
        assert info.layers_offloaded == 0
        assert info.devices_used == ()
        assert info.notices[0].startswith("7 layers were asked onto RPC0, and 0 of 7 fit: ")
        assert _reply(client)


# --- what goes away


def test_a_device_that_disappears_in_mid_reply_is_named_and_done_without(tmp_path: Path) -> None:
    shape = TinyModel(layers=6, script=(*WORDS, "<|im_end|>"), embedding=128, feed_forward=256)
    model = write_tiny_model(tmp_path / "talks.gguf", shape)
    with rpc_server() as server:
        network = Network(server.endpoint, delay_s=0.005)
        with network, EngineClient(remotes=[network.endpoint]) as client:
            client.load(str(model), LoadOptions(n_ctx=1024))
            request = generate(Speaks(client), chat("Hello"))
            text = ""
            with pytest.raises(WorkerDied) as caught:  # noqa: PT012 - which message it is at is open
                for message in client.generate(request):
                    if isinstance(message, Chunk):
                        text += message.answer
                        if text.count("word") >= 5:  # several may come at once
                            network.cut()
            assert "".join(WORDS).startswith(text)
            assert text.count("word") >= 5
            where = f"RPC0 ({network.endpoint})"
            assert str(caught.value).startswith(
                f"The connection to {where} broke while writing the reply: "
            )
            assert caught.value.advice[0] == (
                f"Load the model without it (--devices=-{network.endpoint})"
            )
            assert not caught.value.recovery.restart
            client.start()
            info = client.load(str(model), LoadOptions(n_ctx=512, devices=f"-{network.endpoint}"))
            assert info.devices_used == ()
            assert _reply(client)


def test_a_device_unplugged_before_the_load_is_left_out(model: Path) -> None:
    port = free_port()
    with EngineClient(remotes=[f"127.0.0.1:{port}"]) as client:
        with rpc_server(port=port):
            pass
        assert client.load(str(model), LoadOptions(n_ctx=512)).layers_offloaded == 0
    with rpc_server() as server, EngineClient(remotes=[server.endpoint]) as client:
        server.stop()
        info = client.load(str(model), LoadOptions(n_ctx=512))
        (notice,) = info.notices
        assert notice.startswith(f"{server.endpoint} refuses the connection: no server runs there.")
        assert notice.endswith(" The model was loaded without RPC0.")
        assert info.layers_offloaded == 0
        # The engine would end itself if it asked the device for its memory now.
        memory = client.call(QueryMemory(id=client.new_id()), MemoryNow)
        assert [item.name for item in memory.devices] == ["CPU", "RPC0"]
        assert _reply(client)


def test_a_server_that_comes_back_is_used_again(model: Path) -> None:
    port = free_port()
    with EngineClient(remotes=[f"127.0.0.1:{port}"]) as client:
        with rpc_server(port=port):
            client.close()
            client.start()
            assert client.load(str(model), LoadOptions(n_ctx=512)).devices_used == ("RPC0",)
            client.load(str(model), LoadOptions(n_ctx=512, devices="none"))
        info = client.load(str(model), LoadOptions(n_ctx=512))
        assert info.devices_used == ()
        with rpc_server(port=port):
            info = client.load(str(model), LoadOptions(n_ctx=512))
            assert info.devices_used == ("RPC0",)
            assert _reply(client)
            client.close()


def test_an_idle_engine_leaves_the_server_to_others(model: Path, server: RpcServer) -> None:
    with EngineClient(remotes=[server.endpoint]) as first:
        assert first.hello is not None
        with EngineClient(remotes=[server.endpoint]) as second:
            assert second.load(str(model), LoadOptions(n_ctx=512)).devices_used == ("RPC0",)
            info = first.load(str(model), LoadOptions(n_ctx=512))
            assert info.devices_used == ()
            assert "another program uses it" in info.notices[0]
            assert _reply(second)
