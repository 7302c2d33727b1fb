"""What goes wrong around a chat: slow and failed loads, a dead engine, a damaged store."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.data.conversations import ConversationStore
from app.engine.protocol import Fault
from inspector.findings import findings_of
from tests.app.engine.conftest import FakeScript
from tests.helpers.tiny_gguf import write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
LONG = " ".join(f"w{i}" for i in range(400))


def test_a36_window_lives_while_a_model_loads(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["x"], load_s=60)
    program = open_program(model)
    program.until(lambda: program.app.engine.state.status == "loading")
    program.until(lambda: program.app.engine.state.fraction > 0)
    composer = program.app.window.chat.composer
    composer.set_text("written meanwhile")
    program.app.window.sidebar.new_chat_requested.emit()
    composer.send_requested.emit("written meanwhile")
    assert "refused" in program.notices()
    assert composer.text() == "written meanwhile"
    program.app.window.header.model.cancel_requested.emit()
    program.until(lambda: program.app.engine.state.status == "idle")
    assert "load-failed" not in program.notices()


def test_a41_dead_engine_leaves_the_partial_reply_and_ways_on(
    open_program: Open, fake_script: FakeScript, faults: None, model: Path
) -> None:
    fake_script(replies=[LONG], decode_per_s=1000)
    program = open_program(model).ready()
    engine = program.app.engine
    engine.ask(Fault(id=engine.new_id(), signal="SIGSEGV", phase="decode", after_tokens=100))
    program.send("Hello")
    program.until(lambda: engine.state.status == "lost")
    program.answered()
    reply = program.app.controller.path[-1]
    assert reply.state == "interrupted"
    assert reply.text
    assert LONG.startswith(reply.text)
    assert "engine-lost" in program.notices()
    program.app.window.chat.notices.chosen.emit("engine-lost", "reload")
    program.ready()
    assert "engine-lost" not in program.notices()


def test_failed_load_is_told_and_not_repeated_at_the_next_start(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(load_fails="not enough memory for 30 GB", out_of_memory=True)
    program = open_program(model)
    program.until(lambda: "load-failed" in program.notices())
    assert not program.app.models.may_load_by_itself(str(model))
    program.close()
    again = open_program()
    again.settle()
    assert again.app.engine.state.status in {"starting", "idle", "loading"}
    assert again.app.engine.state.path != str(model)


@pytest.mark.parametrize("content", [b"\0" * 65536, b"", b"SQLite format 3\0half"])
def test_a46_damaged_store_is_set_aside_and_the_program_starts(
    content: bytes, open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    from app.paths import default_paths

    store = default_paths().store
    store.write_bytes(content)
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    if content:
        program.until(lambda: "store" in program.notices())
        aside = [p for p in store.parent.iterdir() if p.name.startswith(store.stem) and p != store]
        assert any(p.read_bytes()[:16] == content[:16] for p in aside if p.is_file())
    program.send("Hello")
    program.answered()
    assert program.texts() == ["Hello", "ok"]


def test_second_program_says_once_that_chats_can_only_be_read(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    from app.paths import default_paths

    fake_script(replies=["ok"])
    first = ConversationStore(default_paths().store)
    program = open_program(model).ready()
    notices = program.app.window.chat.notices
    program.until(lambda: "store" in program.notices())
    program.app.window.chat.composer.set_text("Hello")
    program.app.window.chat.composer.send_requested.emit("Hello")
    program.until(lambda: "To write, close it" in notices.bar("store").text)
    assert program.notices() == ["store"]
    assert "can only be read here." in notices.bar("store").text
    assert notices.bar("store").buttons() == []  # trying again would change nothing
    program.until(lambda: program.app.window.chat.composer.text() == "Hello")
    program.settle()
    first.close()


def test_missing_model_offers_others(open_program: Open, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "gone.gguf")
    program = open_program(path).ready()
    path.unlink()
    program.app.models.reload()
    program.until(lambda: "load-failed" in program.notices())
    bar = program.app.window.chat.notices.bar("load-failed")
    assert bar.text == f"There is no file {path}."
    assert [button.text() for button in bar.buttons()] == ["Choose a model", "Open a file…"]
    assert program.app.engine.state.status == "ready"  # the one that is loaded stays
    bar.buttons()[0].click()
    assert program.app.window.picker.isVisible()
    program.app.window.picker.hide()

    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    session = program.app.inspector.session
    program.until(lambda: session.state == "lost")
    # No setting brings the file back; why the engine ended is said by the chat.
    assert "engine_lost" not in [item.id for item in findings_of(session)]
    program.app.window.chat.notices._close("engine-lost")
    (lost,) = [item for item in findings_of(session) if item.id == "engine_lost"]
    assert lost.fixes == ()


@pytest.mark.parametrize("panel", [True, False], ids=["panel", "no panel"])
@pytest.mark.parametrize("free_gib", [19, 0])
def test_killed_engine_is_laid_on_memory_only_where_that_had_run_out(
    open_program: Open, tmp_path: Path, free_gib: int, panel: bool
) -> None:
    program = open_program(write_tiny_model(tmp_path / "tiny.gguf"))
    engine = program.app.engine
    # whatever this machine has
    engine.memory.host_memory = lambda: (free_gib * 1024**3, 24 * 1024**3)
    program.ready()
    program.until(lambda: program.app.inspector._panel is not None)
    if not panel:
        program.app.window.toggle_inspector()
    assert program.app.inspector._panel.isVisible() == panel
    program.qtbot.wait(300)
    assert engine.state.pid is not None
    os.kill(engine.state.pid, signal.SIGKILL)
    program.until(lambda: "engine-lost" in program.notices())
    bar = program.app.window.chat.notices.bar("engine-lost")
    lost = [f for f in findings_of(program.app.inspector.session) if f.id == "engine_lost"]
    if free_gib:
        assert "ended from outside while idle" in bar.text
        assert "19.0 GiB were free" in bar.text
        assert [button.text() for button in bar.buttons()] == ["Load again"]
        assert lost == []  # no setting helps, and why it ended the chat says
    else:
        assert "the system does that when memory runs out" in bar.text
        assert len(bar.buttons()) > 1


def test_what_was_free_is_looked_at_as_long_as_the_engine_lives(
    open_program: Open, tmp_path: Path
) -> None:
    program = open_program(write_tiny_model(tmp_path / "tiny.gguf"))
    engine = program.app.engine
    looks: list[float] = []

    def look() -> tuple[int, int]:
        looks.append(time.monotonic())
        return 19 * 1024**3, 24 * 1024**3

    engine.memory.host_memory = look
    program.ready()
    program.until(lambda: program.app.inspector._panel is not None)
    program.app.window.toggle_inspector()
    before = len(looks)
    program.until(lambda: len(looks) >= before + 3)
    assert engine.state.pid is not None
    os.kill(engine.state.pid, signal.SIGKILL)
    program.until(lambda: "engine-lost" in program.notices())
    assert "19.0 GiB were free" in program.app.window.chat.notices.bar("engine-lost").text
    after = len(looks)
    program.qtbot.wait(2500)
    assert len(looks) == after


def _small(program: Program) -> Program:
    """Load the model again with a context of 512 tokens."""
    program.app.models.reload({"n_ctx": 512})
    program.until(lambda: program.app.engine.state.status != "ready")
    return program.ready()


def _way_out(program: Program) -> QPushButton:
    """Wait for what is offered where something does not fit."""
    program.until(lambda: program.app.window.chat.overflow.bar is not None)
    bar = program.app.window.chat.overflow.bar
    assert bar is not None
    button = bar.buttons()[0]
    assert button.text().startswith("Context to ")
    return button


def _enlarge(program: Program) -> None:
    """Take the way out, and wait for the model."""
    _way_out(program).click()
    program.until(lambda: program.app.engine.state.status != "ready")
    program.ready()
    model = program.app.engine.state.model
    assert model is not None
    assert model.n_ctx > 512
    program.until(lambda: program.app.window.chat.overflow.bar is None)


@pytest.mark.parametrize("pause_ms", [0, 800], ids=["at once", "after it was counted"])
def test_message_that_is_too_long_is_told_before_it_is_sent(
    open_program: Open, tmp_path: Path, pause_ms: int
) -> None:
    program = _small(open_program(write_tiny_model(tmp_path / "tiny.gguf")).ready())
    composer, text = program.app.window.chat.composer, "word " * 500
    composer.set_text(text)
    program.qtbot.wait(pause_ms)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    _way_out(program)
    program.settle()
    assert composer._send.isEnabled() is False
    assert program.texts() == []
    assert composer.text() == text
    _enlarge(program)
    program.until(composer._send.isEnabled)
    assert composer.text() == text
    assert program.texts() == []  # it is sent when Send is pressed, not by itself
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    program.until(lambda: len(program.app.controller.path) == 2)
    program.answered()
    assert program.texts()[0] == text.strip()
    reply = program.app.controller.path[-1]
    assert reply.state != "failed"


def test_a_long_draft_that_fits_is_sent_once_it_was_counted(
    open_program: Open, tmp_path: Path
) -> None:
    program = _small(open_program(write_tiny_model(tmp_path / "tiny.gguf")).ready())
    composer = program.app.window.chat.composer
    composer.set_text("word " * 60)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    program.until(lambda: len(program.app.controller.path) == 2)
    assert composer.text() == ""
    program.answered()
    assert len(program.app.controller.path) == 2


def test_a_draft_that_is_changed_before_it_was_counted_is_not_sent(
    open_program: Open, tmp_path: Path
) -> None:
    program = _small(open_program(write_tiny_model(tmp_path / "tiny.gguf")).ready())
    composer = program.app.window.chat.composer
    composer.set_text("word " * 60)
    composer.send_requested.emit(composer.text())
    composer.insert_text("and more")
    program.qtbot.wait(1000)
    assert program.texts() == []
    assert composer.text().endswith("and more")


def test_turn_that_was_refused_keeps_its_way_out_also_after_a_restart(
    open_program: Open, tmp_path: Path
) -> None:
    model = write_tiny_model(tmp_path / "tiny.gguf")
    program = _small(open_program(model).ready())
    program.app.controller.send("word " * 500)  # as an edit or another version comes to the engine
    program.until(lambda: len(program.app.controller.path) == 2)
    program.answered()
    reply = program.app.controller.path[-1]
    assert reply.state == "failed"
    assert "room for the reply; the model has 512" in (reply.stop_reason or "")
    program.qtbot.wait(600)  # the empty draft is counted and the chat read again
    _way_out(program)
    program.app.window.chat.composer.set_text("short")
    program.qtbot.wait(600)
    program.app.window.chat.composer.set_text("")
    conversation = reply.conversation_id
    program.close()

    again = open_program(model).ready()
    again.app.controller.open(conversation)
    again.until(lambda: len(again.app.controller.path) == 2)
    _enlarge(again)
    again.app.controller.regenerate(reply.id)
    again.until(lambda: again.app.controller.path[-1].id != reply.id)
    again.answered()
    assert again.app.controller.path[-1].state != "failed"
