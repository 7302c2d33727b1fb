"""Everything about one file: facts, its mix of tensor types, and all metadata with a search."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, QSortFilterProxyModel, Qt, Slot
from PySide6.QtGui import QGuiApplication, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.sizes import open_size
from app.ui.elide import ElidedLabel
from app.ui.models.views import ModelDetails, TypeView
from app.ui.numbers import grouped, numbered
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes
from inspector.widgets.drawing import rounded_ends
from inspector.widgets.metadata_dialog import MetadataModel
from inspector.widgets.palette import Painted
from inspector.widgets.table_style import table_style

__all__ = ["DetailsDialog"]

_TOKENS: Final = ("weights", "kv_used", "compute", "free", "other_programs")


def _token(place: int) -> str:
    return _TOKENS[min(place, len(_TOKENS) - 1)]


class _TypesBar(Painted):
    """Tensor types of a file as shares of its bytes."""

    def __init__(
        self, themes: ThemeManager, types: tuple[TypeView, ...], parent: QWidget | None = None
    ) -> None:
        super().__init__(themes, parent)
        self._types = types
        self.setFixedHeight(self.theme.px(14))
        self.setAccessibleName(
            ", ".join(f"{item.name} {format_bytes(item.size_bytes)}" for item in types)
        )

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the shares, the largest first."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(self.rect())
        painter.setClipPath(rounded_ends(rect, self.theme.px(4)))
        painter.fillRect(rect, self.theme.colour("well"))
        whole = sum(item.size_bytes for item in self._types) or 1
        at = 0.0
        for place, item in enumerate(self._types):
            width = item.size_bytes / whole * rect.width()
            painter.fillRect(QRectF(at, 0, width, rect.height()), self.theme.colour(_token(place)))
            at += width


class _Dot(Painted):
    """A square in a type's colour."""

    def __init__(self, themes: ThemeManager, token: str, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._token = token
        side = self.theme.px(10)
        self.setFixedSize(side, side)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.colour(self._token))
        painter.drawRoundedRect(QRectF(self.rect()), self.theme.px(3), self.theme.px(3))


class DetailsDialog(QDialog):
    """Facts at the left, metadata at the right."""

    def __init__(
        self, themes: ThemeManager, details: ModelDetails, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        theme = themes.theme
        self.setWindowTitle(self.tr("Details of %1").replace("%1", details.title))
        title = ElidedLabel(details.title, self, Qt.TextElideMode.ElideMiddle)
        title.setProperty("kind", "heading")
        top = QHBoxLayout()
        top.setSpacing(theme.px(8))
        top.addWidget(title)
        for text in details.tags:
            tag = QLabel(text, self)
            tag.setProperty("kind", "tag")
            top.addWidget(tag)
        top.addStretch(1)
        path = ElidedLabel(details.path, self, Qt.TextElideMode.ElideMiddle)
        path.setProperty("kind", "faint")

        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search metadata"))
        self.search.setAccessibleName(self.tr("Search metadata"))
        self.proxy = QSortFilterProxyModel(self)
        self.proxy.setSourceModel(MetadataModel(details.metadata, self))
        self.proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.proxy.setFilterKeyColumn(-1)
        self.search.textChanged.connect(self._on_search)
        self.table = self._table()
        self._count = QLabel(self)
        self._count.setProperty("kind", "faint")
        right = QVBoxLayout()
        right.setSpacing(theme.px(8))
        right.addWidget(self.search)
        right.addWidget(self.table, 1)
        right.addWidget(self._count)
        middle = QHBoxLayout()
        middle.setSpacing(theme.px(18))
        middle.addWidget(self._facts(details), 4)
        middle.addLayout(right, 6)

        buttons = DialogButtons(self)
        buttons.close_button().setDefault(True)
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(10))
        column.addLayout(top)
        column.addWidget(path)
        column.addLayout(middle, 1)
        column.addWidget(buttons)
        open_size(self, theme, 980, 640)
        self._on_search("")
        self.search.setFocus()

    def _facts(self, details: ModelDetails) -> QWidget:
        theme = self._themes.theme
        page = QWidget(self)
        grid = QGridLayout(page)
        grid.setContentsMargins(0, 0, theme.px(10), 0)
        grid.setHorizontalSpacing(theme.px(10))
        grid.setVerticalSpacing(theme.px(5))
        grid.setColumnStretch(1, 1)
        row = 0
        for sentence in details.warnings:
            label = QLabel(sentence, page)
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setStyleSheet(f"color: {theme.css('warning')};")
            grid.addWidget(label, row, 0, 1, 3)
            row += 1
        for fact in details.rows:
            name = QLabel(fact.label, page)
            name.setProperty("kind", "dim")
            value = QLabel(fact.value, page)
            value.setTextFormat(Qt.TextFormat.PlainText)
            value.setWordWrap(True)
            value.setAlignment(Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignTop)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            for label in (name, value):
                label.setToolTip(fact.hint)
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, 1, 1, 2)
            row += 1
        if details.types:
            heading = QLabel(self.tr("Tensor types"), page)
            heading.setProperty("kind", "strong")
            heading.setContentsMargins(0, theme.px(10), 0, 0)
            grid.addWidget(heading, row, 0, 1, 3)
            grid.addWidget(_TypesBar(self._themes, details.types, page), row + 1, 0, 1, 3)
            row += 2
        for place, item in enumerate(details.types):
            line = QWidget(page)
            inner = QHBoxLayout(line)
            inner.setContentsMargins(0, 0, 0, 0)
            inner.setSpacing(theme.px(8))
            inner.addWidget(_Dot(self._themes, _token(place), line))
            inner.addWidget(QLabel(item.name, line))
            inner.addStretch(1)
            words = numbered(item.tensors, self.tr("1 tensor"), self.tr("%n tensors"))
            count = QLabel(words, line)
            count.setProperty("kind", "dim")
            inner.addWidget(count)
            size = QLabel(format_bytes(item.size_bytes), line)
            size.setMinimumWidth(theme.px(72))
            size.setAlignment(Qt.AlignmentFlag.AlignTrailing)
            inner.addWidget(size)
            grid.addWidget(line, row, 0, 1, 3)
            row += 1
        grid.setRowStretch(row, 1)
        area = PageArea(page, self, self.tr("Facts"))
        area.setMinimumWidth(theme.px(250))
        return area

    def _table(self) -> QTableView:
        theme = self._themes.theme
        table = QTableView(self)
        table.setAccessibleName(self.tr("Metadata"))
        table.setModel(self.proxy)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(theme.px(26))
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        header = table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        header.setFixedHeight(theme.px(30))
        header.resizeSection(0, theme.px(250))
        header.resizeSection(1, theme.px(64))
        table.setStyleSheet(table_style(theme))
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._copy)
        return table

    @Slot(str)
    def _on_search(self, text: str) -> None:
        self.proxy.setFilterFixedString(text.strip())
        shown, whole = self.proxy.rowCount(), self.proxy.sourceModel().rowCount()
        text = self.tr("%1 of %2 keys").replace("%1", grouped(shown)).replace("%2", grouped(whole))
        self._count.setText(text)

    @Slot()
    def _copy(self) -> None:
        lines = []
        for index in self.table.selectionModel().selectedRows():
            cells = [index.siblingAtColumn(column) for column in range(3)]
            lines.append("\t".join(str(cell.data(Qt.ItemDataRole.UserRole)) for cell in cells))
        QGuiApplication.clipboard().setText("\n".join(lines))
