"""Writes the planner's report: Markdown, JSON or a picture, by the name's ending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from app.settings import atomic_write
from app.ui import tasks
from app.ui.planner.page import PlannerPage
from inspector.planner_curves import batching_curve, growth_curve
from inspector.planner_report import ReportRow, planner_json, planner_markdown
from inspector.planning import finish

__all__ = ["ReportSaver"]


class ReportSaver(QObject):
    """Says on the page what became of it."""

    def __init__(self, page: PlannerPage, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._page = page

    def save(self, path: str, rows: Sequence[ReportRow]) -> None:
        """Write the rows; the curves of each are worked out first, in the background."""
        ending = Path(path).suffix.lower()
        if ending == ".png":
            if self._page.picture().save(path, "PNG"):
                self._say_saved(path)
            else:
                self._page.say(self.tr("%1 can't be written.").replace("%1", path))
            return

        def work() -> None:
            full = [_with_curves(row) for row in rows]
            text = planner_json(full) if ending == ".json" else planner_markdown(full)
            atomic_write(Path(path), text.encode("utf-8"))

        def failed(error: Exception) -> None:
            if not isinstance(error, OSError):
                raise error
            text = self.tr("The report can't be written: %1.")
            self._page.say(text.replace("%1", error.strerror or str(error)))

        tasks.run(work, lambda _none: self._say_saved(path), failed, self)

    def _say_saved(self, path: str) -> None:
        self._page.say(self.tr("Saved as %1.").replace("%1", Path(path).name))


def _with_curves(item: ReportRow) -> ReportRow:
    if item.row is None:
        return item
    return replace(
        item,
        growth=finish(growth_curve(item.row, item.settings)),
        batching=finish(batching_curve(item.row)),
    )
