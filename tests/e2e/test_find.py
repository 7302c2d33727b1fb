"""Finding text in the chat on screen: count, steps, Esc, and a chat that changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTextEdit

from app.ui.shell.find_bar import FindBar
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]


@pytest.fixture
def chat(open_program: Open, tmp_path: Path) -> Program:
    path = write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=(" Yes", "<|im_end|>"))
    )
    program = open_program(path).ready()
    for text in ("The load line", "Привет, МИР", "the load LINE again", "العربية"):
        program.send(text)
        program.answered()
    return program


def bar_of(program: Program) -> FindBar:
    """Open the bar by its key and return it."""
    program.app.window.actions_by_key["find"].trigger()
    bar = program.app.window.chat.find_bar
    assert bar.isVisible()
    return bar


def selected(program: Program) -> list[str]:
    """Return what is selected in the transcript."""
    views = program.app.transcript.findChildren(QTextEdit)
    return [text for view in views if (text := view.textCursor().selectedText())]


def test_places_are_found_from_the_last_on(chat: Program) -> None:
    bar = bar_of(chat)
    QTest.keyClicks(bar.field, "load line")
    assert bar.count_text() == "2 of 2"
    assert selected(chat) == ["load LINE"]
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar.count_text() == "1 of 2"
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert bar.count_text() == "2 of 2"
    assert bar.field.hasFocus()


@pytest.mark.parametrize(("text", "count"), [("привет, мир", "1 of 1"), ("العربية", "1 of 1")])
def test_text_of_any_script_whatever_its_case(chat: Program, text: str, count: str) -> None:
    bar = bar_of(chat)
    bar.field.setText(text)
    assert bar.count_text() == count


def test_what_is_not_there_is_said_and_found_as_soon_as_it_is(chat: Program) -> None:
    bar = bar_of(chat)
    bar.field.setText("keel")
    assert bar.count_text() == "not here"
    chat.send("The keel")
    chat.answered()
    chat.until(lambda: bar.count_text().endswith("of 1"))
    bar.field.clear()
    assert bar.count_text() == ""


def test_esc_closes_and_the_text_is_kept_for_the_next_time(chat: Program) -> None:
    bar = bar_of(chat)
    QTest.keyClicks(bar.field, "load")
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert bar.isHidden()
    assert chat.app.window.chat.composer.edit.hasFocus()
    bar_of(chat)
    assert bar.field.text() == "load"
    assert bar.field.selectedText() == "load"
    assert bar.count_text() == "2 of 2"


def test_bar_stays_in_the_corner_of_the_transcript(chat: Program) -> None:
    bar = bar_of(chat)
    window, page = chat.app.window, chat.app.window.chat
    for width in (1440, 1024):
        window.resize(width, 700)
        chat.settle()
        transcript = chat.app.transcript.geometry()
        assert transcript.contains(bar.geometry())
        assert page.width() - bar.geometry().right() < 60


def test_steps_go_to_each_place_and_around(open_program: Open, tmp_path: Path) -> None:
    reply = "The *keel* and the ke**el**.\n\n[link](https://keel.example)\n\n    a keel = 1\n"
    path = write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=(reply, "<|im_end|>"))
    )
    program = open_program(path).ready()
    program.send("Keel, keel")
    program.answered()
    bar = bar_of(program)
    bar.field.setText("keel")
    assert bar.count_text() == "5 of 5"  # the address is not shown
    seen = []
    for _ in range(6):
        QTest.keyClick(bar.field, Qt.Key.Key_Return)
        seen.append((bar.count_text(), selected(program)))
    assert [count for count, _ in seen] == [f"{n} of 5" for n in (1, 2, 3, 4, 5, 1)]
    assert [texts for _, texts in seen[:4]] == [["Keel"], ["keel"], ["keel"], ["keel"]]
    QTest.keyClick(bar.field, Qt.Key.Key_Up)
    assert bar.count_text() == "5 of 5"
