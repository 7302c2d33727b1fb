"""Comparisons that were kept: listed, opened again, deleted."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.data.comparisons import Comparisons
from app.paths import Paths
from app.ui import tasks
from app.ui.compare.page import ComparePage
from app.ui.presenters.compare_views import earlier_views
from inspector.compare.records import ComparisonRecord

__all__ = ["KeptComparisons", "is_nothing"]


def is_nothing(record: ComparisonRecord) -> bool:
    """Tell whether no variant was begun, or all were stopped before they had said anything."""
    return all(
        variant.status in {"waiting", "cancelled"} and not variant.answer
        for variant in record.variants
    )


class KeptComparisons(QObject):
    """What was compared before, in the page's menu.

    Signals:
        opened(ComparisonRecord): it is to be shown.
    """

    opened = Signal(object)

    def __init__(self, paths: Paths, page: ComparePage, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept = Comparisons(paths.comparisons)
        self._page = page
        page.deleted.connect(self.delete)

    def list_all(self) -> None:
        """Bring the menu up to date."""
        tasks.run(
            self._kept.entries,
            lambda entries: self._page.set_earlier(earlier_views(entries)),
            None,
            self,
        )

    def keep(self, record: ComparisonRecord) -> None:
        """Keep a run, unless nothing of it was done."""
        try:
            if not is_nothing(record):
                self._kept.keep(record)
        except OSError as error:
            text = self.tr("The comparison can't be kept: {0}.")
            self._page.say(text.format(error.strerror or str(error)))
        self.list_all()

    def open(self, key: str) -> None:
        """Read one and tell, or say that it can't be read."""
        record = self._kept.load(key)
        if record is not None:
            self.opened.emit(record)
            return
        self._page.say(self.tr("This comparison can't be read any more."))
        self.list_all()

    @Slot(str)
    def delete(self, key: str) -> None:
        """Remove one."""
        try:
            self._kept.delete(key)
        except OSError as error:
            text = self.tr("It can't be deleted: {0}.")
            self._page.say(text.format(error.strerror or str(error)))
        self.list_all()
