"""Places found in all conversations: a title and two lines of text with the words marked."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFont, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.ui.painted_list import Index, PaintedList, leading_side, paint_ground
from app.ui.shell.views import SearchHit
from app.ui.theme import ThemeManager

__all__ = ["SearchResults", "shortened"]

HIT_ROLE = int(Qt.ItemDataRole.UserRole)
_LEAD_CHARS = 18


def shortened(hit: SearchHit) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return one line of a snippet that begins shortly before its first mark, and its marks."""
    text = hit.snippet.replace("\n", " ").replace("\t", " ")
    first = min((start for start, _ in hit.marks), default=0)
    if first <= _LEAD_CHARS:
        return text, hit.marks
    cut = first - _LEAD_CHARS
    space = text.find(" ", cut, first)
    cut = space + 1 if space >= 0 else cut
    marks = tuple((start - cut + 1, length) for start, length in hit.marks if start >= cut)
    return "…" + text[cut:], marks


class _HitModel(QAbstractListModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hits: tuple[SearchHit, ...] = ()

    def set_hits(self, hits: tuple[SearchHit, ...]) -> None:
        self.beginResetModel()
        self.hits = hits
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.hits)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        hit = self.hits[index.row()]
        if role == HIT_ROLE:
            return hit
        if role == int(Qt.ItemDataRole.DisplayRole):
            return hit.title
        if role == int(Qt.ItemDataRole.AccessibleTextRole):
            return f"{hit.title}: {hit.snippet}"
        return None


class _HitDelegate(QStyledItemDelegate):
    def __init__(self, themes: ThemeManager, view: SearchResults) -> None:
        super().__init__(view)
        self._themes = themes

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(0, self._themes.theme.px(66))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._themes.theme
        hit: SearchHit = index.data(HIT_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        current = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        box = QRectF(option.rect).adjusted(1, 1, -1, -1)
        paint_ground(painter, theme, box, 7, raised=current, hovered=hovered)
        inner: QRect = option.rect.adjusted(theme.px(8), theme.px(6), -theme.px(8), -theme.px(4))
        title_font = theme.font(13, QFont.Weight.Medium)
        painter.setFont(title_font)
        painter.setPen(theme.colour("ink" if current else "dim"))
        title = painter.fontMetrics().elidedText(
            hit.title, Qt.TextElideMode.ElideRight, inner.width()
        )
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignTop | leading_side(option)), title)
        inner.setTop(inner.top() + painter.fontMetrics().lineSpacing() + theme.px(2))
        self._paint_snippet(painter, option, hit, inner)
        painter.restore()

    def _paint_snippet(
        self, painter: QPainter, option: QStyleOptionViewItem, hit: SearchHit, rect: QRect
    ) -> None:
        theme = self._themes.theme
        text, marks = shortened(hit)
        layout = QTextLayout(text, theme.font(11.5))
        wrap = QTextOption()
        wrap.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        wrap.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        wrap.setAlignment(leading_side(option))
        layout.setTextOption(wrap)
        formats = []
        for start, length in marks:
            style = QTextCharFormat()
            style.setFontWeight(int(QFont.Weight.DemiBold))
            style.setForeground(theme.colour("ink"))
            style.setBackground(theme.colour("selection"))
            found = QTextLayout.FormatRange()
            found.start, found.length, found.format = start, length, style
            formats.append(found)
        layout.setFormats(formats)
        layout.beginLayout()
        top = 0.0
        for _ in range(2):
            line = layout.createLine()
            if not line.isValid():
                break
            line.setLineWidth(rect.width())
            line.setPosition(QPointF(0, top))
            top += line.height()
        layout.endLayout()
        painter.setPen(theme.colour("faint"))
        layout.draw(painter, QPointF(rect.topLeft()))


class SearchResults(PaintedList):
    """The list of places found.

    Signals:
        hit_selected(str, str): key of the chat and of the message (empty: the title matched).
    """

    hit_selected = Signal(str, str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self.setAccessibleName(self.tr("Places found"))
        self._model = _HitModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_HitDelegate(themes, self))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # moved through from the search field
        self.clicked.connect(self._on_clicked)

    def set_hits(self, hits: tuple[SearchHit, ...]) -> None:
        """Show places, with the first one chosen."""
        self._model.set_hits(hits)
        if hits:
            self.setCurrentIndex(self._model.index(0))
            self.scrollToTop()

    def hits(self) -> tuple[SearchHit, ...]:
        """Return the places on screen."""
        return self._model.hits

    def step(self, step: int) -> None:
        """Choose the place ``step`` rows below, stopping at the ends."""
        count = self._model.rowCount()
        if count:
            row = min(max(self.currentIndex().row() + step, 0), count - 1)
            self.setCurrentIndex(self._model.index(row))

    def open_current(self) -> None:
        """Open the chosen place."""
        self._on_clicked(self.currentIndex())

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        if index.isValid():
            hit = self._model.hits[index.row()]
            self.hit_selected.emit(hit.chat_key, hit.message_key or "")
