"""Pictures of what is measured and its names: ``python -m tests.helpers.measured_shots FOLDER``.

Bandwidths by name (panel, status line, Models page, planner, settings), a measurement that other
programs disturbed with 'Measure again' and what came of it, the question at Send while a
comparison measures, a comparison with parts to be run again, and the inspector at its least and
a large width. Run under a virtual or a real screen, or with ``QT_QPA_PLATFORM=offscreen``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import msgspec
from PySide6.QtWidgets import QApplication

from app.data.bandwidths import keep_bandwidth
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES
from app.engine.threads import clamp_threads, cpu_name
from app.paths import Paths, starter_model
from app.ui.application import Application
from app.ui.dialogs.settings_dialog import SettingsDialog
from app.ui.shell.inspector_width import LEAST_PX, USUAL_PX
from inspector.records import BandwidthRecord
from tests.helpers.shots import Shooter
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

__all__ = ["main"]

_SMALL_BYTES = 97 << 20  # as the starter model reads at each token
_QUICK = {"text_tokens": 512, "max_tokens": 20, "n_ctx": 1024}
_COLOURS = (" red", " green", " yellow", " blue")


def keep_figures(state: StateFile, *, busy: bool) -> None:
    """Keep probes of main memory and of a small model's size; busy ones threads waited in."""
    for size, rate in ((_SMALL_BYTES, 34e9), (LARGE_BYTES, 9.55e9)):
        record = BandwidthRecord(
            at_ms=1,
            threads=clamp_threads(None),
            buffer_bytes=size,
            samples=(rate,) * 9,
            waited=busy,
        )
        keep_bandwidth(state, cpu_name(), record)


def _variants(folder: Path) -> list[str]:
    found = []
    for name, layers, words in (("Q8_0", 3, " green"), ("Q4_0", 2, " yellow"), ("Q2_K", 1, " red")):
        script = (" red", words, " blue", "<|im_end|>")
        tiny = TinyModel(script=script, layers=layers, extra_tokens=_COLOURS, context=1024)
        found.append(str(write_tiny_model(folder / f"Tiny-{name}.gguf", tiny)))
    return found


def _shoot_both(shooter: Shooter, state: str) -> None:
    """Save the window wide and as small as screens are."""
    window = shooter.program.window
    shooter.shoot(state)
    window.resize(1024, 700)
    shooter.shoot(f"{state}-narrow")
    window.resize(1440, 900)


def _shoot_names(shooter: Shooter) -> None:
    program = shooter.program
    shooter.until(lambda: program.engine.state.status == "ready")
    shooter.until(lambda: program.inspector.session.plan is not None)
    shooter.until(lambda: program.inspector._panel is not None)
    shooter.pause(2.0)
    _shoot_both(shooter, "1-panel")
    for width, name in ((LEAST_PX, "least"), (600, "large")):
        program.window._slot.edge.width_wanted.emit(width)
        program.window._slot.edge.setFocus()
        program.window._slot.edge._hovered = (
            True  # as below the pointer: focus needs a window manager
        )
        shooter.shoot(f"2-inspector-{name}")
    program.window._slot.edge.width_wanted.emit(USUAL_PX)
    program.window.show_page("models")
    shooter.until(lambda: not program.scanner.is_scanning)
    shooter.until(lambda: not program.models_page.is_planning)
    shooter.pause(0.5)
    _shoot_both(shooter, "3-models")
    program.window.show_page("planner")
    shooter.until(lambda: program.planner.this.is_settled and not program.planner.is_planning)
    _shoot_both(shooter, "4-planner")
    program.preferences.open_settings()
    dialog = shooter.dialog()
    assert isinstance(dialog, SettingsDialog)
    dialog.show_group("Devices")
    shooter.shoot_dialog("5-settings")
    program.preferences.open_load_settings(str(starter_model()))
    shooter.pause(2.0)
    shooter.shoot_dialog("5-load-settings")


def _shoot_busy(shooter: Shooter) -> None:
    program = shooter.program
    page = program.models_page.page
    slow = BandwidthRecord(
        at_ms=1,
        threads=clamp_threads(None),
        buffer_bytes=LARGE_BYTES,
        samples=(4.8e9,),
        waited=True,
    )
    name = f"bandwidth {cpu_name()} | {slow.threads} threads | 2^30"
    program.state.set_blob(name, msgspec.json.encode(slow))
    program.window.show_page("models")
    program.models_page.refresh_predictions()
    shooter.until(lambda: not page.toolbar._measure.isHidden())
    shooter.until(lambda: not program.models_page.is_planning)
    _shoot_both(shooter, "6-busy")
    page.toolbar._measure.click()
    shooter.shoot("7-measuring")
    shooter.until(page.toolbar._measure.isEnabled)
    _shoot_both(shooter, "8-measured")


def _shoot_compare(shooter: Shooter, folder: Path) -> None:
    program = shooter.program
    compare, composer = program.compare, program.window.chat.composer
    compare.set_options(_QUICK)
    compare.choose(_variants(folder))
    shooter.until(lambda: compare.record is not None)
    compare.start("Name three colours.")
    program.window.show_page("chat")
    composer.set_text("Hello")
    composer.send_requested.emit("Hello")
    _shoot_both(shooter, "9-send-while-measuring")
    program.window.chat.notices.chosen.emit("measuring", "anyway")
    shooter.until(lambda: not compare.is_running)
    program.window.show_page("compare")
    _shoot_both(shooter, "10-disturbed")
    shooter.shoot("11-card-menu", compare.page._cards[1].menu())
    compare.set_reference(1)
    _shoot_both(shooter, "12-another-reference")


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", action="append", choices=("dark", "light"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(["plimsoll"])
    for theme in arguments.theme or ("dark", "light"):
        with tempfile.TemporaryDirectory() as name:
            paths = Paths(Path(name) / "data", Path(name) / "cache")
            paths.make()
            keep_figures(StateFile(paths.state), busy=False)
            program = Application(paths, str(starter_model()))
            program.tuning.enabled = False
            program.preferences.set_value("theme", theme)
            program.window.resize(1440, 900)
            program.window.show()
            shooter = Shooter(app, program, arguments.folder, theme, limit_s=600)
            _shoot_names(shooter)
            _shoot_busy(shooter)
            _shoot_compare(shooter, Path(name))
            shooter.end()


if __name__ == "__main__":
    main()
