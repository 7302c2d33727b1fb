"""Models and their variants as a tree that can be filtered, searched and sorted.

Small enough to be arranged anew at each change: some hundred rows take about a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.ui.models.views import FitView, GroupView, LibraryView, SortKey, VariantView
from app.ui.models.words import row_tip, spoken_group, spoken_variant

__all__ = ["COLUMNS", "GROUP_ROLE", "KEY_ROLE", "VARIANT_ROLE", "Index", "LibraryModel"]

Index: TypeAlias = QModelIndex | QPersistentModelIndex

GROUP_ROLE: Final = int(Qt.ItemDataRole.UserRole)
VARIANT_ROLE: Final = GROUP_ROLE + 1
KEY_ROLE: Final = GROUP_ROLE + 2
COLUMNS: Final[tuple[SortKey | str, ...]] = (
    "name",
    "size",
    "bits",
    "context",
    "budget",
    "fit",
    "max_context",
    "decode",
    "prefill",
)
_NO_INDEX: Final = QModelIndex()
_VERDICTS: Final = {"fits": 0, "tight": 1, "too_large": 2, "unknown": 3, "waiting": 3}
_KINDS: Final = {"model": 0, "hidden": 1, "other": 2, "broken": 3}
_NO_FIGURE: Final = float("inf")


@dataclass(slots=True)
class _Group:
    view: GroupView
    rows: list[VariantView] = field(default_factory=list)


class LibraryModel(QAbstractItemModel):
    """The tree: groups, and below them variants. All columns are drawn by the delegate."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._view = LibraryView()
        self._fits: dict[str, FitView] = {}
        self._query = ""
        self._filter = "all"
        self._sort: SortKey = "name"
        self._all: list[_Group] = []
        self._shown: list[_Group] = []
        self._headings = self._heading_texts()

    # --- what is shown ---

    @property
    def groups(self) -> list[GroupView]:
        """Groups on screen."""
        return [group.view for group in self._shown]

    def variants(self) -> list[VariantView]:
        """Return the variants on screen."""
        return [row for group in self._shown for row in group.rows]

    def rows_of(self, number: int) -> list[VariantView]:
        """Return the variants on screen of a group by its place."""
        return list(self._shown[number].rows)

    def set_view(self, view: LibraryView) -> None:
        """Show another library."""
        self._view = view
        self._headings = self._heading_texts()
        self._all = [
            _Group(group, [self._with_fit(row) for row in group.variants]) for group in view.groups
        ]
        self._arrange()

    def set_query(self, query: str) -> None:
        """Show only what has all these words."""
        self._query = query.strip()
        self._arrange()

    def set_filter(self, key: str) -> None:
        """Show all, ``fits``, ``tight``, ``hidden``, or one place by ``source:NAME``."""
        self._filter = key
        self._arrange()

    def set_sort(self, key: SortKey) -> None:
        """Put the best of a column first; names from A to Z."""
        self._sort = key
        self._arrange()

    def set_fits(self, fits: dict[str, FitView]) -> None:
        """Show predictions of variants by key, in place where that moves no row."""
        self._fits.update(fits)
        for group in self._all:
            for place, row in enumerate(group.rows):
                if row.key in fits:
                    group.rows[place] = self._with_fit(row)
        if self._sort in {"fit", "decode", "prefill"} or self._filter in {"fits", "tight"}:
            self._arrange()
            return
        for number, group in enumerate(self._shown):
            known = [place for place, row in enumerate(group.rows) if row.key in fits]
            for place in known:
                group.rows[place] = self._with_fit(group.rows[place])
            if known:
                parent = self.index(number, 0)
                first = self.index(known[0], 0, parent)
                self.dataChanged.emit(first, self.index(known[-1], len(COLUMNS) - 1, parent))

    def _with_fit(self, row: VariantView) -> VariantView:
        fit = self._fits.get(row.key)
        return row if fit is None or fit is row.fit else replace(row, fit=fit)

    def _arrange(self) -> None:
        self.beginResetModel()
        found = [self._narrowed(group) for group in self._all]
        self._shown = [group for group in found if group.rows]
        self._shown.sort(key=self._group_order)
        self.endResetModel()

    def _narrowed(self, group: _Group) -> _Group:
        view, words = group.view, self._query.casefold().split()
        title = f"{view.title} {' '.join(view.tags)}".casefold()
        left = [word for word in words if word not in title]
        rows = [
            row
            for row in group.rows
            if all(word in row.search_text for word in left) and self._passes(view, row)
        ]
        rows.sort(key=self._row_order)
        return _Group(view, rows)

    def _passes(self, group: GroupView, variant: VariantView) -> bool:
        if self._filter == "hidden":
            return variant.is_hidden
        if variant.is_hidden:
            return False
        if self._filter in {"fits", "tight"}:
            wanted = {"fits"} if self._filter == "fits" else {"fits", "tight"}
            return group.kind == "model" and not variant.is_part and variant.fit.verdict in wanted
        source = self._filter.removeprefix("source:")
        return source in {self._filter, variant.source}

    def _row_order(self, row: VariantView) -> tuple[bool, float, float, str]:
        size = row.size_bytes or 0
        return row.is_part, _figure(row, self._sort), -size, row.key

    def _group_order(self, group: _Group) -> tuple[int, float, str, str]:
        figures = (_figure(row, self._sort) for row in group.rows if not row.is_part)
        best = min(figures, default=0.0)
        kind = _KINDS[group.view.kind]
        return kind, best, group.view.title.casefold(), group.view.key

    # --- Qt ---

    def index(self, row: int, column: int, parent: Index = _NO_INDEX) -> QModelIndex:
        """Return an index; a variant's carries its group's number plus one."""
        if not (0 <= row < self.rowCount(parent) and 0 <= column < len(COLUMNS)):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: Index = _NO_INDEX) -> QModelIndex:  # type: ignore[override]
        """Return the group of a variant."""
        number = index.internalId() if index.isValid() else 0
        return self.createIndex(number - 1, 0, 0) if number else QModelIndex()

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """Return the number of groups, or of a group's variants."""
        if not parent.isValid():
            return len(self._shown)
        if parent.internalId() or parent.column():
            return 0
        return len(self._shown[parent.row()].rows)

    def columnCount(self, _parent: Index = _NO_INDEX) -> int:
        """Return the number of columns."""
        return len(COLUMNS)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        """Return what the delegate draws, and texts for tooltips and screen readers."""
        if not index.isValid():
            return None
        number = index.internalId()
        group = self._shown[(number - 1) if number else index.row()]
        variant = group.rows[index.row()] if number else None
        if role == GROUP_ROLE:
            return group.view
        if role == VARIANT_ROLE:
            return variant
        if role == KEY_ROLE:
            return group.view.key if variant is None else variant.key
        if role == int(Qt.ItemDataRole.DisplayRole):
            return group.view.title if variant is None else variant.name
        if role == int(Qt.ItemDataRole.ToolTipRole) and variant is not None:
            return row_tip(variant, COLUMNS[index.column()])
        if role == int(Qt.ItemDataRole.AccessibleTextRole) and index.column() == 0:
            if variant is None:
                return spoken_group(group.view)
            return spoken_variant(variant)
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = int(Qt.ItemDataRole.DisplayRole),
    ) -> Any:
        """Return the columns' headings."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == int(Qt.ItemDataRole.TextAlignmentRole):
            left = COLUMNS[section] in {"name", "budget", "fit"}
            side = Qt.AlignmentFlag.AlignLeading if left else Qt.AlignmentFlag.AlignTrailing
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == int(Qt.ItemDataRole.ToolTipRole):
            return self._heading_tips().get(COLUMNS[section])
        if role != int(Qt.ItemDataRole.DisplayRole):
            return None
        return self._headings[section]

    def _heading_texts(self) -> tuple[str, ...]:
        return (
            self.tr("Model"),
            self.tr("Size"),
            self.tr("Bits / weight"),
            self.tr("Context"),
            self._view.budget_title or self.tr("Memory"),
            self.tr("Verdict"),
            self.tr("Max context"),
            self.tr("Decode"),
            self.tr("Prefill"),
        )

    def _heading_tips(self) -> dict[str, str]:
        return {
            "size": self.tr("Bytes of all its files on the disk"),
            "bits": self.tr("Bits per weight, from the file"),
            "context": self.tr("Tokens that the model was trained for, from the file"),
            "budget": self.tr(
                "The fullest memory, planned: weights (blue), cache (violet), compute (orange), "
                "other programs (grey), free (green). The line is the load line at 90 %."
            ),
            "fit": self.tr("Fits, tight (above the load line or with less context), or too large"),
            "max_context": self.tr("Longest context that fits, planned"),
            "decode": self.tr("Tokens per second when writing, predicted; from low to high"),
            "prefill": self.tr("Tokens per second when reading a prompt, predicted"),
        }

    def keys_of(self, indexes: Iterable[Index]) -> list[str]:
        """Return the keys of variants among indexes, each once, in the order on screen."""
        found = {index.data(KEY_ROLE) for index in indexes if index.data(VARIANT_ROLE) is not None}
        return [row.key for row in self.variants() if row.key in found]

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of a group or a variant by key."""
        for number, group in enumerate(self._shown):
            parent = self.index(number, 0)
            if group.view.key == key:
                return parent
            for row, variant in enumerate(group.rows):
                if variant.key == key:
                    return self.index(row, 0, parent)
        return QModelIndex()


def _figure(row: VariantView, key: SortKey) -> float:
    """Return what a row is sorted by, the first in order lowest; unknown comes last."""
    fit = row.fit
    values: dict[SortKey, float | None] = {
        "name": 0.0,
        "size": row.size_bytes,
        "bits": None if row.bits_per_weight is None else -row.bits_per_weight,
        "context": None if row.context_tokens is None else -row.context_tokens,
        "fit": _VERDICTS[fit.verdict],
        "decode": None if fit.decode_per_s is None else -fit.decode_per_s,
        "prefill": None if fit.prefill_per_s is None else -fit.prefill_per_s,
    }
    value = values[key]
    return _NO_FIGURE if value is None else float(value)
