"""How long a library of 300 models takes: ``python -m tests.bench.library_scan``.

Writes the files of `tests.helpers.library_files` with a real-sized vocabulary each, scans them
twice with the cache that the window uses, and then shows them on the Models page. Times named
``cpu_ms`` are the processor time of the window's thread for one call with the painting that
follows: on a busy computer it says more than the clock. The rest are by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication

from app.data.library.cache import EntryCache
from app.data.library.groups import Arranged, arrange
from app.data.library.scan import ScanProgress, scan
from app.data.state import StateFile
from app.engine.client import EngineClient
from app.settings import Settings
from app.ui.models.page import ModelsPage
from app.ui.presenters.library_plans import LibraryPlanner, PlanRequest
from app.ui.presenters.library_views import fit_view, library_view
from app.ui.theme import ThemeManager
from tests.helpers.library_files import FilledLibrary, fill_library

_TICK_S = 0.001


def _timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _scans(made: FilledLibrary, cache: Path) -> tuple[dict[str, Any], Arranged]:
    found: dict[str, Any] = {}
    entries: list[Any] = []
    for name in ("first", "second"):
        said: list[ScanProgress] = []
        entries.clear()
        seconds = _timed(lambda: entries.extend(scan(made.places, cache, progress=said.append)))  # noqa: B023
        found[f"{name}_s"] = round(seconds, 3)
        found[f"{name}_headers_read"] = said[-1].read
    found["entries"] = len(entries)
    found["arrange_ms"] = round(_timed(lambda: arrange(entries)) * 1000, 1)
    kept = EntryCache(cache)
    found["remembered_ms"] = round(_timed(kept.entries) * 1000, 1)
    kept.close()
    return found, arrange(entries)


class _Page:
    """The page over the library, with the times of what happens on the window's thread."""

    def __init__(self, app: QApplication, arranged: Arranged, folder: Path) -> None:
        self._app = app
        self._arranged = arranged
        self._folder = folder
        self.page = ModelsPage(ThemeManager("dark"))
        self.page.resize(1204, 812)
        self.page.show()

    def _call(self, work: Callable[[], Any]) -> float:
        """Return the thread's milliseconds of a call with the painting that follows it."""
        begun = time.thread_time()
        work()
        self._app.processEvents()
        return round((time.thread_time() - begun) * 1000, 1)

    def calls(self) -> dict[str, float]:
        page = self.page
        found = {
            "view_cpu_ms": self._call(
                lambda: page.set_library(library_view(self._arranged, budget_context=8192))
            ),
            "view_again_cpu_ms": self._call(
                lambda: page.set_library(library_view(self._arranged, budget_context=8192))
            ),
        }
        for letters in ("q", "qw", "qwe", "qwen", "qwen3"):
            found[f"search_{letters}_cpu_ms"] = self._call(
                partial(page.toolbar.search.setText, letters)
            )
        found["search_cleared_cpu_ms"] = self._call(page.toolbar.search.clear)
        found["sort_cpu_ms"] = self._call(lambda: page.toolbar.set_sort("size"))
        bar = page.tree.verticalScrollBar()
        steps = [
            self._call(lambda: bar.setValue(value))  # noqa: B023
            for value in range(0, bar.maximum(), max(bar.maximum() // 60, 1))
        ]
        found["scroll_worst_cpu_ms"] = max(steps)
        return found

    def planned(self) -> dict[str, Any]:
        """Plan every variant in the background and return how long the window's thread waited."""
        with EngineClient() as client:
            assert client.hello is not None
            hello = client.hello
        settings = Settings(self._folder / "settings.json")
        entries = [entry for group in self._arranged.groups for entry in group.variants]
        planner = LibraryPlanner(StateFile(None))
        calls: list[float] = []
        ended: list[bool] = []

        def show(fits: dict[str, Any]) -> None:
            views = {key: fit_view(fit) for key, fit in fits.items()}
            calls.append(self._call(lambda: self.page.set_fits(views)))

        planner.planned.connect(show)
        planner.finished.connect(lambda: ended.append(True))
        values = {str(entry.path): settings.load_values(str(entry.path)) for entry in entries}
        begun = time.perf_counter()
        planner.plan(PlanRequest(hello, entries, values, {}, may_measure=False))
        gaps: list[float] = []
        while not ended:
            gaps.append(self._call(lambda: None) / 1000)
            time.sleep(_TICK_S)
        seconds = time.perf_counter() - begun
        gaps.sort()
        planner.deleteLater()
        return {
            "variants": len(entries),
            "planned_s": round(seconds, 2),
            "shown_worst_cpu_ms": max(calls),
            "events_p99_cpu_ms": round(gaps[int(len(gaps) * 0.99)] * 1000, 1),
            "events_worst_cpu_ms": round(gaps[-1] * 1000, 1),
        }


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--vocabulary", type=int, default=32_000, help="tokens in each file")
    arguments = parser.parse_args()
    app = QApplication(["bench"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = fill_library(folder / "home", arguments.files, vocabulary=arguments.vocabulary)
        scans, arranged = _scans(made, folder / "library.sqlite3")
        page = _Page(app, arranged, folder)
        result = {
            "files": made.files,
            "models": len(arranged.groups),
            "variants": sum(len(group.variants) for group in arranged.groups),
            "broken": len(arranged.broken),
            "scan": scans,
            "page": page.calls(),
            "planning": page.planned(),
        }
        print(json.dumps(result, indent=1))
        page.page.close()
        page.page.deleteLater()
        QCoreApplication.processEvents()


if __name__ == "__main__":
    main()
