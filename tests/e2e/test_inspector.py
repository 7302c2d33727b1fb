"""The panel beside a real engine: planned, loaded, filled by a conversation, lost."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.bandwidths import keep_bandwidth
from app.data.load_records import LoadRecords
from app.data.state import StateFile
from app.engine.bandwidth import MOST_BYTES, probe_size
from app.paths import default_paths
from gguf_tools.units import format_bandwidth
from inspector.records import BandwidthRecord
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(60))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=(*STORY, "<|im_end|>"))
    )


def test_plan_and_engine_agree_and_a_conversation_fills_the_cache(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    inspector = program.app.inspector
    session = inspector.session
    program.until(lambda: inspector._panel is not None)
    program.until(lambda: session.state == "ready" and session.plan is not None)
    assert session.load is not None
    engine = {(b.device, b.what): b.size_bytes for b in session.load.buffers}
    assert session.plan is not None
    (device,) = session.plan.devices
    kv = next(size for (_, what), size in engine.items() if what == "kv")
    assert abs(device.kv_bytes - kv) <= 0.01 * 1024 * 1024  # the log's precision
    program.send("Hello")
    program.answered()
    program.until(lambda: session.used_tokens > 60)
    (turn,) = session.turns
    assert turn.stats.load_id is not None
    assert turn.stats.samples
    kept = LoadRecords(default_paths().load_records).get(turn.stats.load_id)
    assert kept is not None
    assert kept.identity.model_path == str(tiny)
    program.until(lambda: inspector._view is not None and inspector._view.speed is not None)
    view = inspector._view
    assert view is not None
    assert view.growth is not None
    assert view.growth.now is not None
    program.until(lambda: _now(program) == session.used_tokens)


def test_recorded_turns_are_there_at_the_next_start(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    chat = program.answered_chat("Hello")
    program.close()
    again = open_program(tiny).ready()
    again.app.chats.open(chat.id)
    session = again.app.inspector.session
    again.until(lambda: len(session.turns) == 1)
    assert session.turns[0].load is not None


def test_memory_is_sampled_while_the_panel_is_seen(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    session = program.app.inspector.session
    program.until(lambda: session.sample is not None and session.sample.private_bytes is not None)
    assert session.sample is not None
    cpu = session.sample.devices[0]
    assert cpu.total_bytes is not None
    assert cpu.free_bytes is not None
    assert 0 < cpu.free_bytes < cpu.total_bytes


def test_lost_engine_is_shown_and_a_fix_loads_with_its_change(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    inspector = program.app.inspector
    program.until(lambda: inspector._panel is not None)
    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    program.until(lambda: inspector.session.state == "lost")
    program.until(lambda: inspector._view is not None and inspector._view.state == "lost")

    def notice() -> str:
        assert inspector._view is not None
        return inspector._view.notice

    def headlines() -> list[str]:
        assert inspector._view is not None
        return [item.headline for item in inspector._view.findings]

    program.until(lambda: "the chat says why" in notice())
    notices = program.app.window.chat.notices
    why = notices.bar("engine-lost").text
    assert why not in headlines()
    notices._close("engine-lost")
    program.until(lambda: why in headlines())
    assert "the chat" not in notice()
    inspector._panel.fix_requested.emit("any", '{"n_ctx":512}')
    program.ready()
    model = program.app.engine.state.model
    assert model is not None
    assert model.n_ctx == 512
    program.until(lambda: inspector.session.state == "ready")


def test_file_without_a_plan_leaves_the_panel_empty(open_program: Open, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF")
    program = open_program(bad)
    program.until(lambda: "load-failed" in program.notices())
    program.until(lambda: program.app.inspector.session.plan is None)
    assert program.app.inspector.session.state in {"empty", "planned"}


def _now(program: Program) -> int | None:
    view = program.app.inspector._view
    return (
        None
        if view is None or view.growth is None or view.growth.now is None
        else (view.growth.now.tokens)
    )


def test_a_draft_tells_its_time_to_the_first_token(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    inspector = program.app.inspector
    program.until(lambda: inspector._panel is not None)
    program.send("Hello " * 40)
    program.answered()
    program.app.window.chat.composer.set_text("What would it cost to read this?")
    program.until(lambda: inspector.session.draft_tokens is not None)
    assert inspector.session.draft_reused_tokens is not None
    assert inspector.session.draft_reused_tokens > 20
    program.until(
        lambda: (
            inspector._view is not None
            and inspector._view.speed is not None
            and inspector._view.speed.draft_first_token is not None
        )
    )
    program.app.window.chat.composer.set_text("")
    program.until(lambda: inspector.session.draft_tokens is None)


def test_status_line_names_the_bandwidth_that_is_reckoned_with(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    session = program.app.inspector.session

    def is_named() -> bool:
        rate = None if session.plan is None else session.plan.devices[0].bandwidth_bytes_per_s
        shown = program.app.window.status.texts()[0]
        return rate is not None and f" · {format_bandwidth(rate)}" in shown

    program.until(is_named)


def test_every_page_follows_what_another_process_measured(open_program: Open, tiny: Path) -> None:
    default_paths().make()
    listed = Path(shutil.copy(tiny, default_paths().models))
    program = open_program(listed).ready()
    inspector, engine = program.app.inspector, program.app.engine.state
    program.until(lambda: inspector.session.plan is not None and not inspector.probing)
    facts, hello = inspector.plan.live.facts, engine.hello
    assert facts is not None
    assert hello is not None
    program.app.window.show_page("models")
    size = probe_size(facts.bytes_read_per_token or 0)
    terminal = StateFile(default_paths().state)  # no computer is as fast as these
    for buffer_bytes, rate in ((size, 7.77e15), (MOST_BYTES, 3.33e15)):
        record = BandwidthRecord(
            at_ms=1,
            threads=inspector.plan.live.threads,
            buffer_bytes=buffer_bytes,
            samples=(rate,) * 4,
        )
        keep_bandwidth(terminal, hello.cpu, record)
    small, main = format_bandwidth(7.77e15), format_bandwidth(3.33e15)
    status = program.app.window.status
    program.until(lambda: f" · {small} partly from cache" in status.texts()[0])
    assert inspector.session.plan is not None
    note = inspector.session.plan.devices[0].bandwidth_note
    assert note == f"partly from the processor's cache: main memory {main}"
    basis = program.app.models_page.page.toolbar._basis
    program.until(lambda: f"main memory {main}" in basis.text() and small in basis.text())


def test_lessons_are_a_setting_of_panel_and_dialog(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    inspector = program.app.inspector
    program.until(lambda: inspector._panel is not None and inspector._panel.budget.isVisible())
    panel = inspector._panel
    program.until(panel.budget.lesson.isVisible)
    program.app.preferences.set_value("explain_panel", False)
    assert panel.budget.lesson.isHidden()
    menu = panel.menu()
    menu.actions()[0].trigger()
    menu.deleteLater()
    assert program.app.settings.get("explain_panel") is True
    assert panel.budget.lesson.isVisible()
