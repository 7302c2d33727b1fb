"""Comparing variants in the window, with real engines over tiny models."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.compare.engine import VariantRun
from app.data.records import Message
from app.ui.presenters.compare import PAGE
from app.ui.transcript.items import MessageAction
from tests.app.engine.conftest import FakeScript
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
FIRST = (" red", " green", " blue", "<|im_end|>")
OTHER = (" red", " yellow", " blue", "<|im_end|>")
COLOURS = (" red", " green", " yellow", " blue")
QUICK = {"text_tokens": 512, "max_tokens": 20, "n_ctx": 1024, "measure_rates": False}


@pytest.fixture
def variants(tmp_path: Path) -> list[str]:
    """Three models of one vocabulary; the second one says something else."""
    found = []
    for name, script, layers in (("Q8_0", FIRST, 3), ("Q4_0", OTHER, 2), ("Q2_K", FIRST, 1)):
        tiny = TinyModel(script=script, layers=layers, extra_tokens=COLOURS, context=1024)
        found.append(str(write_tiny_model(tmp_path / f"Tiny-{name}.gguf", tiny)))
    return found


def _open(program: Program, variants: list[str], **options: Any) -> None:
    compare = program.app.compare
    compare.set_options(QUICK | options)
    compare.choose(variants)
    program.until(lambda: compare.record is not None)
    assert compare.page.isVisible()


def _run(program: Program) -> None:
    compare = program.app.compare
    compare.start("Name three colours.")
    assert compare.is_running
    program.until(lambda: not compare.is_running)


def test_variants_answer_are_measured_kept_and_opened_again(
    open_program: Open, variants: list[str], tmp_path: Path
) -> None:
    program = open_program().ready()
    compare = program.app.compare
    _open(program, variants)
    assert compare.record is not None
    assert [Path(v.path).stem for v in compare.record.variants] == [
        "Tiny-Q8_0",
        "Tiny-Q4_0",
        "Tiny-Q2_K",
    ]
    _run(program)
    record = compare.record
    assert record is not None
    assert [v.status for v in record.variants] == ["done"] * 3, [v.failure for v in record.variants]
    assert [v.answer for v in record.variants] == [
        " red green blue",
        " red yellow blue",
        " red green blue",
    ]
    cards = compare.page._cards
    marks = {
        key: [s.cursor.selectedText() for s in card.text.extraSelections()]
        for key, card in cards.items()
    }
    assert marks[1] == ["yellow"]
    assert marks[2] == []
    # Quality is held against the reference, which is the largest.
    quality = record.variants[1].quality
    assert quality is not None
    assert quality.mean_kl is not None
    assert quality.mean_kl.value > 0
    assert not compare.page.table.isHidden()
    # Every engine is gone.
    assert not [p for p in psutil.Process().children() if p.pid != program.app.engine.state.pid]

    # Another reference is taken at once, as far as what was kept tells; the rest is offered.
    compare.set_reference(1)
    assert compare.record is record
    assert compare.wish.reference == variants[1]
    offer = compare.page.notices.bar("run")
    assert offer.text.startswith("Tiny-Q4_0 is the reference now.")
    assert "need 3 variants to read 512 tokens again, which took " in offer.text
    assert [button.text() for button in offer.buttons()] == ["Read the text again", "Run all again"]
    assert [key for key, card in cards.items() if card._reference.isVisible()] == [1]
    assert compare.shown is not None
    others = [variant.quality for variant in compare.shown.variants]
    assert others[0] is not None
    assert others[2] is not None
    assert others[0].same_top == quality.same_top
    assert (others[0].mean_kl, others[2].same_top) == (None, None)
    compare.set_reference(0)  # back again
    assert compare.page.notices.notices() == []
    assert compare.shown == record

    for name, start in (("r.md", "# "), ("r.json", "{")):
        compare.save_report(str(tmp_path / name))
        assert (tmp_path / name).read_text().startswith(start)
    assert json.loads((tmp_path / "r.json").read_text())["rows"][1]["label"]
    compare.save_report(str(tmp_path / "r.png"))
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    compare.save_report(str(tmp_path / "no" / "r.md"))
    assert "can't be written" in compare.page.said()
    program.close()

    again = open_program()
    again.app.window.show_page(PAGE)
    again.until(lambda: bool(again.app.compare.page._earlier))
    (kept,) = again.app.compare.page._earlier
    again.app.compare.open_kept(kept.key)
    assert again.app.compare.record == record
    again.app.compare.kept.delete(kept.key)
    again.until(lambda: not again.app.compare.page._earlier)


def test_another_reference_has_figures_after_another_run(
    open_program: Open, variants: list[str]
) -> None:
    program = open_program().ready()
    compare = program.app.compare
    _open(program, variants[:2])
    _run(program)
    before = compare.record
    assert before is not None
    compare.set_reference(1)
    compare.page.notices.bar("run").buttons()[0].click()
    assert compare.is_running
    assert compare.page.notices.notices() == []
    program.until(lambda: not compare.is_running)
    record = compare.record
    assert record is not None
    assert record.reference == 1
    # The replies are those of before: only the text was read again.
    assert [v.stats for v in record.variants] == [v.stats for v in before.variants]
    first, second = (variant.quality for variant in record.variants)
    assert first is not None
    assert second is not None
    assert first.mean_kl is not None
    assert second.mean_kl is None
    assert compare.page.notices.notices() == []


def test_one_variant_is_measured_again_by_its_menu(open_program: Open, variants: list[str]) -> None:
    program = open_program().ready()
    compare = program.app.compare
    _open(program, variants[:2])
    menu = compare.page._cards[1].menu()
    assert menu is not None
    action = next(item for item in menu.actions() if item.text() == "Measure this one again")
    assert not action.isEnabled()  # nothing was measured yet
    menu.deleteLater()
    _run(program)
    before = compare.record
    assert before is not None
    menu = compare.page._cards[1].menu()
    assert menu is not None
    next(item for item in menu.actions() if item.text() == "Measure this one again").trigger()
    menu.deleteLater()
    assert compare.is_running
    program.until(lambda: not compare.is_running)
    after = compare.record
    assert after is not None
    assert after.variants[0] == before.variants[0]
    assert after.variants[1].stats != before.variants[1].stats
    assert after.variants[1].quality == before.variants[1].quality
    assert [card.text.toPlainText() for card in compare.page._cards.values()] == [
        v.answer for v in before.variants
    ]
    # Both are kept.
    program.until(lambda: len(compare.page._earlier) == 2)


def _endless(path: Path) -> str:
    endless = TinyModel(script=(" red", " yellow"), layers=2, extra_tokens=COLOURS, context=16_384)
    return str(write_tiny_model(path, endless))


def test_killed_engine_marks_its_variant_and_the_others_go_on(
    open_program: Open, variants: list[str], tmp_path: Path
) -> None:
    # The second one never ends its turn, so that there is time to kill its engine.
    variants[1] = _endless(tmp_path / "Endless-Q4_0.gguf")
    program = open_program().ready()
    compare = program.app.compare
    _open(program, variants, quality=False, max_tokens=8192, n_ctx=16_384)
    killed: list[int] = []
    own = program.app.engine.state.pid

    def kill(event: object) -> None:
        if killed or getattr(event, "phase", "") not in {"reading", "writing"}:
            return
        if getattr(event, "index", 0) == 1:
            for child in psutil.Process().children():
                if child.pid != own:
                    killed.append(child.pid)
                    os.kill(child.pid, signal.SIGKILL)

    compare.run.told.connect(kill)
    _run(program)
    assert killed
    record = compare.record
    assert record is not None
    statuses = [v.status for v in record.variants]
    assert statuses.count("done") == 2
    assert statuses[1] == "failed"
    assert record.variants[1].failure
    assert record.variants[1].failure in compare.page._cards[1].text.toPlainText()


def test_stop_ends_it_and_keeps_what_is_known(
    open_program: Open, variants: list[str], tmp_path: Path
) -> None:
    # The last one never ends its turn, so that there is time to stop it.
    variants[2] = _endless(tmp_path / "Endless-Q2_K.gguf")
    program = open_program().ready()
    compare = program.app.compare
    _open(program, variants, quality=False, max_tokens=16_000, n_ctx=16_384)
    compare.start("Name three colours.")
    program.until(lambda: bool(compare.run.answers))
    compare.stop()
    program.until(lambda: not compare.is_running)
    assert compare.record is not None
    assert compare.record.cancelled
    assert "cancelled" in [v.status for v in compare.record.variants]


def test_stop_before_anything_ran_leaves_the_run_before(
    open_program: Open, variants: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = open_program().ready()
    compare = program.app.compare
    _open(program, variants[:2], quality=False)
    _run(program)
    before = compare.record
    shown = compare.page._cards[0].text.toPlainText()
    assert before is not None
    assert shown
    begin = VariantRun.load

    def stopped(run: VariantRun) -> None:
        compare.run.stop()
        begin(run)

    monkeypatch.setattr(VariantRun, "load", stopped)
    _run(program)
    assert compare.record is before
    assert compare.page._cards[0].text.toPlainText() == shown
    assert compare.page.table.isVisible()
    assert compare.page.said() == "Stopped before anything was known; this is the run before."
    compare.kept.list_all()
    program.until(lambda: len(compare.page._earlier) == 1)


def test_close_in_the_middle_leaves_no_engine(open_program: Open, variants: list[str]) -> None:
    program = open_program().ready()
    _open(program, variants)
    program.app.compare.start("Name three colours.")
    program.until(lambda: bool(program.app.compare.run.phases))
    program.close()  # `no_child_left` looks for engines


def test_what_cannot_be_compared_is_said(
    open_program: Open, variants: list[str], tmp_path: Path
) -> None:
    program = open_program().ready()
    compare = program.app.compare
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    compare.choose([variants[0], str(broken)])
    program.until(lambda: bool(compare._problem))
    assert "broken.gguf" in compare.page.setup._problem.text()
    assert not compare.page.setup.run.isEnabled()
    compare.choose(variants[:1])
    assert compare.record is None
    assert not compare.page.setup.run.isEnabled()


def test_busy_chat_is_not_disturbed(
    open_program: Open, fake_script: FakeScript, model: Path, variants: list[str]
) -> None:
    fake_script(replies=["word " * 40_000], decode_per_s=200)  # it ends when it is stopped
    program = open_program(model).ready()
    program.send("Hello")
    _open(program, variants)
    program.app.compare.start("Name three colours.")
    assert not program.app.compare.is_running
    assert "busy" in program.app.compare.page.said()
    program.app.controller.stop()
    program.answered()


def _press(program: Program, choice: str) -> None:
    program.app.window.chat.notices.chosen.emit("measuring", choice)


def _measuring(program: Program) -> str:
    notices = program.app.window.chat.notices
    return notices.bar("measuring").text if "measuring" in notices.notices() else ""


def _run_beside(program: Program, variants: list[str]) -> None:
    """Start a comparison that runs for seconds, and press Send while it does."""
    compare, composer = program.app.compare, program.app.window.chat.composer
    _open(program, variants, measure_rates=True)
    compare.start("Name three colours.")
    composer.set_text("Hello")
    composer.send_requested.emit("Hello")
    assert "make its rates low" in _measuring(program)
    assert program.app.controller.path == ()
    assert composer.text() == "Hello"


def test_a_message_waits_until_the_comparison_ends(
    open_program: Open, fake_script: FakeScript, model: Path, variants: list[str]
) -> None:
    fake_script(replies=["Good day."])
    program = open_program(model).ready()
    _run_beside(program, variants[:2])
    _press(program, "wait")
    assert "begins when the comparison ends" in _measuring(program)
    compare = program.app.compare
    program.until(lambda: not compare.is_running)
    assert compare.record is not None
    assert [item.disturbed for item in compare.record.variants] == [False, False]
    program.until(lambda: len(program.app.controller.path) == 2)
    program.answered()
    assert _measuring(program) == ""
    assert program.app.window.chat.composer.text() == ""


def _turns(program: Program, chat: tuple[Message, ...]) -> dict[str, Callable[[], object]]:
    """Return the ways to begin a turn besides Send, by name."""
    asked, reply = chat[0].id, chat[-1].id
    emit = program.app.transcript.action_requested.emit
    return {
        "regenerate": lambda: emit(MessageAction("regenerate", reply, None)),
        "several": lambda: emit(MessageAction("regenerate_several", reply, None)),
        "key": program.app.chat.regenerate_last,
        "continue": lambda: emit(MessageAction("continue", reply, None)),
        "edit": lambda: emit(MessageAction("edit", asked, "Good evening")),
        "summary": program.app.summary.start,
    }


def test_every_way_to_begin_a_turn_asks_while_a_comparison_measures(
    open_program: Open,
    fake_script: FakeScript,
    model: Path,
    variants: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However slow this window is, it measures until every way was tried.
    may_measure = threading.Event()
    answer = VariantRun.answer

    def answer_later(run: VariantRun) -> None:
        assert may_measure.wait(PATIENCE_S)
        answer(run)

    monkeypatch.setattr(VariantRun, "answer", answer_later)
    fake_script(replies=["Good day."])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    chat = program.app.controller.path
    compare, composer = program.app.compare, program.app.window.chat.composer
    _open(program, variants[:2], measure_rates=True)
    compare.start("Name three colours.")
    for name, begin in _turns(program, chat).items():
        assert compare.is_running, name
        begin()
        assert "make its rates low" in _measuring(program), name
        program.settle()
        assert program.app.engine.state.status == "ready", name
        assert program.app.controller.path == chat, name
        program.app.window.chat.notices._close("measuring")
        program.until(lambda: program.app.chat.measuring._held is None)
        assert composer.text() == ("Good evening" if name == "edit" else ""), name
        composer.clear()
    assert compare.is_running
    _turns(program, chat)["edit"]()
    _press(program, "wait")
    may_measure.set()
    program.app.controller.new_chat()  # it is waited for in whatever chat one looks at meanwhile
    program.until(lambda: not compare.is_running)
    assert compare.record is not None
    assert [item.disturbed for item in compare.record.variants] == [False, False]
    conversation = chat[0].conversation_id
    program.until(lambda: program.read(lambda store: store.path(conversation)) != list(chat))
    program.app.controller.open(conversation)
    program.until(lambda: program.texts() == ["Good evening", "Good day."])
    assert _measuring(program) == ""
    assert composer.text() == ""


def test_an_edit_that_waits_is_in_the_draft_when_the_window_closes(
    open_program: Open, fake_script: FakeScript, model: Path, variants: list[str]
) -> None:
    fake_script(replies=["Good day."])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    conversation = program.app.controller.path[0].conversation_id
    _open(program, variants[:2], measure_rates=True)
    program.app.compare.start("Name three colours.")
    _turns(program, program.app.controller.path)["edit"]()
    _press(program, "wait")
    program.close()
    again = open_program()
    again.settle()
    stored = again.read(lambda store: store.get(conversation))
    assert stored is not None
    assert stored.draft == "Good evening"


def test_a_message_sent_anyway_marks_what_was_measured(
    open_program: Open, fake_script: FakeScript, model: Path, variants: list[str]
) -> None:
    fake_script(replies=["word " * 400], decode_per_s=20)
    program = open_program(model).ready()
    _run_beside(program, variants[:2])
    _press(program, "anyway")
    program.until(lambda: len(program.app.controller.path) == 2)
    compare = program.app.compare
    program.until(lambda: not compare.is_running)
    assert compare.record is not None
    assert any(item.disturbed for item in compare.record.variants)
    (key,) = compare.page.notices.notices()
    assert "The chat wrote meanwhile" in compare.page.notices.bar(key).text
    program.app.controller.stop()
    program.answered()
