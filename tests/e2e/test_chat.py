"""Chatting in the window: what is typed, streamed, stored, changed and undone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app.data.conversations import ConversationStore
from app.data.load_records import parts_of
from app.ui.dialogs.context_log import ContextLogDialog
from app.ui.transcript.controls import controls_for
from app.ui.transcript.items import MessageAction
from tests.app.engine.conftest import FakeScript
from tests.helpers.patience import PATIENCE_S
from tests.helpers.window import Program

Open = Callable[..., Program]
LONG = " ".join(f"w{i}" for i in range(400))


def test_message_is_answered_stored_and_there_at_the_next_start(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["Red, **green**, blue."])
    program = open_program(model).ready()
    program.send("Name three colours.")
    program.answered()
    assert program.texts() == ["Name three colours.", "Red, **green**, blue."]
    assert program.app.window.chat.composer.text() == ""
    stats = program.app.controller.path[-1].stats
    assert stats is not None
    assert stats.reply_tokens > 0
    program.close()

    again = open_program()
    again.until(lambda: bool(again.app.chats.conversations))
    (chat,) = again.app.chats.conversations
    assert chat.title == "Name three colours."
    again.app.chats.open(chat.id)
    again.until(lambda: len(again.app.controller.path) == 2)
    assert again.texts() == ["Name three colours.", "Red, **green**, blue."]


def test_versions_edits_continuation_and_deletion_erase_nothing(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["first", "second", "third", "fourth"])
    program = open_program(model).ready()
    controller = program.app.controller
    program.send("Hello")
    program.answered()
    first = controller.path[-1]
    controller.act(MessageAction("regenerate", first.id))
    program.until(lambda: program.texts() == ["Hello", "second"])
    program.answered()
    opened = controller.opened
    assert opened is not None
    assert opened.forks[controller.path[-1].id].count == 2
    controller.act(MessageAction("previous_version", controller.path[-1].id))
    program.until(lambda: program.texts() == ["Hello", "first"])
    # an edit of the question is a branch of its own
    controller.act(MessageAction("edit", controller.path[0].id, "Goodbye"))
    program.until(lambda: program.texts()[:1] == ["Goodbye"])
    program.answered()
    assert program.texts() == ["Goodbye", "third"]
    controller.act(MessageAction("previous_version", controller.path[0].id))
    program.until(lambda: program.texts() == ["Hello", "second"])
    # a deletion can be undone
    gone = controller.path[-1].id
    controller.act(MessageAction("delete", gone))
    program.until(lambda: program.texts() == ["Hello", "first"])  # the version that is left
    program.app.window.toast.undo_button.click()
    program.until(lambda: program.texts() == ["Hello", "second"])


def test_question_whose_answer_was_deleted_can_be_answered(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["first", "second", "third", "fourth"])
    program = open_program(model).ready()
    controller = program.app.controller
    for text in ("One", "Two"):
        program.send(text)
        program.answered()
    controller.act(MessageAction("delete", controller.path[-1].id))
    program.until(lambda: program.texts() == ["One", "first", "Two"])
    view = program.app.chat._views[controller.path[-1].id]
    assert "regenerate" in {control.kind for control in controls_for(view)}
    earlier = program.app.chat._views[controller.path[0].id]
    assert "regenerate" not in {control.kind for control in controls_for(earlier)}
    program.app.chat.regenerate_last()
    program.until(lambda: program.texts() == ["One", "first", "Two", "third"])
    program.answered()


def test_stopped_reply_can_be_continued(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG, " and the rest"], decode_per_s=30)
    program = open_program(model).ready()
    program.send("Hello")
    program.until(lambda: program.written() > 40)
    program.app.window.chat.composer.stop_requested.emit()
    program.answered()
    message = program.app.controller.path[-1]
    assert message.state == "stopped"
    assert LONG.startswith(message.text)
    program.app.controller.act(MessageAction("continue", message.id))
    program.until(lambda: program.texts()[-1].endswith(" and the rest"))
    program.answered()
    assert program.texts()[-1] == message.text + " and the rest"
    assert len(program.app.controller.path) == 2
    # Figures of the first part are kept beside those of the second.
    first, second = parts_of(program.app.controller.path[-1])
    assert message.stats is not None
    assert (first.stats, first.stop) == (message.stats, "stopped")
    assert second.stats.reply_tokens < first.stats.reply_tokens


def test_a45_second_send_while_one_runs_is_refused_and_nothing_is_lost(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG], decode_per_s=200)
    program = open_program(model).ready()
    composer = program.app.window.chat.composer
    composer.set_text("Hello")
    composer.send_requested.emit("Hello")
    composer.set_text("Hello again")
    composer.send_requested.emit("Hello again")
    assert composer.text() == "Hello again"
    program.until(lambda: program.app.controller.runner.is_running)
    assert "refused" in program.notices()
    program.answered()
    assert program.texts() == ["Hello", LONG]


def test_edit_that_is_refused_goes_into_the_draft(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG], decode_per_s=30)  # it is stopped
    program = open_program(model).ready()
    program.send("Hello")
    asked = program.app.controller.path[0]
    edit = MessageAction("edit", asked.id, "a long and careful edit")
    program.app.transcript.action_requested.emit(edit)
    assert program.app.window.chat.composer.text() == "a long and careful edit"
    assert "refused" in program.notices()
    program.app.controller.stop()
    program.answered()


def test_a48_reply_fills_its_own_chat_while_another_is_on_screen(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["short", LONG], decode_per_s=80)
    program = open_program(model).ready()
    first = program.answered_chat("First chat")
    program.app.window.sidebar.new_chat_requested.emit()
    program.until(lambda: program.app.controller.conversation is None)
    program.send("Second chat")
    second = program.app.controller.conversation
    assert second is not None
    program.app.chats.open(first.id)
    program.until(lambda: program.texts() == ["First chat", "short"])
    assert program.app.controller.runner.is_running
    program.until(lambda: not program.app.controller.runner.is_running)
    program.settle()
    assert program.texts() == ["First chat", "short"]
    program.app.chats.open(second.id)
    program.until(lambda: program.texts() == ["Second chat", LONG])


def test_a48_deleting_the_chat_that_is_answered_stops_it(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG], repeat=True, decode_per_s=30)
    program = open_program(model).ready()
    program.send("Hello")
    chat = program.app.controller.conversation
    assert chat is not None
    program.until(lambda: bool(program.app.chats.conversations))
    program.app.window.sidebar.chats.delete_requested.emit(chat.id)
    program.until(lambda: not program.app.controller.runner.is_running)
    program.until(lambda: not program.app.chats.conversations)
    assert program.app.controller.conversation is None
    program.app.window.toast.undo_button.click()
    program.until(lambda: bool(program.app.chats.conversations))
    program.until(lambda: program.texts()[:1] == ["Hello"])
    # Also by the key after the offer has left the screen; what is not undone ends with the program.
    program.app.window.sidebar.chats.delete_requested.emit(chat.id)
    program.until(lambda: not program.app.chats.conversations)
    program.app.window.toast.dismiss()
    program.app.window.actions_by_key["undo"].trigger()
    program.until(lambda: bool(program.app.chats.conversations))
    assert not program.app.window.actions_by_key["undo"].isEnabled()
    program.app.window.sidebar.chats.delete_requested.emit(chat.id)
    program.until(lambda: not program.app.chats.conversations)
    assert program.read(lambda store: store.get(chat.id)) is not None
    program.close()
    store = ConversationStore(program.app.paths.store)
    assert store.get(chat.id) is None
    store.close()


def test_overflow_is_told_before_and_marked_after(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG[:600]], n_ctx=512)
    program = open_program(model).ready()
    for index in range(6):
        program.send(f"Question {index}")
        program.answered()
    composer = program.app.window.chat.composer
    assert program.app.controller.events
    event = program.app.controller.events[-1]
    assert event.dropped
    conversation = program.app.controller.conversation
    assert conversation is not None
    assert conversation.keep_from is not None
    views = program.app.chat._views
    cut = next(view for view in views.values() if view.role == "memory_cut")
    program.app.controller.act(MessageAction("show_dropped", cut.id))
    (dialog,) = program.app.window.findChildren(ContextLogDialog)
    newest = dialog.tree.topLevelItem(0)
    assert newest is not None
    assert newest.childCount() == len(event.dropped)
    dialog.reject()
    composer.set_text("w " * 900)
    program.until(lambda: program.app.window.chat.overflow.bar is not None)
    composer.set_text("")
    program.until(lambda: program.app.window.chat.overflow.bar is None)


def test_new_chat_takes_its_settings_with_the_first_message(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    program.app.controller.set_chat_values("Be brief", "Precise", {"temperature": 0.2})
    conversation = program.answered_chat("Hello")
    assert conversation.system_prompt == "Be brief"
    assert conversation.preset == "Precise"
    assert dict(conversation.sampling) == {"temperature": 0.2}


def test_search_opens_the_message_that_was_found(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["The capital is Reykjavík.", "Nothing of that kind."])
    program = open_program(model).ready()
    program.send("Capital of Iceland?")
    program.answered()
    first = program.app.controller.conversation
    program.app.window.sidebar.new_chat_requested.emit()
    program.send("Something else")
    program.answered()
    hits: list[object] = []
    program.app.store.do(lambda store: store.search("reykjavik"), hits.extend)
    program.until(lambda: bool(hits))
    (hit,) = hits
    program.app.window.sidebar.hit_selected.emit(hit.conversation_id, hit.message_id)  # type: ignore[attr-defined]
    program.until(lambda: program.app.controller.conversation == first)


def test_keys_go_to_the_message_once_a_chat_was_opened(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    window = program.app.window
    keys, edit, chats = Qt.Key, window.chat.composer.edit, window.sidebar.chats
    for text in ("zebra", "apple"):
        window.actions_by_key["new_chat"].trigger()
        program.send(text)
        program.answered()
    program.until(lambda: chats.chats.keys() and len(chats.chats.keys()) == 2)
    apple, zebra = chats.chats.keys()

    def shown(key: str) -> bool:
        here = program.app.controller.conversation
        return here is not None and here.id == key

    place = chats.visualRect(chats.chats.index_of(zebra)).center()
    chats.setFocus()
    program.qtbot.mouseClick(chats.viewport(), Qt.MouseButton.LeftButton, pos=place)
    program.until(lambda: shown(zebra))
    assert window.focusWidget() is edit

    chats.setFocus()
    program.qtbot.keyClick(chats, keys.Key_Up)
    assert window.focusWidget() is chats  # arrows look for a chat, they open none
    program.qtbot.keyClick(chats, keys.Key_Return)
    program.until(lambda: shown(apple))
    assert window.focusWidget() is edit

    window.sidebar.focus_search()
    program.qtbot.keyClicks(window.focusWidget(), "zebra")
    program.until(lambda: bool(window.sidebar.results.hits()))
    program.qtbot.keyClick(window.focusWidget(), keys.Key_Return)
    program.until(lambda: shown(zebra))
    assert window.focusWidget() is edit
    window.actions_by_key["new_chat"].trigger()
    assert window.sidebar.search_text() == ""
    assert window.focusWidget() is edit


def test_model_that_is_loaded_is_not_loaded_again_when_it_is_chosen(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    loads: list[object] = []
    program.app.models.loading.connect(lambda *load: loads.append(load))
    program.app.window.show_page("models")
    program.app.library.choose(str(model))
    assert program.app.window.page == "chat"
    program.settle()
    assert loads == []
    program.app.models.reload({"n_ctx": 2048})  # which is what Load settings are for
    program.until(lambda: len(loads) == 1)
    program.ready()


def test_what_one_load_had_to_say_goes_with_the_next(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    program.app.models.notices.say("Flash attention was turned on.")
    assert "engine" in program.notices()
    program.app.models.reload({"n_ctx": 2048})
    program.until(lambda: "engine" not in program.notices())
    program.ready()


def test_chat_of_another_model_offers_it(
    open_program: Open, fake_script: FakeScript, model: Path, tmp_path: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    chat = program.answered_chat("Hello")
    other = tmp_path / "Other-2B-Q8_0.gguf"
    other.write_bytes(b"fake")
    program.app.window.sidebar.new_chat_requested.emit()
    program.app.library.choose(str(other))
    program.until(lambda: program.app.engine.state.path == str(other))
    program.ready()
    program.app.chats.open(chat.id)
    program.until(lambda: "other-model" in program.notices())
    notices = program.app.window.chat.notices
    # With its type, which tells it from its other variants.
    assert notices.bar("other-model").text == "This chat was held with Fake-1B Q4_0."
    notices.chosen.emit("other-model", "load")
    program.until(lambda: program.app.engine.state.path == str(model))
    assert "other-model" not in program.notices()


@pytest.mark.parametrize("wanted", [True, False])
def test_chat_text_reaches_the_log_only_when_asked(
    wanted: bool,
    open_program: Open,
    fake_script: FakeScript,
    model: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fake_script(replies=["a secret reply"])
    caplog.set_level("INFO")
    program = open_program(model).ready()
    program.app.preferences.set_value("log_chat_text", wanted)
    program.send("a secret question")
    program.answered()
    assert ("a secret question" in caplog.text) is wanted
    assert ("a secret reply" in caplog.text) is wanted


@pytest.mark.parametrize("wanted", [True, False])
def test_reasoning_unfolds_while_it_is_written_if_wanted(
    wanted: bool, open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    thought = "".join(f" because{i}" for i in range(60))
    fake_script(replies=[["<think>", thought, "</think>", "Answer"]], decode_per_s=1)
    program = open_program(model).ready()
    program.app.preferences.set_value("unfold_reasoning", wanted)
    program.send("Why?")
    program.until(lambda: bool((program.app.controller.runner.live or _Silent).reasoning))
    assert (program.app.chat._unfolded is not None) is wanted
    program.answered()
    assert program.app.chat._unfolded is None
    assert program.app.controller.path[-1].reasoning.strip() == thought.strip()
    assert program.texts()[-1] == "Answer"


class _Silent:
    reasoning = ""


def test_a_reply_that_ends_while_its_chat_is_being_opened_is_shown_whole(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["Good day to you."], decode_per_s=10)
    program = open_program(model).ready()
    program.send("Hello")
    controller = program.app.controller
    conversation = controller.path[0].conversation_id
    controller.new_chat()
    held = threading.Event()
    program.app.store.do(lambda _store: held.wait(PATIENCE_S))
    controller.open(conversation)  # reads the reply as it is now, half written
    program.until(lambda: program.app.engine.state.status == "ready")
    program.qtbot.wait(100)
    held.set()
    program.until(lambda: len(controller.path) == 2 and program.is_answered)
    assert program.texts() == ["Hello", "Good day to you."]
