"""The types that a variant may have, as a table: size, bits, whether it fits, how fast."""

from __future__ import annotations

from typing import Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from app.ui.models import words
from app.ui.models.delegate import VERDICT_TOKENS
from app.ui.models.views import VariantOption
from app.ui.theme import ThemeManager
from inspector.widgets.table_style import table_style

__all__ = ["VariantTable"]

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_NO_INDEX: Final = QModelIndex()


class _Options(QAbstractTableModel):
    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self.options: tuple[VariantOption, ...] = ()

    def set_options(self, options: tuple[VariantOption, ...]) -> None:
        self.beginResetModel()
        self.options = options
        self.endResetModel()

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.options)

    def columnCount(self, _parent: _Index = _NO_INDEX) -> int:
        return 6

    def data(self, index: _Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        option = self.options[index.row()]
        column = index.column()
        if role == int(Qt.ItemDataRole.DisplayRole):
            return self._texts(option)[column]
        if role == int(Qt.ItemDataRole.TextAlignmentRole):
            side = Qt.AlignmentFlag.AlignTrailing if column in {1, 2, 4} else _LEADING
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == int(Qt.ItemDataRole.ForegroundRole):
            theme = self._themes.theme
            if option.problem or column == 5:
                return theme.colour("faint")
            if column == 3:
                return theme.colour(VERDICT_TOKENS[option.fit.verdict])
            return theme.colour("ink")
        if role == int(Qt.ItemDataRole.ToolTipRole):
            return option.problem or (option.fit.decode_words if column == 4 else option.about)
        if role == int(Qt.ItemDataRole.AccessibleTextRole) and column == 0:
            return ", ".join(text for text in self._texts(option) if text)
        return None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if self.options[index.row()].problem:
            return Qt.ItemFlag.NoItemFlags
        return super().flags(index)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = int(Qt.ItemDataRole.DisplayRole),
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == int(Qt.ItemDataRole.TextAlignmentRole):
            side = Qt.AlignmentFlag.AlignTrailing if section in {1, 2, 4} else _LEADING
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role != int(Qt.ItemDataRole.DisplayRole):
            return None
        return (
            self.tr("Type"),
            self.tr("Size"),
            self.tr("Bits / weight"),
            self.tr("Verdict"),
            self.tr("Decode"),
            self.tr("Remarks"),
        )[section]

    def _texts(self, option: VariantOption) -> tuple[str, ...]:
        if option.problem:
            return option.name, "", "", "", "", option.problem
        fit = option.fit
        return (
            option.name,
            words.size(option.size_bytes),
            words.bits(option.bits_per_weight),
            fit.words,
            words.rate_range(fit.decode_low_per_s, fit.decode_per_s),
            option.about,
        )


_LEADING: Final = Qt.AlignmentFlag.AlignLeading


class VariantTable(QTableView):
    """One type is chosen; types that can't be made are greyed, with the reason.

    Signals:
        type_changed(str): key of the chosen option.
    """

    type_changed = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._options = _Options(themes, self)
        self.setModel(self._options)
        self.setAccessibleName(self.tr("Types"))
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(5, QHeaderView.ResizeMode.Stretch)
        self.selectionModel().currentRowChanged.connect(self._on_current)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    @property
    def options(self) -> tuple[VariantOption, ...]:
        """The options shown."""
        return self._options.options

    def set_options(self, options: tuple[VariantOption, ...]) -> None:
        """Show options, keeping the chosen one; else the recommended or first possible one."""
        kept = self.chosen()
        key = kept.key if kept is not None else ""
        self._options.set_options(options)
        possible = [row for row, option in enumerate(options) if not option.problem]
        row = next((row for row in possible if options[row].key == key), None)
        if row is None:
            row = next((row for row in possible if options[row].recommended), None)
        if row is None and possible:
            row = possible[0]
        if row is not None:
            self.selectRow(row)

    def chosen(self) -> VariantOption | None:
        """Return the chosen option."""
        index = self.currentIndex()
        return self.options[index.row()] if index.isValid() else None

    @Slot(QModelIndex, QModelIndex)
    def _on_current(self, current: QModelIndex, _before: QModelIndex) -> None:
        if current.isValid():
            self.type_changed.emit(self.options[current.row()].key)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self.verticalHeader().setDefaultSectionSize(theme.px(30))
        header = self.horizontalHeader()
        header.setFixedHeight(theme.px(30))
        for section, width in enumerate((104, 92, 100, 148, 92)):
            header.resizeSection(section, theme.px(width))
        self.setStyleSheet(table_style(theme))
