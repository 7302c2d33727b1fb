"""An engine that hangs in the middle of a reply: a real worker that is halted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.engine.protocol import Chunk, Fault
from tests.app.engine.conftest import FakeScript
from tests.helpers.tiny_gguf import write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
LONG = " ".join(f"w{i}" for i in range(4000))

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no process can be halted there")


@pytest.fixture
def program(open_program: Open, fake_script: FakeScript, model: Path) -> Program:
    """A reply of which some is written."""
    fake_script(replies=[LONG, "Again."], decode_per_s=100)
    program = open_program(model).ready()
    program.send("Hello")
    program.until(lambda: program.written() > 100)
    return program


def _signal(program: Program, number: signal.Signals) -> None:
    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, number)


def _silent(program: Program) -> None:
    program.until(lambda: "engine-silent" in program.notices())


def _choose(program: Program, label: str) -> None:
    bar = program.app.window.chat.notices.bar("engine-silent")
    (button,) = [button for button in bar.buttons() if button.text() == label]
    button.click()


def _status(program: Program) -> str:
    from app.ui.presenters.status import status_facts

    return status_facts(program.app.engine.state).right[0].text


def test_hung_engine_can_be_ended_and_the_words_stay(program: Program) -> None:
    _signal(program, signal.SIGSTOP)
    QTest.keyClick(program.app.window, Qt.Key.Key_Escape)
    _silent(program)
    bar = program.app.window.chat.notices.bar("engine-silent")
    assert bar.text.startswith("The engine does not answer:")
    assert "the reply stays as far as it came" in bar.text
    assert [button.text() for button in bar.buttons()] == ["End it", "Wait"]
    assert _status(program).startswith("Engine does not answer")
    assert program.app.controller.runner.is_running  # nothing is ended by itself
    assert program.app.engine.state.busy
    live = program.app.controller.runner.live
    assert live is not None
    _choose(program, "End it")
    program.until(lambda: program.app.engine.state.status == "lost")
    program.answered()
    assert "engine-silent" not in program.notices()
    lost = program.app.window.chat.notices.bar("engine-lost")
    assert lost.text == "The engine did not answer and was ended while writing the reply."
    assert [button.text() for button in lost.buttons()] == ["Load again"]
    reply = program.app.controller.path[-1]
    assert (reply.state, reply.text) == ("interrupted", live.text)
    assert reply.stats is not None
    assert reply.stats.decode_per_s == pytest.approx(live.decode_per_s)
    lost.buttons()[0].click()
    program.until(lambda: program.app.engine.state.status != "lost")
    program.ready()


def test_hung_engine_that_goes_on_takes_the_notice_away(program: Program) -> None:
    _signal(program, signal.SIGSTOP)
    program.app.window.chat.composer.stop_requested.emit()
    _silent(program)
    _signal(program, signal.SIGCONT)
    program.until(lambda: "engine-silent" not in program.notices())
    program.answered()
    assert program.app.controller.path[-1].state == "stopped"
    assert program.app.engine.state.silent_s == 0.0
    assert program.app.engine.state.status == "ready"
    assert program.notices() == []


def test_who_waits_is_told_again_when_stop_is_pressed_again(program: Program) -> None:
    _signal(program, signal.SIGSTOP)
    program.app.controller.stop()
    _silent(program)
    _choose(program, "Wait")
    program.until(lambda: "engine-silent" not in program.notices())
    assert _status(program).startswith("Engine does not answer")
    program.app.controller.stop()
    _silent(program)
    _choose(program, "End it")
    program.until(lambda: program.app.engine.state.status == "lost")


def test_engine_that_hangs_while_it_reads_is_told(
    open_program: Open, faults: None, tmp_path: Path
) -> None:
    program = open_program(write_tiny_model(tmp_path / "tiny.gguf")).ready()
    engine = program.app.engine
    engine.ask(Fault(id=engine.new_id(), signal="hang", phase="prefill"))
    program.send("Hello")
    program.until(lambda: program.app.controller.runner.live is not None)
    program.qtbot.wait(500)  # told to stop at once, it would not begin
    program.app.controller.stop()
    _silent(program)
    _choose(program, "End it")
    program.until(lambda: engine.state.status == "lost")
    program.answered()
    lost = program.app.window.chat.notices.bar("engine-lost")
    assert lost.text == "The engine did not answer and was ended while reading the prompt."


def test_rate_without_tokens_is_not_one_of_now(program: Program) -> None:
    session = program.app.inspector.session

    def is_held_up() -> bool:
        return session.live is not None and session.live.is_held_up

    assert not is_held_up()
    _signal(program, signal.SIGSTOP)
    program.until(is_held_up)
    assert "engine-silent" not in program.notices()  # nobody told it to stop
    _signal(program, signal.SIGCONT)
    program.until(lambda: not is_held_up())
    assert session.live is not None
    program.app.controller.stop()
    program.answered()


def test_killed_engine_leaves_the_rate_that_was_measured(program: Program) -> None:
    chunks: list[Chunk] = []
    program.app.engine.message.connect(
        lambda message: chunks.append(message) if isinstance(message, Chunk) else None
    )
    program.until(lambda: bool(chunks))
    _signal(program, signal.SIGKILL)
    program.until(lambda: program.app.engine.state.status == "lost")
    program.answered()
    reply = program.app.controller.path[-1]
    assert reply.state == "interrupted"
    assert reply.stats is not None
    assert reply.stats.reply_tokens == chunks[-1].reply_tokens
    assert chunks[-1].decode_per_s is not None
    assert reply.stats.decode_per_s == pytest.approx(chunks[-1].decode_per_s)
    view = program.app.controller._views()[-1]
    assert "decode" in [figure.label for figure in view.figures]


@pytest.mark.parametrize("counted", [True, False], ids=["kernel counts", "no counter"])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_kill_in_a_turn_is_not_laid_on_memory_that_was_free(
    open_program: Open,
    fake_script: FakeScript,
    faults: None,
    model: Path,
    phase: Literal["prefill", "decode"],
    counted: bool,
) -> None:
    fake_script(replies=[LONG], decode_per_s=200)
    program = open_program(model)
    engine = program.app.engine
    engine.memory.host_memory = lambda: (19 * 1024**3, 24 * 1024**3)
    engine.memory.kills = lambda: 3 if counted else None
    program.ready()
    tokens = 100 if phase == "decode" else 0  # the window knows by then that it is written
    engine.ask(Fault(id=engine.new_id(), signal="SIGKILL", phase=phase, after_tokens=tokens))
    program.send("Hello")
    program.until(lambda: "engine-lost" in program.notices())
    bar = program.app.window.chat.notices.bar("engine-lost")
    when = {"prefill": "while reading the prompt", "decode": "while writing the reply"}[phase]
    assert bar.text == (
        f"The engine was ended from outside {when} (SIGKILL); memory had not run out, "
        "19.0 GiB were free."
    )
    assert [button.text() for button in bar.buttons()] == ["Load again"]


def test_kill_that_the_kernel_counts_is_laid_on_memory(
    open_program: Open, faults: None, tmp_path: Path
) -> None:
    program = open_program(write_tiny_model(tmp_path / "tiny.gguf"))
    engine = program.app.engine
    engine.memory.host_memory = lambda: (19 * 1024**3, 24 * 1024**3)
    kills = [3]
    engine.memory.kills = lambda: kills[0]
    program.ready()
    engine.memory._timer.stop()  # no look between the count and the end
    kills[0] = 4
    _signal(program, signal.SIGKILL)
    program.until(lambda: "engine-lost" in program.notices())
    bar = program.app.window.chat.notices.bar("engine-lost")
    assert "the system does that when memory runs out" in bar.text


def test_memory_that_nobody_saw_in_time_is_looked_at_after_the_end(
    open_program: Open, tmp_path: Path
) -> None:
    program = open_program(write_tiny_model(tmp_path / "tiny.gguf"))
    engine = program.app.engine
    engine.memory.kills = lambda: None
    program.ready()
    engine.memory._timer.stop()
    engine.memory._memory = None  # as before the first look
    engine.memory.host_memory = lambda: (19 * 1024**3, 24 * 1024**3)
    _signal(program, signal.SIGKILL)
    program.until(lambda: "engine-lost" in program.notices())
    assert "19.0 GiB were free" in program.app.window.chat.notices.bar("engine-lost").text
