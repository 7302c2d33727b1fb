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
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gguf_tools.units import format_bytes
from inspector.views import BudgetView, SegmentKind, SegmentView
from inspector.widgets.drawing import draw_text, hatch_brush, mirrored, rounded_ends
from inspector.widgets.palette import Painted, Palette
from inspector.widgets.text import basis_words, segment_name, segment_tip, tip

__all__ = ["SegmentRow"]

_TEXT_PX = 12.5
_BASIS_PX = 10.5
_SWATCH_PX = 10
_USUAL_FIGURE = "88.8 MiB"


class SegmentRow(Painted):
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
        self._basis = ""
        self._segment: SegmentView | None = None
        self._budget: BudgetView | None = None
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_segment(self, segment: SegmentView, budget: BudgetView, *, says_basis: bool) -> None:
        """Show a segment of a budget; ``says_basis`` names the basis beside the figure."""
        size = format_bytes(segment.size_bytes)
        basis = basis_words(segment) if says_basis else ""
        self._segment, self._budget = segment, budget
        if (segment.kind, size, basis) == (self._kind, self._size, self._basis):
            return
        self._kind, self._size, self._basis = segment.kind, size, basis
        self.setAccessibleName(f"{segment_name(segment.kind)}: {size}")
        self.update()

    def texts(self) -> tuple[str, str]:
        """Return name and figure."""
        return segment_name(self._kind), self._size

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

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the row."""
        theme = self.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width, height = float(self.width()), float(self.height())
        name, basis, size = segment_name(self._kind), self._basis, self._size
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
        basis_width = QFontMetricsF(basis_font).horizontalAdvance(basis) + 1 if basis else 0.0
        if metrics.horizontalAdvance(name) + theme.px(8) + basis_width <= room and basis:
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
