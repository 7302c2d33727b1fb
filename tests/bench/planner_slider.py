"""How long the window's thread is held while the planner's slider moves over six machines.

``python -m tests.bench.planner_slider``: moves the context through its range, a step every 16 ms,
and prints the spans in which the window could not have drawn a frame: handling the slider's
step, and each turn of the event loop with what was planned and painted in it.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from PySide6.QtWidgets import QApplication

from app.data.library.choices import LibraryChoices
from app.data.state import StateFile
from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.planner import PlannerPresenter
from app.ui.theme import ThemeManager
from inspector.planner_setup import MachineSpec

_FRAME_S = 0.016
_ROUNDS = 4
_IDLE_S = 0.0001

_Span: TypeAlias = tuple[float, float]


def _timed(work: Callable[[], object]) -> _Span:
    """Return how long something took by the wall, and of this thread's own time."""
    wall, own = time.perf_counter(), time.thread_time()
    work()
    return time.perf_counter() - wall, time.thread_time() - own


def _settle(app: QApplication, planner: PlannerPresenter) -> None:
    while planner.is_planning:
        app.processEvents()


def main() -> None:
    """Measure and print."""
    app = QApplication(["plimsoll"])
    with tempfile.TemporaryDirectory() as name:
        paths = Paths(Path(name) / "data", Path(name) / "cache")
        paths.make()
        themes = ThemeManager("dark")
        window = MainWindow(themes)
        window.resize(1440, 900)
        state = StateFile(None)
        choices = LibraryChoices(state)
        scanner = LibraryScanner(Settings(paths.settings), paths, choices, window)
        engine = EngineProcess(window)
        planner = PlannerPresenter(scanner, choices, engine, state, window, themes, dict, window)
        # All six can be planned: this computer would wait for an engine.
        planner.command("remove", planner.setup.rows[-1].key)
        planner.add_row(MachineSpec("table", "NVIDIA GeForce RTX 3090", cards=2))
        window.show()
        window.show_page("planner")
        _settle(app, planner)
        slider = planner.page.form.context_slider
        steps: list[_Span] = []
        turns: list[_Span] = []
        positions = [*range(slider.maximum() + 1), *range(slider.maximum(), -1, -1)] * _ROUNDS
        for position in positions:
            end = time.perf_counter() + _FRAME_S
            steps.append(_timed(lambda position=position: slider.setValue(position)))  # type: ignore[misc]
            while time.perf_counter() < end:
                turn = _timed(app.processEvents)
                if turn[1] > _IDLE_S:
                    turns.append(turn)
        begun = time.perf_counter()
        _settle(app, planner)
        settle = time.perf_counter() - begun
        rows = len(planner.page.table.rows)
        planner.close()
        window.close()
    print(f"{rows} rows, {len(positions)} steps of the slider")
    for title, spans in (("a slider step", steps), ("a turn of the loop with work", turns)):
        for column, clock in enumerate(("by the wall", "of the thread's own time")):
            ordered = sorted(span[column] for span in spans)
            print(
                f"{title}, {clock}: median {statistics.median(ordered) * 1e3:.2f} ms, "
                f"99 % {ordered[int(len(ordered) * 0.99)] * 1e3:.2f} ms, "
                f"worst {ordered[-1] * 1e3:.2f} ms"
            )
    print(f"rows and charts stood {settle * 1e3:.0f} ms after the last step")


if __name__ == "__main__":
    main()
