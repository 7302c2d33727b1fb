"""The repositories that a search found, drawn on three lines each."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QObject,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.ui.downloads.views import ResultView
from app.ui.painted_list import Index, PaintedList, paint_ground
from app.ui.theme import Theme, ThemeManager
from inspector.widgets.drawing import draw_text

__all__ = ["ResultList"]

_ROLE: Final = int(Qt.ItemDataRole.UserRole)
_ROW_PX: Final = 68


class _Model(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: tuple[ResultView, ...] = ()

    def set_rows(self, rows: tuple[ResultView, ...]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        return {
            _ROLE: row,
            int(Qt.ItemDataRole.DisplayRole): row.key,
            int(Qt.ItemDataRole.AccessibleTextRole): row.spoken,
            int(Qt.ItemDataRole.ToolTipRole): f"{row.key}\n{row.what}\n{row.use}",
        }.get(role)


class _Delegate(QStyledItemDelegate):
    def __init__(self, themes: ThemeManager, view: ResultList) -> None:
        super().__init__(view)
        self._themes = themes
        self._view = view

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        theme = self._themes.theme
        return QSize(theme.px(120), theme.px(_ROW_PX))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._themes.theme
        row: ResultView = index.data(_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(option.direction)
        focused = bool(option.state & QStyle.StateFlag.State_Selected) and self._view.hasFocus()
        paint_ground(
            painter,
            theme,
            QRectF(option.rect).adjusted(1, 1, -1, -1),
            8,
            raised=row.key == self._view.opened,
            hovered=bool(option.state & QStyle.StateFlag.State_MouseOver),
            ringed=focused,
        )
        inner = QRectF(option.rect).adjusted(theme.px(10), theme.px(5), -theme.px(10), -theme.px(5))
        flip = option.direction == Qt.LayoutDirection.RightToLeft
        third = inner.height() / 3
        upper = QRectF(inner.left(), inner.top(), inner.width(), third)
        for tag in row.tags:
            upper = self._paint_tag(painter, theme, upper, tag, flip=flip)
        painter.setFont(theme.font(13.5, QFont.Weight.Medium))
        painter.setPen(theme.colour("ink"))
        metrics = painter.fontMetrics()
        name = metrics.elidedText(row.name, Qt.TextElideMode.ElideMiddle, int(upper.width()))
        draw_text(painter, upper, name)
        painter.setFont(theme.font(12))
        for place, (text, token) in enumerate(((row.what, "dim"), (row.use, "faint")), start=1):
            line = QRectF(inner.left(), inner.top() + place * third, inner.width(), third)
            painter.setPen(theme.colour(token))
            shown = painter.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideRight, int(line.width())
            )
            draw_text(painter, line, shown)
        painter.restore()

    def _paint_tag(
        self, painter: QPainter, theme: Theme, rect: QRectF, tag: str, *, flip: bool
    ) -> QRectF:
        """Draw a tag at the end of a line; return what is left of it."""
        painter.setFont(theme.font(11.5))
        width = painter.fontMetrics().horizontalAdvance(tag) + theme.px(12)
        height = painter.fontMetrics().height() + theme.px(1)
        box = QRectF(0, 0, width, height)
        box.moveCenter(rect.center())
        box.moveLeft(rect.left() if flip else rect.right() - width)
        painter.setPen(theme.colour("warning_line"))
        painter.setBrush(theme.colour("warning_fill"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(5), theme.px(5))
        painter.setPen(theme.colour("warning"))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), tag)
        gap = width + theme.px(8)
        return rect.adjusted(gap, 0, 0, 0) if flip else rect.adjusted(0, 0, -gap, 0)


class ResultList(PaintedList):
    """Repositories; Enter or a click opens one.

    Signals:
        opened_changed(str): key of the repository to look into.
    """

    opened_changed = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self.opened = ""
        self.setAccessibleName(self.tr("Repositories found"))
        self._model = _Model(self)
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(themes, self))
        self.setUniformItemSizes(True)

    def set_rows(self, rows: tuple[ResultView, ...]) -> None:
        """Show other repositories, from the top."""
        self._model.set_rows(rows)
        if rows:
            self.setCurrentIndex(self._model.index(0))
        self.scrollToTop()

    def rows(self) -> tuple[ResultView, ...]:
        """Return what is shown."""
        return self._model.rows

    def mark_opened(self, key: str) -> None:
        """Mark the repository that is looked into; nothing is emitted."""
        self.opened = key
        self.viewport().update()

    def open_current(self) -> None:
        """Look into the repository of the current row."""
        index = self.currentIndex()
        if index.isValid():
            self.opened_changed.emit(self._model.rows[index.row()].key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Enter."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.open_current()
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Open with a click."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            index = self.indexAt(event.position().toPoint())
            if index.isValid():
                self.setCurrentIndex(index)
                self.open_current()
