"""Figures, charts and differing places of a comparison, brought on its page."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.compare.page import ComparePage
from app.ui.compare.views import TableView
from app.ui.presenters.compare_views import (
    bar_views,
    common_name,
    difference_views,
    dot_views,
    no_quality_sentence,
    table_view,
)
from inspector.compare.records import ComparisonRecord

__all__ = ["CompareResults"]


class CompareResults(QObject):
    """What stands below the replies; keeps which variant's differing places are looked at."""

    def __init__(self, page: ComparePage, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._page = page
        self._record: ComparisonRecord | None = None
        self._variant: int | None = None
        page.differences.variant_chosen.connect(self._on_variant_chosen)

    def forget(self) -> None:
        """Show the last variant's places again with the next record."""
        self._variant = None

    def show(self, record: ComparisonRecord | None) -> None:
        """Show a record's figures, or none."""
        self._record = record
        page = self._page
        if record is None:
            page.set_title("")
            page.set_results(TableView(), (), ())
            page.differences.hide()
            return
        page.set_title(common_name(record))
        table = table_view(record)
        page.set_results(table, bar_views(record) if table.rows else (), dot_views(record))
        page.set_no_quality(no_quality_sentence(record))
        self._show_differences(record)

    def _show_differences(self, record: ComparisonRecord) -> None:
        with_places = tuple(
            (index, variant.label)
            for index, variant in enumerate(record.variants)
            if variant.quality is not None and variant.quality.worst
        )
        keys = [key for key, _ in with_places]
        if self._variant not in keys:
            self._variant = keys[-1] if keys else None
        card = self._page.differences
        card.setVisible(bool(keys))
        card.set_variants(with_places, self._variant)
        if self._variant is not None:
            card.set_places(difference_views(record, self._variant))

    @Slot(int)
    def _on_variant_chosen(self, index: int) -> None:
        self._variant = index
        if self._record is not None:
            self._page.differences.set_places(difference_views(self._record, index))
