"""The real engine with a device over RPC: the network as a straw, and the window's client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.engine.client import EngineClient
from app.engine.protocol import (
    Bench,
    Benched,
    Chunk,
    Done,
    LoadOptions,
    RemoteInfo,
)
from app.engine.qt_client import EngineProcess
from tests.helpers.engine import BlockingDriver, answer_of, chat, generate, turn
from tests.helpers.network import Network
from tests.helpers.remote_engine import Speaks, plan_of
from tests.helpers.rpc_server import RpcServer, free_port

WORDS = tuple(f" word{i}" for i in range(30))


# --- the network as a straw


def test_bytes_over_the_network_are_those_predicted(starter: Path, server: RpcServer) -> None:
    tokens = 48
    with Network(server.endpoint) as network, EngineClient(remotes=[network.endpoint]) as client:
        for options in (
            LoadOptions(n_ctx=2048, flash_attention="on"),
            LoadOptions(n_ctx=2048, gpu_layers=12, flash_attention="off"),
        ):
            client.load(str(starter), options)
            plan = plan_of(client, starter, options)
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
        plan = plan_of(client, model, options)
        assert plan.decode.ceiling is not None
        # What else runs makes tokens slower than the network does: the best of some runs counts.
        measured = max(12 / _decode(client, 12) for _ in range(4))
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
        assert _reply_whole(client) == alone


def _reply_whole(client: EngineClient) -> str:
    request = generate(Speaks(client), chat("Hello"))
    return "".join(m.answer for m in client.generate(request) if isinstance(m, Chunk))


def test_the_time_of_a_device_is_the_prompts_not_the_samplers(
    model: Path, server: RpcServer
) -> None:
    with (
        Network(server.endpoint, delay_s=0.02) as network,
        EngineClient(remotes=[network.endpoint]) as client,
    ):
        client.load(str(model), LoadOptions(n_ctx=512))
        request = generate(Speaks(client), chat("Hello there. " * 8), max_tokens=12)
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
        qtbot.waitUntil(lambda: engine.state.status == "idle")
        assert _remotes(engine) == ()
        first = engine.state.pid
        # Without a model it starts again at once.
        engine.use_remotes([server.endpoint, nobody])
        qtbot.waitUntil(lambda: engine.state.pid not in {None, first})
        qtbot.waitUntil(lambda: engine.state.status == "idle")
        found = _remotes(engine)
        assert [item.devices for item in found] == [("RPC0",), ()]
        assert notices == [f"{found[1].problem} It is left out."]
        # With one it goes on, and the next load has the new servers.
        engine.load(str(model), LoadOptions(n_ctx=512))
        qtbot.waitUntil(lambda: engine.state.status == "ready")
        loaded = engine.state
        engine.use_remotes([])
        assert engine.state == loaded
        assert _used(engine) == ("RPC0",)
        engine.load(str(model), LoadOptions(n_ctx=512))
        qtbot.waitUntil(lambda: engine.state.status == "ready")
        assert _used(engine) == ()
        # And back, while the engine before may still hold the server.
        engine.use_remotes([server.endpoint])
        for _ in range(2):
            engine.load(str(model), LoadOptions(n_ctx=512))
            qtbot.waitUntil(lambda: engine.state.status == "ready")
            assert _used(engine) == ("RPC0",)
    finally:
        with qtbot.waitSignal(engine.closed):
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
