"""What is fastest is measured in the window by itself, told, undone, redone, and gives way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.data.tunings import KeptTuning
from app.engine.protocol import Fault
from tests.app.engine.conftest import FakeScript
from tests.helpers.tiny_gguf import write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
OFF_IS_FASTER: dict[str, Any] = {
    "n_ctx": 8192,
    "decode_per_s": 100,
    "prefill_per_s": 1000,
    "own_time": True,
    "speeds": {"flash_attention=off": 1.5},
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A file with a real header: its shape is what a tuning is kept by."""
    return write_tiny_model(tmp_path / "Tiny-Chat-F32.gguf")


def begin(program: Program) -> Program:
    """Have it measured as soon as the model is loaded, however busy this machine is."""
    program.app.tuning.enabled = True
    program.app.tuning.busy = lambda _pids: ""
    return program


def known(program: Program) -> KeptTuning | None:
    tunings = program.app.models.tunings
    assert tunings is not None
    return tunings.get(program.app.models.tuning_key)


def flash(program: Program) -> bool | None:
    model = program.app.engine.state.model
    return None if model is None else model.flash_attention


def said(program: Program) -> str:
    return program.app.window.chat.notices.bar("tuned").text


def press(program: Program, choice: str) -> None:
    program.app.window.chat.notices.chosen.emit("tuned", choice)


def test_it_is_measured_once_told_and_remembered(
    open_program: Open, tiny: Path, fake_script: FakeScript
) -> None:
    fake_script(**OFF_IS_FASTER)
    program = begin(open_program(tiny))
    program.until(lambda: "tuned" in program.notices())
    assert said(program).startswith("Measured what is fastest here: ")
    assert said(program).endswith(
        " to read, flash attention off: +50\u00a0% writing, +50\u00a0% reading."
    )
    assert flash(program) is False
    assert program.app.engine.state.status == "ready"
    kept = known(program)
    assert kept is not None
    assert (kept.outcome, kept.flash_attention) == ("kept", "off")
    assert program.app.inspector.session.tuned
    load = program.app.inspector.session.load
    assert load is not None
    assert load.settings.flash_attention is False  # records say how it really ran
    program.close()
    again = begin(open_program(tiny)).ready()
    assert flash(again) is False
    again.qtbot.wait(2500)
    assert "tuned" not in again.notices()


def test_undo_and_measure_again(open_program: Open, tiny: Path, fake_script: FakeScript) -> None:
    fake_script(**OFF_IS_FASTER)
    program = begin(open_program(tiny))
    program.until(lambda: "tuned" in program.notices())
    press(program, "undo")
    program.until(lambda: flash(program) is True)
    kept = known(program)
    assert kept is not None
    assert kept.outcome == "undone"
    program.until(lambda: not program.app.inspector.session.tuned)
    program.until(lambda: "own settings" in said(program))
    press(program, "again")
    program.until(lambda: flash(program) is False)
    program.until(lambda: "Measured what is fastest here" in said(program))
    kept = known(program)
    assert kept is not None
    assert kept.outcome == "kept"


def test_what_the_user_sets_wins(open_program: Open, tiny: Path, fake_script: FakeScript) -> None:
    fake_script(**OFF_IS_FASTER)
    program = begin(open_program(tiny))
    program.until(lambda: "tuned" in program.notices())
    program.app.models.reload({"flash_attention": "on"})
    program.until(lambda: flash(program) is True)
    program.ready()
    assert program.app.models.asked.flash_attention == "on"
    program.qtbot.wait(2500)  # it is measured anew, and the choice stays
    assert flash(program) is True


def test_the_setting_switches_it_off(
    open_program: Open, tiny: Path, fake_script: FakeScript
) -> None:
    fake_script(**OFF_IS_FASTER)
    program = begin(open_program())
    program.app.settings.set("tune", False)
    program.app.models.load(str(tiny))
    program.ready()
    program.qtbot.wait(2500)
    assert flash(program) is True
    assert known(program) is None
    program.app.window.actions_by_key["measure_again"].trigger()  # unless it is asked for
    program.until(lambda: flash(program) is False)


def test_a_message_ends_it_and_is_answered(
    open_program: Open, tiny: Path, fake_script: FakeScript
) -> None:
    fake_script(n_ctx=8192, decode_per_s=40, prefill_per_s=400, replies=["Hello."])
    program = begin(open_program(tiny))
    program.until(lambda: program.app.engine.state.status == "measuring")
    program.send("Hello")
    program.answered()
    assert program.texts()[-1] == "Hello."
    assert program.app.engine.state.status == "ready"
    assert "tuned" not in program.notices()
    program.until(lambda: known(program) is None)  # the next load measures it
    assert not program.app.tuning._timer.isActive()


def test_a_window_that_closes_meanwhile_measures_at_its_next_start(
    open_program: Open, tiny: Path, fake_script: FakeScript
) -> None:
    fake_script(n_ctx=8192, decode_per_s=40, prefill_per_s=400)
    program = begin(open_program(tiny))
    program.until(lambda: program.app.engine.state.status == "measuring")
    program.close()
    fake_script(**OFF_IS_FASTER)
    again = begin(open_program(tiny))
    again.until(lambda: flash(again) is False)


def test_it_waits_for_other_programs(
    open_program: Open, tiny: Path, fake_script: FakeScript
) -> None:
    fake_script(**OFF_IS_FASTER)
    program = begin(open_program(tiny))
    asked: list[tuple[int, ...]] = []

    def busy(pids: tuple[int, ...]) -> str:
        asked.append(pids)
        return "Other programs use 2.0 processor cores."

    program.app.tuning.busy = busy
    program.until(lambda: bool(asked))
    program.until(program.app.tuning._timer.isActive)
    assert program.app.engine.state.status == "ready"
    assert asked[0] == (program.app.engine.state.pid,)


@pytest.mark.usefixtures("faults")
def test_an_engine_that_dies_of_it_is_not_measured_again(
    open_program: Open, tiny: Path, fake_script: FakeScript
) -> None:
    fake_script(**OFF_IS_FASTER)
    program = begin(open_program(tiny)).ready()
    engine = program.app.engine
    engine.ask(Fault(id=engine.new_id(), signal="SIGKILL", phase="tune"))
    program.until(lambda: engine.state.status == "lost")
    assert "while measuring what is fastest" in engine.state.sentence
    program.app.models.reload()
    program.ready()
    kept = known(program)
    assert kept is not None
    assert kept.outcome == "unfinished"
    program.qtbot.wait(2500)
    assert engine.state.status == "ready"
    assert flash(program) is True
