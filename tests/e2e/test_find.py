"""Finding text in the chat on screen: count, steps, Esc, and a chat that changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTextEdit

from app.data.conversations import WholeConversation
from app.data.records import Conversation, Message
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


def test_bar_stays_in_the_corner_above_the_transcript_and_covers_nothing(chat: Program) -> None:
    bar = bar_of(chat)
    window, page = chat.app.window, chat.app.window.chat
    for width in (1440, 1024):
        window.resize(width, 700)
        chat.settle()
        transcript = chat.app.transcript.geometry()
        assert transcript.top() > bar.geometry().bottom()
        assert transcript.top() - bar.geometry().bottom() < 20
        assert page.rect().contains(bar.geometry())
        assert page.width() - bar.geometry().right() < 60
    bar.close_bar()
    chat.settle()
    assert chat.app.transcript.geometry().top() < transcript.top()


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


@pytest.fixture
def long_chat(open_program: Open, model: Path) -> Program:
    """A chat of 3,000 messages on screen; every tenth has a keel, every hundredth a link to one."""
    program = open_program(model)
    texts = [
        f"Message {i}."
        + (" A keel." if i % 10 == 0 else "")
        + (" [There](https://keel.example)" if i % 100 == 99 else "")
        for i in range(3000)
    ]
    messages = [
        Message(
            id=f"m{i}",
            conversation_id="long",
            parent_id=f"m{i - 1}" if i else None,
            role="assistant" if i % 2 else "user",
            text=text,
            reasoning="",
            state="complete",
            stop_reason=None,
            model_name=None,
            created_ms=i,
            updated_ms=i,
            stats=None,
        )
        for i, text in enumerate(texts)
    ]
    chat = Conversation("long", "A long chat", False, 0, 3000, leaf_id="m2999")
    program.read(lambda store: store.add_whole([WholeConversation(chat, messages)]))
    program.app.chats.open("long")
    program.until(lambda: len(program.app.controller.path) == 3000)
    return program


def test_a_long_chat_is_counted_in_slices_and_the_newest_place_is_shown_first(
    long_chat: Program,
) -> None:
    bar = bar_of(long_chat)
    slices = long_chat.app.find._slices
    bar.field.setText("keel")
    assert slices.is_running  # most of it is not counted yet
    long_chat.until(lambda: selected(long_chat) == ["keel"])
    long_chat.until(lambda: not slices.is_running)
    # The last message has a link to one: an address is nothing that is shown.
    assert bar.count_text() == "329 of 329"
    assert long_chat.app.find._at == "m2990"
    assert long_chat.app.transcript._flow.find("m2999").is_open  # type: ignore[union-attr]


def test_steps_that_are_taken_while_it_is_counted_are_taken_afterwards(
    long_chat: Program,
) -> None:
    bar = bar_of(long_chat)
    bar.field.setText("keel")
    for _ in range(3):
        QTest.keyClick(bar.field, Qt.Key.Key_Up)
    assert long_chat.app.find._slices.is_running
    long_chat.until(lambda: long_chat.app.find._at == "m2960")
    long_chat.until(lambda: bar.count_text() == "326 of 329")
    assert selected(long_chat) == ["keel"]


def test_typing_on_and_a_change_of_the_chat_begin_the_count_anew(long_chat: Program) -> None:
    bar = bar_of(long_chat)
    bar.field.setText("kee")
    bar.field.setText("keel of")
    long_chat.app.controller.refresh_views()  # while nothing is met yet
    bar.field.setText("Message 7.")
    long_chat.app.controller.refresh_views()
    long_chat.until(lambda: bar.count_text() == "1 of 1")
    assert long_chat.app.find._at == "m7"
    assert selected(long_chat) == ["Message 7."]
    bar.field.setText("Message 7. No")
    long_chat.until(lambda: bar.count_text() == "not here")


def test_closing_the_bar_ends_the_count(long_chat: Program) -> None:
    bar = bar_of(long_chat)
    bar.field.setText("keel")
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not long_chat.app.find._slices.is_running
    bar_of(long_chat)
    long_chat.until(lambda: bar.count_text() == "329 of 329")
