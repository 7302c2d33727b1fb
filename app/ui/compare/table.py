"""The table of figures: measured beside predicted, a row a variant."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.compare.views import TableView
from app.ui.elide import ElidedLabel
from app.ui.theme import ThemeManager

__all__ = ["FigureTable"]

_ROW_PX: Final = 33
_HEAD_PX: Final = 32


class _Grid(QTableWidget):
    """As high as its rows, as wide as there is room; scrolls sideways."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)

    def sizeHint(self) -> QSize:
        """Return the height of head and rows."""
        theme = self._themes.theme
        bar = self.horizontalScrollBar()
        height = theme.px(_HEAD_PX) + self.rowCount() * theme.px(_ROW_PX) + 4
        if bar.maximum() > 0:
            height += bar.sizeHint().height()
        return QSize(theme.px(400), height)

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(self._themes.theme.px(200), self.sizeHint().height())


class FigureTable(QFrame):
    """A card with the table, and what follows from it in a sentence below."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self._view = TableView()
        title = QLabel(self.tr("Measured beside predicted"), self)
        title.setProperty("kind", "strong")
        title.setWordWrap(True)
        self._about = ElidedLabel("", self)
        self._about.setProperty("kind", "dim")
        self.grid = _Grid(themes, self)
        self.grid.setAccessibleName(self.tr("Measured beside predicted"))
        self._caption = QLabel(self)
        self._caption.setProperty("kind", "faint")
        self._caption.setWordWrap(True)
        self._caption.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._head = QHBoxLayout()
        self._head.addWidget(title, 1)
        self._head.addWidget(self._about)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self.grid)
        self._column.addWidget(self._caption)
        themes.changed.connect(self._space)
        self._space()

    def set_view(self, view: TableView) -> None:
        """Show figures."""
        if view == self._view:
            return
        self._view = view
        self._about.setText(view.about)
        self._caption.setText(view.caption)
        self._caption.setVisible(bool(view.caption))
        grid = self.grid
        grid.setColumnCount(len(view.heads))
        grid.setRowCount(len(view.rows))
        first = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        other = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for column, text in enumerate(view.heads):
            head = QTableWidgetItem(text)
            head.setTextAlignment(other if column else first)
            head.setToolTip(view.tips[column] if column < len(view.tips) else "")
            grid.setHorizontalHeaderItem(column, head)
        for row, texts in enumerate(view.rows):
            for column, text in enumerate(texts):
                item = QTableWidgetItem(_kept_in_order(text, mirrored=self.isRightToLeft()))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled)
                item.setTextAlignment(other if column else first)
                if row < len(view.cell_tips):
                    item.setToolTip(view.cell_tips[row][column])
                grid.setItem(row, column, item)
        self._space_rows()

    def _space_rows(self) -> None:
        theme, grid = self._themes.theme, self.grid
        for row in range(grid.rowCount()):
            grid.setRowHeight(row, theme.px(_ROW_PX))
        grid.horizontalHeader().setFixedHeight(theme.px(_HEAD_PX))
        grid.horizontalHeader().setStretchLastSection(False)
        self._share_width()
        grid.updateGeometry()

    def resizeEvent(self, event: object) -> None:
        """Give the columns the room there is."""
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._share_width()

    def _share_width(self) -> None:
        """Spread what the columns don't need evenly, so that the table fills its card."""
        header = self.grid.horizontalHeader()
        columns = self.grid.columnCount()
        if not columns:
            return
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        pad = self._themes.theme.px(3)
        wanted = [
            max(header.sectionSizeHint(column), self.grid.sizeHintForColumn(column)) + pad
            for column in range(columns)
        ]
        spare = max(self.grid.viewport().width() - sum(wanted), 0)
        for column, width in enumerate(wanted):
            header.resizeSection(column, width + spare // columns)
        self.grid.updateGeometry()

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(14)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(12))
        self._column.setSpacing(theme.px(6))
        self.grid.setFont(theme.font(12))
        self.grid.horizontalHeader().setFont(theme.font(12))
        line = theme.css("line")
        self.grid.setStyleSheet(
            "QTableWidget { background: transparent; border: 1px solid transparent;"
            f" border-radius: {theme.px(4)}px; }}"
            f"QTableWidget:focus {{ border-color: {theme.css('accent')}; }}"
            f"QTableWidget::item {{ border-bottom: 1px solid {line}; padding: 0 {theme.px(4)}px; }}"
            f"QHeaderView, QHeaderView::section {{ background: transparent; border: none; "
            f"color: {theme.css('dim')}; }}"
            f"QHeaderView::section {{ border-bottom: 1px solid {line}; "
            f"padding: 0 {theme.px(7)}px; }}"
        )
        self._space_rows()


def _kept_in_order(text: str, *, mirrored: bool) -> str:
    """Return a figure that keeps its unit behind it in scripts from right to left."""
    return f"\u2066{text}\u2069" if mirrored else text
