"""The window with a computer on the network: added, filled, lost in mid-reply, done without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton

from app.paths import Paths
from app.settings import Settings
from tests.helpers.network import Network
from tests.helpers.rpc_server import RpcServer, free_port, rpc_server
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(60))
MIB = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[RpcServer]:
    with rpc_server() as running:
        yield running


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    shape = TinyModel(layers=6, embedding=128, feed_forward=256, script=(*STORY, "<|im_end|>"))
    return write_tiny_model(tmp_path / "Tiny-Chat-F32.gguf", shape)


def _remember(paths: Paths, *endpoints: str) -> Settings:
    settings = Settings(paths.settings)
    settings.set("rpc", endpoints)
    return settings


def _view(program: Program) -> Any:
    return program.app.inspector._view


def _bar(program: Program, key: str) -> Any:
    return program.app.window.chat.notices.bar(key)


def _ready(program: Program) -> Program:
    """Wait for a model, and for the panel to show it."""
    program.ready()
    session = program.app.inspector.session
    program.until(lambda: session.state == "ready" and _view(program) is not None)
    program.until(lambda: _view(program).state == "loaded")
    return program


def _layers(program: Program) -> list[str]:
    """Return the devices of the layers, as the strip of the panel has them."""
    plan = program.app.inspector.session.plan
    assert plan is not None
    return [layer.device for layer in plan.layers]


def test_a_remembered_computer_takes_layers(
    open_program: Open, tiny: Path, paths: Paths, server: RpcServer
) -> None:
    settings = _remember(paths, server.endpoint)
    settings.set_load_values(str(tiny), settings.load_values() | {"gpu_layers": 4})
    program = _ready(open_program(tiny))
    model = program.app.engine.state.model
    assert model is not None
    assert model.devices_used == ("RPC0",)
    assert _layers(program) == ["CPU"] * 3 + ["RPC0"] * 4
    session = program.app.inspector.session
    assert session.plan is not None
    assert session.load is not None
    remote = session.plan.device("RPC0")
    assert remote is not None
    assert remote.network_s > 0
    held = {
        what: sum(
            item.size_bytes
            for item in session.load.buffers
            if item.device == "RPC0" and item.what == what
        )
        for what in ("weights", "kv", "compute")
    }
    assert held["weights"] == pytest.approx(remote.weights_bytes, abs=11_000)
    assert held["kv"] == pytest.approx(remote.kv_bytes, abs=11_000)
    assert held["compute"] == pytest.approx(remote.compute_bytes, abs=11_000)
    finding = next(item for item in _view(program).findings if item.id == "offload")
    assert finding.headline == "3 of 7 layers run on the processor."
    assert finding.layers is not None  # the strip
    program.until(lambda: len(_view(program).budgets) == 2)
    program.send("Hello")
    program.answered()
    assert program.texts()[-1] == "".join(STORY)
    program.until(lambda: _view(program).speed is not None and "network" in _formula(program))
    assert f"the network to {server.endpoint}: " in _formula(program)


def _formula(program: Program) -> str:
    return str(_view(program).speed.decode.formula)


def test_fewer_layers_fit_than_were_asked_for(open_program: Open, tiny: Path, paths: Paths) -> None:
    with rpc_server(memory_bytes=3 * MIB) as small:
        _remember(paths, small.endpoint)
        program = _ready(open_program(tiny))
        model = program.app.engine.state.model
        assert model is not None
        fit = model.layers_offloaded
        assert 0 < fit < 7
        assert _layers(program) == ["CPU"] * (7 - fit) + ["RPC0"] * fit
        finding = next(item for item in _view(program).findings if item.id == "offload")
        assert finding.text.startswith(f"7 layers were asked for and {fit} fit.")
        told = [_bar(program, key).text for key in program.notices()]
        assert any(f"{fit} of 7 fit: RPC0 has 3.00 MiB free" in text for text in told)
        program.close()


def test_a_device_lost_in_mid_reply_is_named_and_the_model_loads_without_it(
    open_program: Open, tiny: Path, paths: Paths, server: RpcServer
) -> None:
    with Network(server.endpoint, delay_s=0.01) as network:
        _remember(paths, network.endpoint)
        program = _ready(open_program(tiny))
        program.send("Hello")
        program.until(lambda: program.written() > 40)
        network.cut()
        program.until(lambda: program.app.engine.state.status == "lost")
        state = program.app.engine.state
        assert state.sentence.startswith(
            f"The connection to RPC0 ({network.endpoint}) broke while writing the reply: "
        )
        program.until(lambda: program.is_answered)
        partial = program.texts()[-1]
        assert partial
        assert "".join(STORY).startswith(partial)
        buttons = [item.text() for item in _bar(program, "engine-lost").findChildren(QPushButton)]
        assert buttons[:2] == ["Load without RPC0", "Load again"]
        program.until(lambda: _view(program).state == "lost")
        (fix,) = next(f for f in _view(program).findings if f.id == "engine_lost").fixes
        assert fix.label == "Load without RPC0"
        program.app.window.chat.notices.chosen.emit("engine-lost", "without_remotes")
        _ready(program)
        model = program.app.engine.state.model
        assert model is not None
        assert model.devices_used == ()
        assert set(_layers(program)) == {"CPU"}
        program.send("Again")
        program.answered()
        assert program.texts()[-1] == "".join(STORY)
        assert program.texts()[1] == partial
        # It is kept with the model, and shown among its settings.
        values = Settings(paths.settings).load_values(str(tiny))
        assert values["devices"] == f"-{network.endpoint}"
        program.close()


def test_unplugged_at_the_start(open_program: Open, tiny: Path, paths: Paths) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    _remember(paths, nobody)
    program = open_program(tiny)
    program.until(lambda: "engine" in program.notices())
    assert _bar(program, "engine").text == (
        f"{nobody} refuses the connection: no server runs there. It is left out."
    )
    _ready(program)
    assert set(_layers(program)) == {"CPU"}
    program.send("Hello")
    program.answered()
    assert program.texts()[-1] == "".join(STORY)


def test_a_computer_added_in_the_settings_is_used_by_the_next_load(
    open_program: Open, tiny: Path, server: RpcServer
) -> None:
    program = _ready(open_program(tiny))
    pid = program.app.engine.state.pid
    program.app.preferences.set_value("rpc", (server.endpoint,))
    assert program.app.engine.state.pid == pid  # the model that is loaded stays
    program.app.models.reload()
    program.until(lambda: program.app.engine.state.pid not in {None, pid})
    _ready(program)
    assert _layers(program) == ["RPC0"] * 7
    program.app.preferences.set_value("rpc", ())
    program.app.models.reload()
    program.until(lambda: program.app.engine.state.status == "loading")
    _ready(program)
    assert set(_layers(program)) == {"CPU"}
