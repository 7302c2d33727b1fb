"""The chat that was on screen last comes back at the next start, behind a window for keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtTest import QTest

from app.data.conversations import ConversationStore
from app.data.records import Conversation
from app.paths import Paths
from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program

Open = Callable[..., Program]
LONG = "\n\n".join(f"Paragraph {number} of a long reply." for number in range(80))


def warmed(program: Program) -> Program:
    """Wait until all is done that a start does by itself."""
    program.until(lambda: not program.app.warm_up.is_running)
    program.settle()
    program.settle()  # what the first answers asked for
    return program


def shown(program: Program) -> str | None:
    here = program.app.controller.conversation
    return None if here is None else here.id


def two_chats(program: Program) -> tuple[Conversation, Conversation]:
    """Make two chats, the second on screen."""
    first = program.answered_chat("First")
    program.app.window.sidebar.new_chat_requested.emit()
    return first, program.answered_chat("Second")


def test_the_chat_on_screen_is_opened_again_at_its_end(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["one", LONG])
    program = open_program(model).ready()
    first, second = two_chats(program)
    program.app.window.chat.composer.set_text("half a thought")
    program.close()
    again = open_program()
    window = again.app.window
    assert not window.chat.empty.isVisible()  # nothing invites to begin where a chat comes
    again.until(lambda: again.texts() == ["Second", LONG])
    assert shown(again) == second.id
    assert window.chat.composer.text() == "half a thought"
    warmed(again)
    bar = again.app.transcript.verticalScrollBar()
    again.until(lambda: bar.maximum() > 0)
    again.until(lambda: bar.value() == bar.maximum())
    assert window.sidebar.chats.open_key == second.id
    assert window.chat.composer.edit.hasFocus()
    # Looked at last, not written in last.
    again.app.chats.open(first.id)
    again.until(lambda: shown(again) == first.id)
    again.close()
    third = open_program()
    third.until(lambda: third.texts() == ["First", "one"])
    assert third.app.window.chat.composer.text() == ""


def test_a_new_chat_stays_a_new_chat_with_its_draft(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    two_chats(program)
    program.app.window.sidebar.new_chat_requested.emit()
    program.app.window.chat.composer.set_text("half a thought")
    program.close()
    again = warmed(open_program())
    assert shown(again) is None
    assert again.app.window.chat.empty.isVisible()
    assert again.app.window.chat.composer.text() == "half a thought"


def test_a_deleted_chat_is_not_opened(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    first, second = two_chats(program)
    program.app.window.sidebar.chats.delete_requested.emit(second.id)
    program.close()
    again = warmed(open_program())
    assert shown(again) is None
    again.app.chats.open(first.id)
    again.until(lambda: shown(again) == first.id)
    again.close()
    # Removed by a command, so that the window could not note it.
    store = ConversationStore(paths.store)
    store.purge(first.id)
    store.close()
    third = warmed(open_program())
    assert shown(third) is None
    assert third.app.window.chat.empty.isVisible()
    assert third.app.state.last_chat is None


def test_the_first_start_and_one_with_a_model_begin_with_a_new_chat(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["one", "two"])
    first = warmed(open_program(model)).ready()
    assert shown(first) is None
    assert first.app.window.chat.empty.isVisible()
    _, second = two_chats(first)
    first.close()
    asked = warmed(open_program(model)).ready()
    assert shown(asked) is None
    asked.close()
    again = open_program()
    again.until(lambda: shown(again) == second.id)


def test_keys_and_files_of_the_first_instant_go_on_with_the_chats_draft(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, tmp_path: Path
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    _, second = two_chats(program)
    program.app.window.chat.composer.set_text("half a ")
    kept, new = tmp_path / "kept.md", tmp_path / "new.md"
    kept.write_text("kept")
    new.write_text("new")
    program.app.window.chat.composer.files_added.emit([str(kept)])
    program.until(lambda: len(program.app.chat.attachments) == 1)
    program.close()
    again = open_program()
    composer = again.app.window.chat.composer
    assert again.app.warm_up.is_running
    QTest.keyClicks(composer.edit, "thought")
    composer.files_added.emit([str(new)])
    composer.send_requested.emit("thought")  # it is not sent into another chat
    again.until(lambda: shown(again) == second.id)
    assert composer.text() == "half a thought"
    again.until(lambda: [a.name for a in again.app.chat.attachments] == ["kept.md", "new.md"])
    again.close()
    store = ConversationStore(paths.store, read_only=True)
    chat = store.get(second.id)
    assert chat is not None
    assert chat.draft == "half a thought"
    assert [file.attachment.name for file in store.draft_files(second.id)] == ["kept.md", "new.md"]
    assert len(store.list_all()) == 2
    store.close()


def test_what_is_typed_and_the_window_closed_before_the_chat_is_there_is_kept(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    _, second = two_chats(program)
    program.app.window.chat.composer.set_text("half a ")
    program.close()
    again = open_program()
    QTest.keyClicks(again.app.window.chat.composer.edit, "thought")
    assert shown(again) is None
    again.close()
    store = ConversationStore(paths.store, read_only=True)
    chat = store.get(second.id)
    store.close()
    assert chat is not None
    assert chat.draft == "half a thought"
    assert again.app.state.last_chat == second.id


def test_who_is_faster_than_the_start_gets_what_was_asked_for(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    first, second = two_chats(program)
    program.close()
    again = open_program()
    QTest.keyClicks(again.app.window.chat.composer.edit, "x")
    again.app.window.sidebar.new_chat_requested.emit()
    warmed(again)
    assert shown(again) is None
    assert again.app.window.chat.composer.text() == "x"
    again.app.window.chat.composer.set_text("")
    again.app.chats.open(first.id)
    again.until(lambda: shown(again) == first.id)
    again.close()
    third = open_program()
    third.app.chats.open(second.id)
    third.until(lambda: shown(third) == second.id)
    warmed(third)
    assert shown(third) == second.id
    third.close()
    fourth = open_program()
    fourth.app.chats.keeper.open_last()  # asked for, and not yet answered
    fourth.app.chats.open(first.id)
    warmed(fourth)
    assert shown(fourth) == first.id


def test_a_store_that_cannot_be_read_gives_a_new_chat(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    two_chats(program)
    program.close()
    paths.store.write_bytes(b"\0" * 65536)
    again = warmed(open_program())
    assert shown(again) is None
    assert again.app.window.chat.empty.isVisible()
    again.app.window.chat.composer.set_text("half a thought")
    again.app.chats.keeper.keep_draft()
    assert again.app.chats.keeper.at_start(reopens=False) == ("half a thought", None)
