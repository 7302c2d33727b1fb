"""A row of the budget's legend: colour, name, how the figure was got, the figure.

The row is also the segment's place for the keyboard and for screen readers: a segment of a bar
may be two pixels wide, its row never is.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gguf_tools.units import format_bytes
from inspector.views import BudgetView, SegmentKind, SegmentView
from inspector.widgets.drawing import draw_text, hatch_brush, mirrored, rounded_ends
from inspector.widgets.palette import Palette
from inspector.widgets.pictured import Pictured
from inspector.widgets.text import basis_words, fill, segment_name, segment_tip, tip

__all__ = ["SegmentRow"]

_TEXT_PX = 12.5
_BASIS_PX = 10.5
_SWATCH_PX = 10
_USUAL_FIGURE = "88.8 MiB"


class SegmentRow(Pictured):
    """One segment. Up and Down go to its neighbours.

    Signals:
        marked(bool is_marked): keyboard or pointer came or went.
        stepped(int by): an arrow key asks for the row above (-1) or below (1).
    """

    marked = Signal(bool)
    stepped = Signal(int)

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._kind: SegmentKind = "free"
        self._size = ""
        self._basis: tuple[str, ...] = ()  # words for it, fewer in each
        self._segment: SegmentView | None = None
        self._budget: BudgetView | None = None
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_segment(
        self,
        segment: SegmentView,
        budget: BudgetView,
        *,
        says_basis: bool,
        grown_bytes: int | None = None,
    ) -> None:
        """Show a segment of a budget.

        ``says_basis`` names the basis beside the figure; ``grown_bytes``, by how much the segment
        has grown since the model was loaded, takes its place.
        """
        size = format_bytes(segment.size_bytes)
        basis: tuple[str, ...] = (basis_words(segment),) if says_basis else ()
        if grown_bytes is not None:
            grown = f"+{format_bytes(grown_bytes)}"
            basis = (fill(self.tr("%1 since loading"), grown), grown)
        self._segment, self._budget = segment, budget
        if (segment.kind, size, basis) == (self._kind, self._size, self._basis):
            return
        self._kind, self._size, self._basis = segment.kind, size, basis
        self.setAccessibleName(f"{segment_name(segment.kind)}: {size}")
        self.update()

    def texts(self) -> tuple[str, str]:
        """Return name and figure."""
        return segment_name(self._kind), self._size

    def beside(self) -> str:
        """Return what stands between name and figure where there is room for all of it."""
        return next(iter(self._basis), "")

    def explanation(self) -> list[str]:
        """Return what is to be said of the segment; made when asked, not at every update."""
        if self._segment is None or self._budget is None:
            return []
        return segment_tip(self._segment, self._budget)

    def sizeHint(self) -> QSize:
        """Return a line's height."""
        metrics = QFontMetricsF(self.theme.font(_TEXT_PX))
        return QSize(self.theme.px(200), round(metrics.height() + self.theme.px(4)))

    def event(self, event: QEvent) -> bool:
        """Explain the segment when the pointer rests."""
        if event.type() == QEvent.Type.ToolTip:
            self._explain(self.mapToGlobal(QPoint(0, self.height())))
            return True
        return super().event(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Mark the segment in the bar."""
        super().enterEvent(event)
        self.marked.emit(True)

    def leaveEvent(self, event: QEvent) -> None:
        """Take the mark away, unless the keyboard is here."""
        super().leaveEvent(event)
        self.marked.emit(self.hasFocus())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Mark the segment and explain it: a keyboard has no pointer to rest."""
        super().focusInEvent(event)
        self.setAccessibleDescription(" ".join(self.explanation()[1:]))
        self.marked.emit(True)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self._explain(self.mapToGlobal(QPoint(0, self.height())))
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take mark and explanation away."""
        super().focusOutEvent(event)
        self.marked.emit(False)
        QToolTip.hideText()
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step to the neighbours with the arrow keys."""
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(step)

    def draw(self, painter: QPainter) -> None:
        """Draw the row."""
        theme = self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width, height = float(self.width()), float(self.height())
        name, size = segment_name(self._kind), self._size
        side = theme.px(_SWATCH_PX)
        self._draw_swatch(painter, QRectF(0, (height - side) / 2, side, side), width)
        left = side + theme.px(9)

        figure_font = theme.font(_TEXT_PX)
        figures = QFontMetricsF(figure_font)
        size_width = figures.horizontalAdvance(size) + 1
        # Words stand in a column of their own, and stay there while the figures change.
        column = max(size_width, figures.horizontalAdvance(_USUAL_FIGURE) + 1)
        painter.setFont(figure_font)
        painter.setPen(theme.colour("ink"))
        figure = QRectF(width - size_width, 0, size_width, height)
        draw_text(painter, mirrored(figure, width, self.is_mirrored), size, at_end=True)

        name_font = theme.font(_TEXT_PX, QFont.Weight.Medium)
        metrics = QFontMetricsF(name_font)
        room = max(0.0, width - column - theme.px(8) - left)
        basis_font = theme.font(_BASIS_PX)
        beside = room - metrics.horizontalAdvance(name) - theme.px(8)
        basis, basis_width = _longest(self._basis, basis_font, beside)
        if basis:
            painter.setFont(basis_font)
            painter.setPen(theme.colour("faint"))
            place = QRectF(left + room - basis_width, 0, basis_width, height)
            draw_text(painter, mirrored(place, width, self.is_mirrored), basis, at_end=True)
        painter.setFont(name_font)
        painter.setPen(theme.colour("ink"))
        place = QRectF(left, 0, room, height)
        elided = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room)
        draw_text(painter, mirrored(place, width, self.is_mirrored), elided)

    def _draw_swatch(self, painter: QPainter, rect: QRectF, width: float) -> None:
        theme = self.theme
        place = mirrored(rect, width, self.is_mirrored)
        if self._kind == "kv_reserved":
            brush = hatch_brush(
                theme.colour("kv_used"), theme.colour("kv_reserved"), self.devicePixelRatioF()
            )
            painter.setBrushOrigin(place.topLeft())
            painter.fillPath(rounded_ends(place, theme.px(3)), brush)
        else:
            painter.fillPath(rounded_ends(place, theme.px(3)), theme.colour(self._kind))

    def _explain(self, at: QPoint) -> None:
        QToolTip.showText(at, tip(self.explanation()), self)


def _longest(texts: tuple[str, ...], font: QFont, room: float) -> tuple[str, float]:
    """Return the first text that has room, and its width; nothing where none has."""
    metrics = QFontMetricsF(font)
    for text in texts:
        width = metrics.horizontalAdvance(text) + 1
        if width <= room:
            return text, width
    return "", 0.0
