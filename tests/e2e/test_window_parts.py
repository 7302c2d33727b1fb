"""The rest of the window over the scripted engine: settings, drafts, files, lists, trouble."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.paths import default_paths
from app.settings import Settings
from app.ui.shell.views import ModelEntry
from app.ui.transcript.items import MessageAction
from tests.app.data.test_database import limit_pages
from tests.app.engine.conftest import FakeScript
from tests.helpers.tiny_gguf import write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]


def test_settings_apply_at_once_and_stay(open_program: Open, fake_script: FakeScript) -> None:
    fake_script()
    program = open_program()
    preferences = program.app.preferences
    for name in ("light", "dark"):
        preferences.set_value("theme", name)
        assert program.app.themes.theme.name == name
    preferences.step_text_size(1)
    assert program.app.themes.text_size_percent == 110
    preferences.set_value("transcript_width", 900)
    program.close()
    kept = Settings(default_paths().settings)
    assert (kept.get("theme"), kept.get("text_size"), kept.get("transcript_width")) == (
        "dark",
        110,
        900,
    )


def test_every_dialog_opens_and_closes(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    preferences, window = program.app.preferences, program.app.window
    openers = (
        preferences.open_settings,
        preferences.open_chat_settings,
        lambda: preferences.open_load_settings(str(model)),
        preferences.open_about,
        window.show_keyboard_map,
    )
    from PySide6.QtWidgets import QDialog

    for opener in openers:
        opener()
        (dialog,) = [d for d in window.findChildren(QDialog) if d.isVisible()]
        dialog.reject()
        program.until(lambda: not any(d.isVisible() for d in window.findChildren(QDialog)))


def test_draft_is_kept_with_its_chat(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    chat = program.answered_chat("First")
    composer = program.app.window.chat.composer
    composer.set_text("half a thought")
    program.app.window.sidebar.new_chat_requested.emit()
    program.until(lambda: program.app.controller.conversation is None)
    assert composer.text() == ""
    program.app.chats.open(chat.id)
    program.until(lambda: composer.text() == "half a thought")
    program.close()
    again = open_program()
    again.app.chats.open(chat.id)
    again.until(lambda: again.app.window.chat.composer.text() == "half a thought")


def test_attached_files_go_with_the_message_and_bad_ones_say_why(
    open_program: Open, fake_script: FakeScript, model: Path, tmp_path: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    good, bad = tmp_path / "notes.md", tmp_path / "picture.bin"
    good.write_text("# Notes\nThe ship is heavy.")
    bad.write_bytes(bytes(range(256)) * 40)
    program.app.window.chat.composer.files_added.emit([str(good), str(bad)])
    program.until(lambda: len(program.app.chat.attachments) == 1)
    program.until(lambda: len(program.app.chat.files.problems) == 1)
    program.app.window.chat.composer.picture_pasted.emit()
    assert program.notices() == ["refused"]
    program.send("What do they say?")
    assert program.notices() == []
    program.answered()
    (asked, _) = program.app.controller.path
    assert asked.attachments[0].text.startswith("# Notes")
    stats = program.app.controller.path[-1].stats
    assert stats is not None
    assert stats.prompt_tokens > 10
    assert program.app.chat.attachments == ()


def test_models_found_are_offered_and_chosen(open_program: Open, fake_script: FakeScript) -> None:
    fake_script(replies=["ok"])
    path = write_tiny_model(default_paths().models / "Tiny-Chat-F32.gguf")
    (default_paths().models / "broken.gguf").write_bytes(b"GGUF")
    program = open_program()

    def found() -> dict[str, ModelEntry]:
        return {entry.key: entry for entry in program.app.window.picker.models.shown()}

    program.until(lambda: str(path) in found())
    broken = next(e for key, e in found().items() if key.endswith("broken.gguf"))
    assert broken.problem
    program.app.window.picker.model_chosen.emit(str(path))
    program.ready()
    assert program.app.engine.state.path == str(path)
    assert program.app.state.last_model == path


def test_regenerating_with_another_model_waits_for_it(
    open_program: Open, fake_script: FakeScript, model: Path, tmp_path: Path
) -> None:
    fake_script(replies=["one"])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    other = tmp_path / "Other-2B-Q8_0.gguf"
    other.write_bytes(b"fake")
    program.app.controller.act(MessageAction("regenerate_with", program.app.controller.path[-1].id))
    program.app.window.picker.model_chosen.emit(str(other))
    program.until(lambda: program.app.engine.state.path == str(other))
    program.ready()
    program.until(lambda: program.app.controller.path[-1].model_name == "Other-2B-Q8_0")
    program.answered()
    opened = program.app.controller.opened
    assert opened is not None
    assert opened.forks[program.app.controller.path[-1].id].count == 2


def test_export_and_import_round_trip(
    open_program: Open, fake_script: FakeScript, model: Path, tmp_path: Path
) -> None:
    fake_script(replies=["The answer"])
    program = open_program(model).ready()
    program.send("The question")
    program.answered()
    program.until(lambda: bool(program.app.chats.conversations))
    (chat,) = program.app.chats.conversations
    export = program.app.window.sidebar.chats.export_requested
    asks: list[tuple[Callable[[], object], str]] = [
        (lambda: export.emit(chat.id), "The question"),
        (program.app.chats.export_all, "Plimsoll chats 20"),
    ]
    for ask, name in asks:
        ask()
        (dialog,) = program.app.window.findChildren(QFileDialog)
        assert Path(dialog.selectedFiles()[0]).name.startswith(name)
        assert dialog.selectedFiles()[0].endswith(".md")
        dialog.reject()
        dialog.deleteLater()
        program.until(lambda: not program.app.window.findChildren(QFileDialog))
    as_json, as_text = tmp_path / "chat.json", tmp_path / "chat.md"
    program.app.chats.export_to(str(as_json), [chat.id])
    program.app.chats.export_to(str(as_text), None)
    program.settle()
    assert json.loads(as_json.read_text())
    assert "The answer" in as_text.read_text()
    program.app.window.sidebar.chats.copy_requested.emit(chat.id)
    program.until(lambda: "The answer" in QGuiApplication.clipboard().text())
    assert QGuiApplication.clipboard().text().startswith("# The question")
    program.app.window.sidebar.chats.delete_requested.emit(chat.id)
    program.app.window.toast.forget_all()  # purged: nothing is left of it
    program.until(lambda: not program.app.chats.conversations)
    program.app.chats.import_from(str(as_json))
    program.until(lambda: len(program.app.chats.conversations) == 1)
    program.app.chats.import_from(str(as_text))
    program.until(lambda: "transfer" in program.notices())


def test_a46_full_disk_is_told_and_the_chat_goes_on(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["first", "second"], n_ctx=32768)
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    program.app.store.do(limit_pages)
    long = "Again " * 4000  # a full database has no room for it
    program.send(long)
    program.answered()
    assert program.texts() == ["Hello", "first", long.strip(), "second"]
    program.until(lambda: "store" in program.notices())


def test_loss_while_idle_is_told_too(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    import os
    import signal

    fake_script(replies=["ok"])
    program = open_program(model).ready()
    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    program.until(lambda: program.app.engine.state.status == "lost")
    assert "engine-lost" in program.notices()


def test_typing_over_the_transcript_goes_into_the_draft(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    program.app.transcript.setFocus()
    program.qtbot.keyClicks(program.app.transcript, "re")
    assert program.app.window.chat.composer.text() == "re"
    assert program.texts() == ["Hello", "ok"]


def test_large_text_in_a_small_window_leaves_the_panel_whole(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    window = program.app.window
    window.resize(1024, 700)
    program.app.preferences.set_value("text_size", 200)
    window.show_inspector()
    program.until(lambda: window._slot.isVisible() and window._slot.geometry().x() > 0)
    program.until(lambda: window.width() == 1024)
    program.until(lambda: window._slot.geometry().right() < window.width())
    assert window._slot.width() > 500
