"""Files of a message that is not sent yet: kept like its text, each chat its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.data.lock import ProcessLock
from app.data.records import DraftFile
from app.paths import Paths
from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program
from tests.helpers.window_process import WindowProcess

Open = Callable[..., Program]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A file to attach."""
    path = tmp_path / "notes.md"
    path.write_text("# Notes\nThe ship is heavy.")
    return path


def attach(program: Program, *paths: Path) -> None:
    before = len(program.app.chat.attachments)
    program.app.window.chat.composer.files_added.emit([str(path) for path in paths])
    program.until(lambda: len(program.app.chat.attachments) == before + len(paths))


def names(program: Program) -> list[str]:
    """Return the names of the chips in the composer."""
    return [chip.name for chip in program.app.window.chat.composer._chips.chips]


def kept(paths: Paths, chat: str | None = None) -> list[DraftFile]:
    """Return what lies on the disk, as the next start would find it."""
    store = ConversationStore(paths.store, read_only=True)
    found = store.draft_files(chat)
    store.close()
    return found


def test_files_of_a_new_chat_are_there_at_the_next_start_and_sent_as_they_were(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, notes: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    attach(program, notes)
    program.app.window.chat.composer.text_attached.emit("pasted words")
    program.app.window.chat.composer.set_text("What do they say?")
    program.close()
    notes.write_text("something else by now")

    again = open_program(model)
    again.until(lambda: names(again) == ["notes.md", "Pasted text"])
    assert again.app.window.chat.composer.text() == "What do they say?"
    again.ready()
    chips = again.app.window.chat.composer._chips
    again.until(lambda: all(chip.tokens for chip in chips.chips))  # counted by the new engine
    again.send("What do they say?")
    again.answered()
    asked = again.app.controller.path[0]
    assert [item.text for item in asked.attachments] == [
        "# Notes\nThe ship is heavy.",
        "pasted words",
    ]
    assert names(again) == []
    again.close()
    assert kept(paths) == []
    assert kept(paths, asked.conversation_id) == []


def test_each_chat_has_its_files_also_after_a_restart(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, notes: Path
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    chat = program.answered_chat("First")
    attach(program, notes)
    bad = notes.with_name("picture.bin")
    bad.write_bytes(bytes(range(256)) * 40)
    program.app.window.chat.composer.files_added.emit([str(bad)])
    program.until(lambda: names(program) == ["notes.md", "picture.bin"])
    program.app.window.sidebar.new_chat_requested.emit()
    assert names(program) == []
    table = notes.with_name("table.csv")
    table.write_text("a,b")
    attach(program, table)
    program.app.chats.open(chat.id)
    program.until(lambda: names(program) == ["notes.md", "picture.bin"])
    program.close()
    assert [file.attachment.name for file in kept(paths)] == ["table.csv"]

    again = open_program(model)
    again.until(lambda: names(again) == ["table.csv"])
    again.until(lambda: bool(again.app.chats.conversations))
    again.app.chats.open(chat.id)
    again.until(lambda: names(again) == ["notes.md"])
    again.app.window.sidebar.new_chat_requested.emit()
    assert names(again) == ["table.csv"]
    # Taken off with its cross, it is gone for good.
    (key,) = [chip.key for chip in again.app.window.chat.composer._chips.chips]
    again.app.window.chat.composer.attachment_removed.emit(key)
    again.close()
    assert kept(paths) == []
    assert [file.attachment.name for file in kept(paths, chat.id)] == ["notes.md"]


def test_a_file_that_is_read_while_another_chat_comes_goes_with_the_chat_it_was_dropped_on(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, notes: Path
) -> None:
    fake_script(replies=["one"])
    program = open_program(model).ready()
    chat = program.answered_chat("First")
    program.app.window.chat.composer.files_added.emit([str(notes)])
    program.app.window.sidebar.new_chat_requested.emit()
    program.until(lambda: bool(kept(paths, chat.id)))
    program.settle()
    assert names(program) == []
    assert kept(paths) == []
    program.app.chats.open(chat.id)
    program.until(lambda: names(program) == ["notes.md"])


def test_a_file_that_is_gone_meanwhile_is_told_and_sent_all_the_same(
    open_program: Open, fake_script: FakeScript, model: Path, notes: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    attach(program, notes)
    program.close()
    notes.unlink()
    again = open_program(model).ready()
    chips = again.app.window.chat.composer._chips
    again.until(
        lambda: (
            chips.warnings()
            == "notes.md is no longer where it was. It is sent as it was when you attached it."
        )
    )
    again.send("")
    again.answered()
    assert again.app.controller.path[0].attachments[0].text == "# Notes\nThe ship is heavy."
    assert chips.warnings() == ""


def test_an_edit_leaves_the_draft_and_its_files(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, notes: Path
) -> None:
    fake_script(replies=["one", "two"])
    program = open_program(model).ready()
    chat = program.answered_chat("First")
    attach(program, notes)
    program.app.window.chat.composer.set_text("half a thought")

    def draft() -> str:
        found = program.read(lambda store: store.get(chat.id))
        return "" if found is None else found.draft

    program.until(lambda: draft() == "half a thought")
    program.app.controller.edit(program.app.controller.path[0].id, "Once more")
    program.until(lambda: program.texts() == ["Once more", "two"])
    assert draft() == "half a thought"
    assert [file.attachment.name for file in kept(paths, chat.id)] == ["notes.md"]
    assert names(program) == ["notes.md"]


def test_files_stay_in_the_window_where_another_program_writes_the_store(
    open_program: Open, fake_script: FakeScript, model: Path, paths: Paths, notes: Path
) -> None:
    fake_script(replies=["ok"])
    ConversationStore(paths.store).close()
    lock = ProcessLock(Path(f"{paths.store}.lock"))
    assert lock.acquire()
    try:
        program = open_program(model).ready()
        attach(program, notes)
        program.settle()
        assert names(program) == ["notes.md"]
        assert "store" in program.notices()
        program.close()
    finally:
        lock.release()
    assert kept(paths) == []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_killed_window_loses_no_file_and_comes_back_in_its_chat(
    fake_script: FakeScript, model: Path, paths: Paths, notes: Path
) -> None:
    fake_script(replies=["ok"])
    window = WindowProcess(paths.data, model, {})
    try:
        window.until_status("ready")
        window.tell("attach", paths=[str(notes)])
        window.until_looks(lambda look: look["files"] == ["notes.md"], "file")
        window.until(lambda: bool(kept(paths)), "file on the disk")
        window.kill()
        window = WindowProcess(paths.data, model, {})
        window.until_looks(lambda look: look["files"] == ["notes.md"], "file after a kill")
        window.until_status("ready")
        window.send("What do they say?", new_chat=False)
        look = window.until_looks(
            lambda look: len(look["path"]) == 2 and look["path"][1]["state"] == "complete", "reply"
        )
        assert look["files"] == []
        window.tell("attach", paths=[str(notes)])
        window.until_looks(lambda look: look["files"] == ["notes.md"], "file of a chat")
        window.kill()
        window = WindowProcess(paths.data, None, {})
        found = window.until_looks(lambda look: bool(look["path"]), "chat that was open last")
        assert [item["id"] for item in found["path"]] == [item["id"] for item in look["path"]]
        window.until_looks(
            lambda look: look["files"] == ["notes.md"], "file of a chat after a kill"
        )
    finally:
        window.kill()
