"""Recorded turns in the panel: of the chat, of a chat without its model, of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.load_records import LoadRecords, turn_records
from app.paths import default_paths
from app.ui.presenters.gpu_build import gpu_build_help
from app.ui.transcript.items import MessageAction
from inspector.report import report_as_json
from inspector.views import PanelView
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(40))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=(*STORY, "<|im_end|>"))
    )


def view_of(program: Program) -> PanelView:
    view = program.app.inspector._view
    assert view is not None
    return view


def test_a_replys_record_is_shown_and_left_again(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    inspector = program.app.inspector
    program.until(lambda: inspector._panel is not None)
    for text in ("Hello", "Again"):
        program.send(text)
        program.answered()
    program.until(lambda: len(inspector.session.turns) == 2)
    first = next(m for m in program.app.controller.path if m.role == "assistant")
    program.app.window.toggle_inspector()
    program.app.transcript.action_requested.emit(MessageAction("show_record", first.id))
    program.until(lambda: view_of(program).state == "replayed")
    shown = view_of(program)
    assert shown.recorded.startswith("Recorded turn of ")
    assert shown.growth is not None
    assert shown.growth.now is not None
    assert first.stats is not None
    assert shown.growth.now.tokens == first.stats.context_used_tokens
    assert all(not finding.fixes for finding in shown.findings)
    panel = inspector._panel
    program.until(panel.recorded.isVisible)
    panel.recorded.button.click()
    program.until(lambda: view_of(program).state == "loaded")
    live = view_of(program).growth
    assert live is not None
    assert live.now is not None
    assert live.now.tokens == inspector.session.used_tokens
    assert not panel.recorded.isVisible()


def test_a_chat_without_its_model_shows_its_last_record(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    chat = program.answered_chat("Hello")
    program.close()
    tiny.unlink()
    again = open_program().ready()  # the starter model, in place of the one that is gone
    again.app.models.unload()
    again.until(lambda: again.app.engine.state.status == "idle")
    again.until(lambda: again.app.inspector._panel is not None)
    # It is on screen since the start, and a model that is unloaded later changes no record of it.
    turns = again.app.inspector._turns
    again.until(lambda: turns._chat == chat.id)
    again.app.window.sidebar.new_chat_requested.emit()
    again.until(lambda: turns._chat is None)  # the panel looks a moment later
    again.app.chats.open(chat.id)
    again.until(
        lambda: again.app.inspector._view is not None and view_of(again).state == "replayed"
    )
    again.app.window.sidebar.new_chat_requested.emit()
    again.until(lambda: view_of(again).state == "planned")


def test_a_chat_that_comes_back_at_a_start_without_a_model_shows_its_last_record(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    chat = program.answered_chat("Hello")
    program.app.preferences.set_value("load_last_model", False)
    program.close()
    again = open_program()
    again.until(lambda: again.app.inspector._panel is not None)
    again.until(
        lambda: again.app.inspector._view is not None and view_of(again).state == "replayed"
    )
    here = again.app.controller.conversation
    assert here is not None
    assert here.id == chat.id
    assert again.app.engine.state.model is None


def test_a_report_in_json_is_opened_and_anything_else_refused(
    open_program: Open, tiny: Path, tmp_path: Path
) -> None:
    program = open_program(tiny).ready()
    program.send("Hello")
    program.answered()
    inspector = program.app.inspector
    program.until(lambda: inspector._panel is not None)
    turns = turn_records(program.app.controller.path, LoadRecords(default_paths().load_records))
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report_as_json("A chat", turns)))
    inspector.replay.open_file(str(file))
    program.until(lambda: view_of(program).state == "replayed")
    inspector.replay.back()
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    inspector.replay.open_file(str(bad))
    program.until(lambda: "record" in program.notices())
    assert inspector.replay.session is None


def test_how_to_get_a_gpu_build_is_explained(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    program.until(lambda: program.app.inspector._panel is not None)
    program.app.inspector._panel.fix_requested.emit("gpu_unused", "engine_build")
    assert "engine-build" in program.notices()
    assert "-DGGML_CUDA=ON" in gpu_build_help("linux")
    assert 'set "CMAKE_ARGS=' in gpu_build_help("win32")
    assert "Metal" in gpu_build_help("darwin")
