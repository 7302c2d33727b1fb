"""What is typed and not sent: kept in time, not offered again once it was sent, not swallowed."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path

from app.data.lock import ProcessLock
from app.paths import Paths
from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program

Open = Callable[..., Program]


def _new_draft(paths: Paths) -> str:
    """Return the draft of a chat that is not stored yet, as the next start would find it."""
    if not paths.state.exists():
        return ""
    kept = json.loads(paths.state.read_bytes()).get("blobs", {}).get("new-draft", "")
    return base64.b64decode(kept).decode()


def test_what_was_sent_is_no_draft_at_the_next_start(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    program.app.window.chat.composer.set_text("Hello there")
    program.until(lambda: _new_draft(paths) == "Hello there")
    program.send("Hello there")
    program.answered()
    program.until(lambda: _new_draft(paths) == "")
    program.close()
    again = open_program(model).ready()
    assert again.app.window.chat.composer.text() == ""


def test_a_new_chats_draft_outlives_a_look_at_another_chat(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    chat = program.answered_chat("Hello")
    composer = program.app.window.chat.composer
    program.app.window.sidebar.new_chat_requested.emit()
    program.until(lambda: program.app.controller.conversation is None)
    composer.set_text("half a thought")
    program.app.chats.open(chat.id)
    program.until(lambda: program.app.controller.conversation is not None)
    composer.set_text("something for the old chat")
    program.qtbot.wait(1300)
    assert _new_draft(paths) == "half a thought"


def test_a_draft_that_was_emptied_stays_empty(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    chat = program.answered_chat("Hello")

    def kept() -> str:
        found = program.read(lambda store: store.get(chat.id))
        return "" if found is None else found.draft

    composer = program.app.window.chat.composer
    composer.set_text("never mind")
    program.until(lambda: kept() == "never mind")
    composer.set_text("")
    program.until(lambda: kept() == "")


def test_who_types_without_a_pause_loses_seconds_at_most(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    begun_s = time.monotonic()
    text = ""
    while not _new_draft(paths):
        text += "x"
        assert len(text) < 200  # a key in a tenth of a second, or longer where it is busy
        program.app.window.chat.composer.set_text(text)
        program.qtbot.wait(100)
    assert time.monotonic() - begun_s > 1.0  # not at every key


def test_a_message_that_cannot_be_stored_comes_back_into_the_composer(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, tmp_path: Path
) -> None:
    fake_script(replies=["ok"])
    lock = ProcessLock(Path(f"{paths.store}.lock"))
    assert lock.acquire()  # as another Plimsoll that writes the store
    try:
        program = open_program(model).ready()
        file = tmp_path / "notes.md"
        file.write_text("# Notes")
        program.app.window.chat.composer.files_added.emit([str(file)])
        program.until(lambda: len(program.app.chat.attachments) == 1)
        composer = program.app.window.chat.composer
        composer.set_text("A long question")
        composer.send_requested.emit("A long question")
        notices = program.app.window.chat.notices
        program.until(lambda: "store" in program.notices())
        program.until(lambda: "To write, close it" in notices.bar("store").text)
        assert composer.text() == "A long question"
        assert [item.name for item in program.app.chat.attachments] == ["notes.md"]
        assert program.texts() == []
        program.close()
    finally:
        lock.release()
