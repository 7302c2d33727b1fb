"""The worker dies at every phase, and what the caller is left with (A41 to A43)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app import cli
from app.engine import launch
from app.engine.client import EngineClient, WorkerDied
from app.engine.protocol import Chunk, Done, Failed, Fault, Loaded
from app.engine.qt_client import EngineProcess
from tests.app.engine.conftest import FakeScript
from tests.helpers.engine import QtDriver, chat, generate, turn

SIGNALS = ["SIGKILL", "SIGSEGV", "SIGILL", "SIGABRT"]
REPLY = " ".join(f"w{i}" for i in range(200))

pytestmark = pytest.mark.usefixtures("faults")


def _arm(client: EngineClient, name: Any, phase: Any, after: int = 0) -> None:
    request = Fault(id=client.new_id(), signal=name, phase=phase, after_tokens=after)
    client.send(request)
    list(client.messages(request.id))


@pytest.fixture
def model(tmp_path: Path, fake_script: FakeScript) -> Path:
    fake_script(replies=[REPLY])
    path = tmp_path / "m.gguf"
    path.write_bytes(b"")
    return path


@pytest.mark.parametrize("name", SIGNALS)
def test_death_at_load(name: str, model: Path) -> None:
    notices: list[str] = []
    needed: list[str] = []
    with EngineClient(
        on_notice=notices.append, remember_compatibility=lambda hello: needed.append(hello.engine)
    ) as client:
        _arm(client, name, "load")
        if name == "SIGILL":
            info = client.load(str(model))
            assert info.compatibility
            assert needed == ["fake engine"]
            assert "compatibility mode" in notices[0]
        else:
            with pytest.raises(WorkerDied, match="while loading the model") as caught:
                client.load(str(model))
            assert caught.value.end.phase == "load"
            client.start()  # a dead engine can be started again
            assert client.load(str(model)).path == str(model)


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_death_in_a_turn(name: str, phase: str, model: Path) -> None:
    with EngineClient() as client:
        client.load(str(model))
        _arm(client, name, phase, 50)
        request = generate(client, chat("hello " * 300))  # type: ignore[arg-type]
        if name == "SIGILL" and phase == "prefill":
            messages = list(client.generate(request))
            assert isinstance(messages[-1], Done)  # restarted and answered
            assert client.compatibility
            return
        text = ""
        stream = client.generate(request)
        with pytest.raises(WorkerDied) as caught:  # noqa: PT012 - which message it is at is open
            while True:
                message = next(stream)
                text += message.answer if isinstance(message, Chunk) else ""
        assert caught.value.end.phase in ({"prefill"} if phase == "prefill" else {"decode"})
        assert caught.value.end.signal_name == name
        assert REPLY.startswith(text)


def test_out_of_memory_is_recognised(model: Path) -> None:
    with EngineClient() as client:
        client.load(str(model))
        _arm(client, "oom", "decode", 10)
        with pytest.raises(WorkerDied, match="ran out of memory") as caught:
            list(client.generate(generate(client, chat("hello"))))  # type: ignore[arg-type]
        assert not caught.value.recovery.restart


def test_faults_need_to_be_allowed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLIMSOLL_FAULTS")
    with EngineClient() as client:
        request = Fault(id=client.new_id(), signal="SIGKILL", phase="now")
        client.send(request)
        (answer,) = client.messages(request.id)
        assert isinstance(answer, Failed)
        assert answer.kind == "bad_request"


@pytest.fixture
def driver(model: Path, qtbot: Any) -> Any:
    driver = QtDriver(qtbot)
    assert isinstance(driver.load(model), Loaded)
    yield driver
    driver.close()


@pytest.mark.parametrize("name", SIGNALS)
def test_window_side_hears_of_a_death_in_decode(name: str, driver: QtDriver) -> None:
    fault = Fault(id=driver.new_id(), signal=name, phase="decode", after_tokens=20)  # type: ignore[arg-type]
    driver.send(fault)
    list(driver.receive(fault.id))
    messages = turn(driver, chat("hello"))
    assert isinstance(messages[-1], Failed)
    state = driver.engine.state
    assert state.status == "lost"
    assert state.model is None
    assert state.sentence == messages[-1].message
    assert state.advice
    assert state.compatibility == (name == "SIGILL")


def test_window_side_restarts_after_an_illegal_instruction_in_prefill(driver: QtDriver) -> None:
    fault = Fault(id=driver.new_id(), signal="SIGILL", phase="prefill")
    driver.send(fault)
    list(driver.receive(fault.id))
    request_id = driver.engine.generate("c", chat("hello"), generate(driver, chat("x")).sampling)
    *_, last = driver.receive(request_id)
    assert isinstance(last, Done)
    assert driver.engine.state.compatibility
    assert "compatibility mode" in driver.notices[0]
    assert driver.engine.state.status == "ready"


def test_asking_an_engine_that_has_just_died_fails_and_it_stays_lost(driver: QtDriver) -> None:
    os.kill(driver.pid, signal.SIGKILL)
    driver.qtbot.waitUntil(lambda: driver.engine.state.status == "lost")
    request_id = driver.engine.generate("c", chat("hello"), generate(driver, chat("x")).sampling)
    (failed,) = driver.receive(request_id)
    assert isinstance(failed, Failed)
    assert driver.engine.state.status == "lost"


def test_a44_late_messages_of_an_old_engine_are_not_heard(
    driver: QtDriver, model: Path, fake_script: FakeScript
) -> None:
    fake_script(replies=[REPLY], repeat=True, decode_per_s=500)
    assert isinstance(driver.load(model), Loaded)
    old = driver.engine.generate("c", chat("hello"), generate(driver, chat("x")).sampling)
    driver.qtbot.waitUntil(lambda: any(getattr(m, "id", 0) == old for m in driver._heard))
    old_pid = driver.pid
    assert isinstance(driver.load(model), Loaded)
    assert driver.pid != old_pid
    heard = len(driver._heard)
    turn_messages = turn(driver, chat("hello"), max_tokens=30)
    assert isinstance(turn_messages[-1], Done)
    assert all(getattr(m, "id", None) != old for m in driver._heard[heard:])
    failed = [m for m in driver._heard if isinstance(m, Failed) and m.id == old]
    assert [m.kind for m in failed] == ["cancelled"]


@pytest.fixture
def no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "engine"
    program.write_text("not for running")
    program.chmod(0o600)
    monkeypatch.setattr(launch, "worker_argv", lambda: [str(program), "--worker"])
    return program


def test_an_engine_that_cannot_be_started_says_which_file_and_why(no_program: Path) -> None:
    client = EngineClient()
    with pytest.raises(WorkerDied) as caught:
        client.start()
    assert str(caught.value) == (
        f"The engine's process can't be started: {no_program}: Permission denied."
    )
    assert caught.value.advice == ("Allow this user to run that file, or install Plimsoll again",)


def test_a_window_whose_engine_cannot_be_started_says_so(qtbot: QtBot, no_program: Path) -> None:
    engine = EngineProcess()
    engine.start()
    qtbot.waitUntil(lambda: engine.state.status == "lost")
    assert engine.state.sentence.startswith(
        f"The engine's process can't be started: {no_program}: "
    )
    assert "Permission denied" in engine.state.sentence
    assert engine.state.advice == ("Allow this user to run that file, or install Plimsoll again",)
    with qtbot.waitSignal(engine.closed):
        engine.close()
    engine.deleteLater()


def test_a_command_whose_engine_cannot_be_started_ends_in_a_sentence(
    no_program: Path, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["chat", str(starter), "-p", "hi"]) == 4
    assert f"can't be started: {no_program}: Permission denied." in capsys.readouterr().err
