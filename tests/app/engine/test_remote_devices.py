"""The real engine with a device over RPC: what lies where, what doesn't fit, what goes away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.engine.client import EngineClient, RequestFailed, WorkerDied
from app.engine.launch import REMOTES_VARIABLE
from app.engine.protocol import (
    Bench,
    Benched,
    Chunk,
    Done,
    DryRan,
    DryRun,
    LoadOptions,
    MemoryNow,
    ModelInfo,
    QueryMemory,
    RemoteInfo,
)
from app.engine.qt_client import EngineProcess
from app.machine import machine_for
from gguf_tools.facts import read_facts
from gguf_tools.plan import Plan, make_plan
from inspector.planned import load_settings
from tests.helpers.engine import BlockingDriver, answer_of, chat, generate, turn
from tests.helpers.network import Network
from tests.helpers.rpc_server import RpcServer, free_port, rpc_server
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

MIB = 1 << 20
WORDS = tuple(f" word{i}" for i in range(30))
ROUNDING = 2 * 5243  # the log prints sizes to 0.01 MiB


@pytest.fixture(scope="module")
def server() -> Iterator[RpcServer]:
    with rpc_server() as running:
        yield running


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shape = TinyModel(layers=6, script=(*WORDS, "<|im_end|>"), embedding=128, feed_forward=256)
    return write_tiny_model(tmp_path / "six.gguf", shape)


def _plan(client: EngineClient, path: Path, options: LoadOptions) -> Plan:
    assert client.hello is not None
    facts = read_facts(str(path))
    machine = machine_for(client.hello, None, options.devices)
    return make_plan(facts, load_settings(msgspec.to_builtins(options), facts), machine)


def _sizes(info: ModelInfo) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for item in info.buffers:
        key = (item.device.removesuffix("_Mapped"), item.what)
        found[key] = found.get(key, 0) + item.size_bytes
    return found


@pytest.mark.parametrize("gpu_layers", [-1, 3])
def test_buffers_by_device_are_the_plans(model: Path, server: RpcServer, gpu_layers: int) -> None:
    options = LoadOptions(n_ctx=1024, gpu_layers=gpu_layers, mmap=False)
    with EngineClient(remotes=[server.endpoint]) as client:
        plan = _plan(client, model, options)
        info = client.load(str(model), options)
    assert info.devices_used == ("RPC0",)
    assert info.layers_offloaded == plan.layers_offloaded == (7 if gpu_layers < 0 else 3)
    sizes = _sizes(info)
    for device in plan.devices:
        name, memory = device.device.name, device.memory
        for what, planned in (
            ("weights", memory.weights_bytes),
            ("kv", memory.kv_bytes),
            ("compute", memory.compute_bytes),
        ):
            # Weights on the processor are repacked or not; both are the same size in f32.
            assert sizes.get((name, what), 0) == pytest.approx(planned, abs=ROUNDING), (name, what)


def test_the_plan_is_the_engines_dry_run(model: Path, server: RpcServer) -> None:
    options = LoadOptions(n_ctx=2048, gpu_layers=4)
    with EngineClient(remotes=[server.endpoint]) as client:
        plan = _plan(client, model, options)
        request = DryRun(id=client.new_id(), path=str(model), options=options)
        answer = client.call(request, DryRan)
    engine = {(b.device, b.what): b.size_bytes for b in answer.buffers}
    for device in plan.devices:
        memory = device.memory
        assert engine[device.device.name, "weights"] == memory.weights_bytes
        assert engine[device.device.name, "cache"] == memory.kv_bytes
        assert engine[device.device.name, "compute"] == pytest.approx(
            memory.compute_bytes, rel=plan.memory.compute_margin
        )


def test_the_hello_tells_devices_network_and_who_is_missing(server: RpcServer) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    notices: list[str] = []
    with EngineClient(remotes=[nobody, server.endpoint], on_notice=notices.append) as client:
        hello = client.hello
        assert hello is not None
        (device,) = (item for item in hello.devices if item.backend == "RPC")
        assert (device.name, device.description) == ("RPC0", server.endpoint)
        assert device.kind == "gpu"
        assert device.round_trip_s is not None
        assert device.link_bytes_per_s is not None
        assert device.bandwidth_bytes_per_s is not None
        assert [item.devices for item in hello.remotes] == [(), ("RPC0",)]
        assert "refuses the connection" in hello.remotes[0].problem
        machine = machine_for(hello, None)
    assert notices == [f"{hello.remotes[0].problem} It is left out."]
    (remote,) = machine.accelerators
    assert remote.kind == "rpc"
    assert remote.bandwidth_basis == remote.link_basis == "measured"
    assert remote.round_trip_s == device.round_trip_s


def test_addresses_come_from_the_environment_if_nobody_gives_others(
    server: RpcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REMOTES_VARIABLE, server.endpoint)
    with EngineClient() as client:
        assert client.hello is not None
        assert [item.endpoint for item in client.hello.remotes] == [server.endpoint]
    with EngineClient(remotes=()) as client:
        assert client.hello is not None
        assert client.hello.remotes == ()
        assert all(item.backend != "RPC" for item in client.hello.devices)


@pytest.mark.parametrize("chosen", ["none", "ENDPOINT", "-ENDPOINT", "-rpc0", "rpc0"])
def test_devices_are_chosen(model: Path, server: RpcServer, chosen: str) -> None:
    text = chosen.replace("ENDPOINT", server.endpoint)
    used = chosen in {"ENDPOINT", "rpc0"}
    with EngineClient(remotes=[server.endpoint]) as client:
        info = client.load(str(model), LoadOptions(n_ctx=512, devices=text))
        plan = _plan(client, model, LoadOptions(n_ctx=512, devices=text))
    assert info.notices == ()
    assert info.devices_used == (("RPC0",) if used else ())
    assert info.layers_offloaded == plan.layers_offloaded == (7 if used else 0)
    assert any(item.device == "RPC0" for item in info.buffers) == used


def test_a_device_that_is_not_there_is_named(model: Path, server: RpcServer) -> None:
    with EngineClient(remotes=[server.endpoint]) as client:
        info = client.load(str(model), LoadOptions(n_ctx=512, devices="CUDA3,RPC0"))
        assert info.devices_used == ("RPC0",)
        assert info.notices == ("There is no device cuda3; the model lies on RPC0.",)
        info = client.load(str(model), LoadOptions(n_ctx=512, devices="CUDA3"))
        assert info.layers_offloaded == 0
        assert info.notices == ("There is no device cuda3; the model lies on the processor alone.",)


def test_two_devices_take_the_parts_they_are_given(model: Path, server: RpcServer) -> None:
    with rpc_server() as second, EngineClient(remotes=[server.endpoint, second.endpoint]) as client:
        for split, layers in (("3,1", None), ("0,1", 0), (None, None)):
            options = LoadOptions(n_ctx=512, tensor_split=split, mmap=False)
            plan = _plan(client, model, options)
            sizes = _sizes(client.load(str(model), options))
            planned = {item.device.name: item.memory.weights_bytes for item in plan.devices}
            for name in ("RPC0", "RPC1"):
                assert sizes.get((name, "weights"), 0) == pytest.approx(planned[name], abs=ROUNDING)
            if layers == 0:
                assert planned["RPC0"] == 0
            # While a model lies there, a dry run has the devices too.
            request = DryRun(id=client.new_id(), path=str(model), options=options)
            found = {
                item.device: item.size_bytes
                for item in client.call(request, DryRan).buffers
                if item.what == "weights"
            }
            assert found == planned
        with pytest.raises(RequestFailed, match="has 3 parts, and there are 2 devices"):
            client.load(str(model), LoadOptions(n_ctx=512, tensor_split="1,1,1"))
        with pytest.raises(RequestFailed, match="is no split"):
            client.load(str(model), LoadOptions(n_ctx=512, tensor_split="all"))


# --- what does not fit


def test_31_asked_fewer_fit(starter: Path) -> None:
    options = LoadOptions(n_ctx=2048)
    with (
        rpc_server(memory_bytes=110 * MIB) as small,
        EngineClient(remotes=[small.endpoint]) as client,
    ):
        plan = _plan(client, starter, options)
        assert plan.fits is False
        info = client.load(str(starter), options)
        fitting = msgspec.structs.replace(options, gpu_layers=info.layers_offloaded)
        now = _plan(client, starter, fitting)
        more = msgspec.structs.replace(options, gpu_layers=info.layers_offloaded + 1)
        with_one_more = _plan(client, starter, more)
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
    request = generate(_Speaks(client), chat("Name a colour."), max_tokens=4)
    text = ""
    for message in client.generate(request):
        if isinstance(message, Chunk):
            text += message.answer
    return text


class _Speaks:
    """What `generate` needs of a driver, over a client that runs."""

    def __init__(self, client: EngineClient) -> None:
        self._client = client

    def new_id(self) -> int:
        return self._client.new_id()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def test_nothing_fits(model: Path) -> None:
    with rpc_server(memory_bytes=1000) as tiny, EngineClient(remotes=[tiny.endpoint]) as client:
        info = client.load(str(model), LoadOptions(n_ctx=512))
        assert info.layers_offloaded == 0
        assert info.devices_used == ()
        assert info.notices[0].startswith("7 layers were asked onto RPC0, and 0 of 7 fit: ")
        assert _reply(client)


# --- what goes away


def test_a_device_that_disappears_in_mid_reply_is_named_and_done_without(model: Path) -> None:
    with rpc_server() as server:
        network = Network(server.endpoint, delay_s=0.005)
        with network, EngineClient(remotes=[network.endpoint]) as client:
            client.load(str(model), LoadOptions(n_ctx=512))
            request = generate(_Speaks(client), chat("Hello"))
            text = ""
            with pytest.raises(WorkerDied) as caught:  # noqa: PT012 - which message it is at is open
                for message in client.generate(request):
                    if isinstance(message, Chunk):
                        text += message.answer
                        if text.count("word") == 5:
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


# --- the network as a straw


def test_bytes_over_the_network_are_those_predicted(starter: Path, server: RpcServer) -> None:
    tokens = 48
    with Network(server.endpoint) as network, EngineClient(remotes=[network.endpoint]) as client:
        for options in (
            LoadOptions(n_ctx=2048, flash_attention="on"),
            LoadOptions(n_ctx=2048, gpu_layers=12, flash_attention="off"),
        ):
            client.load(str(starter), options)
            plan = _plan(client, starter, options)
            _decode(client, 8)  # the graph is sent once, and then named again
            before = network.moved_bytes
            _decode(client, tokens)
            # One pass warms up, the other is measured.
            moved = (network.moved_bytes - before) / (2 * tokens)
            (reads,) = plan.decode.reads[1:]
            assert reads.trips == 1
            assert moved == pytest.approx(reads.moved, rel=0.03)


def test_a_slow_network_is_the_limit_that_is_predicted(model: Path, server: RpcServer) -> None:
    with (
        Network(server.endpoint, delay_s=0.02) as network,
        EngineClient(remotes=[network.endpoint]) as client,
    ):
        options = LoadOptions(n_ctx=512)
        client.load(str(model), options)
        assert client.hello is not None
        plan = _plan(client, model, options)
        assert plan.decode.ceiling is not None
        seconds = _decode(client, 12)
        measured = 12 / seconds
        assert plan.decode.ceiling < 1 / 0.04
        assert 0.4 * plan.decode.ceiling < measured < 1.02 * plan.decode.ceiling


def _decode(client: EngineClient, tokens: int) -> float:
    request = Bench(id=client.new_id(), test="decode", depth=0, tokens=tokens, repeat=1)
    (seconds,) = client.call(request, Benched).seconds
    return seconds


def test_a_reply_over_rpc_is_the_processors(model: Path, server: RpcServer) -> None:
    driver = BlockingDriver()
    try:
        driver.client.load(str(model))
        alone, _, done = answer_of(turn(driver, chat("Hello")))
        assert isinstance(done, Done)
    finally:
        driver.close()
    with EngineClient(remotes=[server.endpoint]) as client:
        client.load(str(model), LoadOptions(gpu_layers=4))
        started_s = time.monotonic()
        assert _reply_whole(client) == alone
        assert time.monotonic() - started_s < 60


def _reply_whole(client: EngineClient) -> str:
    request = generate(_Speaks(client), chat("Hello"))
    return "".join(m.answer for m in client.generate(request) if isinstance(m, Chunk))


def test_the_time_of_a_device_is_the_prompts_not_the_samplers(
    model: Path, server: RpcServer
) -> None:
    with (
        Network(server.endpoint, delay_s=0.02) as network,
        EngineClient(remotes=[network.endpoint]) as client,
    ):
        client.load(str(model), LoadOptions(n_ctx=512))
        request = generate(_Speaks(client), chat("Hello there. " * 8), max_tokens=12)
        done = list(client.generate(request))[-1]
    assert isinstance(done, Done)
    stats = done.stats
    # A round trip is in the prompt, and in every token after the first.
    assert stats.prefill_s > 0.04
    assert stats.decode_s > 0.04 * (stats.reply_tokens - 1)
    assert stats.sample_s < 0.25 * stats.decode_s


# --- the window's client


def test_the_windows_engine_takes_new_servers(qtbot: Any, model: Path, server: RpcServer) -> None:
    engine = EngineProcess()
    notices: list[str] = []
    engine.notice.connect(notices.append)
    nobody = f"127.0.0.1:{free_port()}"
    try:
        engine.start()
        qtbot.waitUntil(lambda: engine.state.status == "idle", timeout=60_000)
        assert _remotes(engine) == ()
        first = engine.state.pid
        # Without a model it starts again at once.
        engine.use_remotes([server.endpoint, nobody])
        qtbot.waitUntil(lambda: engine.state.pid not in {None, first}, timeout=60_000)
        qtbot.waitUntil(lambda: engine.state.status == "idle", timeout=60_000)
        found = _remotes(engine)
        assert [item.devices for item in found] == [("RPC0",), ()]
        assert notices == [f"{found[1].problem} It is left out."]
        # With one it goes on, and the next load has the new servers.
        engine.load(str(model), LoadOptions(n_ctx=512))
        qtbot.waitUntil(lambda: engine.state.status == "ready", timeout=60_000)
        loaded = engine.state
        engine.use_remotes([])
        assert engine.state == loaded
        assert _used(engine) == ("RPC0",)
        engine.load(str(model), LoadOptions(n_ctx=512))
        qtbot.waitUntil(lambda: engine.state.status == "ready", timeout=60_000)
        assert _used(engine) == ()
        # And back, while the engine before may still hold the server.
        engine.use_remotes([server.endpoint])
        for _ in range(2):
            engine.load(str(model), LoadOptions(n_ctx=512))
            qtbot.waitUntil(lambda: engine.state.status == "ready", timeout=60_000)
            assert _used(engine) == ("RPC0",)
    finally:
        with qtbot.waitSignal(engine.closed, timeout=60_000):
            engine.close()
        engine.deleteLater()


def _remotes(engine: EngineProcess) -> tuple[RemoteInfo, ...]:
    hello = engine.state.hello
    assert hello is not None
    return hello.remotes


def _used(engine: EngineProcess) -> tuple[str, ...]:
    model = engine.state.model
    assert model is not None
    return model.devices_used
