"""Everything that the model's file says of itself, in a table that can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Slot,
)
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from inspector.views import MetadataRow
from inspector.widgets.palette import Palette
from inspector.widgets.table_style import table_style
from inspector.widgets.text import fill, grouped, tip

__all__ = ["MetadataDialog", "MetadataModel"]

Index: TypeAlias = QModelIndex | QPersistentModelIndex

_NO_INDEX: Final = QModelIndex()
_TIP_LENGTH: Final = 2000


class MetadataModel(QAbstractTableModel):
    """Keys, types and values."""

    def __init__(self, rows: Sequence[MetadataRow], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = tuple(rows)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """Return the number of keys."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        """Return key, type and value."""
        return 0 if parent.isValid() else 3

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return a cell; values are one line, whole in the tooltip."""
        row = self._rows[index.row()]
        cell = (row.key, row.kind, row.value)[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return " ".join(cell.split())
        if role == Qt.ItemDataRole.UserRole:
            return cell
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip((row.key, cell[:_TIP_LENGTH]))
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        """Return the columns' names."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Key"), self.tr("Type"), self.tr("Value"))[section]
        return None


class MetadataDialog(QDialog):
    """The table with a field that keeps the rows in which a text occurs."""

    def __init__(
        self,
        palette: Palette,
        title: str,
        rows: Sequence[MetadataRow],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(
            fill(self.tr("Metadata of %1"), title) if title else self.tr("Metadata")
        )
        self._palette = palette
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search keys and values"))
        self.search.setClearButtonEnabled(False)
        self.search.setAccessibleName(self.tr("Search"))
        self.proxy = QSortFilterProxyModel(self)
        self.proxy.setSourceModel(MetadataModel(rows, self))
        self.proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.proxy.setFilterKeyColumn(-1)
        self.table = QTableView(self)
        self.table.setAccessibleName(self.tr("Metadata"))
        self.table.setModel(self.proxy)
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)
        self.count = QLabel(self)
        self.count.setProperty("kind", "faint")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (self.search, self.table, self.count, buttons):
            layout.addWidget(widget)
        copy = QAction(self.tr("Copy"), self.table)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._copy)
        self.table.addAction(copy)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.search.textChanged.connect(self._on_search)
        palette.changed.connect(self._apply_theme)
        self._apply_theme()
        self._on_search("")
        self.search.setFocus()

    @Slot(str)
    def _on_search(self, text: str) -> None:
        self.proxy.setFilterFixedString(text.strip())
        shown, whole = self.proxy.rowCount(), self.proxy.sourceModel().rowCount()
        self.count.setText(fill(self.tr("%1 of %2 keys"), grouped(shown), grouped(whole)))

    @Slot()
    def _copy(self) -> None:
        lines = []
        for index in self.table.selectionModel().selectedRows():
            cells = [index.siblingAtColumn(column) for column in range(3)]
            lines.append("\t".join(str(cell.data(Qt.ItemDataRole.UserRole)) for cell in cells))
        QGuiApplication.clipboard().setText("\n".join(lines))

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._palette.theme
        self.table.setStyleSheet(table_style(theme))
        header = self.table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)
        header.setFixedHeight(theme.px(30))
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, theme.px(290))
        header.resizeSection(1, theme.px(110))
        self.table.verticalHeader().setDefaultSectionSize(theme.px(26))
        self.resize(theme.px(760), theme.px(540))
