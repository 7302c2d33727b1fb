"""The bar of one device's memory, with its load line."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gguf_tools.units import format_bytes
from inspector.views import BudgetView, SegmentKind
from inspector.widgets.bar_geometry import BarGeometry, Span, bar_geometry
from inspector.widgets.drawing import draw_text, hatch_brush, mirrored, rounded_ends
from inspector.widgets.palette import Palette
from inspector.widgets.pictured import Pictured
from inspector.widgets.text import fill, grouped, joined, segment_name, segment_tip, tip

__all__ = ["FREE_OPACITY", "BudgetBar"]

# What is free is drawn quietly, so that what is used stands out.
FREE_OPACITY = 0.35

_BAR_PX = 24
_DETAIL_PX = 12
_OVERHANG_PX = 4
_LABEL_PX = 10.5


class BudgetBar(Pictured):
    """Segments as long as their share; a click or the pointer names one.

    Signals:
        pointed(int index): the pointer is over the segment of that index, -1 over none.
    """

    pointed = Signal(int)

    def __init__(
        self, palette: Palette, parent: QWidget | None = None, *, is_detail: bool = False
    ) -> None:
        """``is_detail`` draws a low bar without lines and labels: a part of another, enlarged."""
        super().__init__(palette, parent)
        self._is_detail = is_detail
        self._bar_px = _DETAIL_PX if is_detail else _BAR_PX
        self._view: BudgetView | None = None
        self._geometry = BarGeometry((), None, None)
        self._marked = -1
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def geometry_px(self) -> BarGeometry:
        """Where the parts lie at the present width."""
        return self._geometry

    def set_view(self, view: BudgetView) -> None:
        """Show a budget; redraws only if a pixel or a label differs."""
        before = (self._geometry, self._labels(self._view) if self._view else None)
        self._view = view
        self._geometry = bar_geometry(view, self.width())
        if before != (self._geometry, self._labels(view)):
            self.update()
        parts = [
            f"{segment_name(item.kind)} {format_bytes(item.size_bytes)}" for item in view.segments
        ]
        self.setAccessibleName(f"{view.name}: {joined(parts)}")

    def set_marked(self, index: int) -> None:
        """Set one segment off, because its row has the keyboard or the pointer."""
        if index != self._marked:
            self._marked = index
            self.update()

    def sizeHint(self) -> QSize:
        """Return the bar with the line of labels below it."""
        theme = self.theme
        if self._is_detail:
            return QSize(theme.px(200), theme.px(_DETAIL_PX + 2 * _OVERHANG_PX))
        labels = QFontMetricsF(theme.font(_LABEL_PX)).height()
        return QSize(theme.px(200), theme.px(_BAR_PX + 2 * _OVERHANG_PX) + round(labels))

    def event(self, event: QEvent) -> bool:
        """Explain the segment below the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            span = self._span_at(event.pos().x())
            if span is not None and self._view is not None:
                lines = segment_tip(self._view.segments[span.index], self._view)
                QToolTip.showText(event.globalPos(), tip(lines), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say which segment the pointer is over."""
        span = self._span_at(event.position().toPoint().x())
        self.pointed.emit(-1 if span is None else span.index)

    def leaveEvent(self, event: QEvent) -> None:
        """Say that it is over none."""
        super().leaveEvent(event)
        self.pointed.emit(-1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the segments out anew."""
        super().resizeEvent(event)
        if self._view is not None:
            self._geometry = bar_geometry(self._view, self.width())

    def draw(self, painter: QPainter) -> None:
        """Draw well, segments, what is over, load line and labels."""
        view = self._view
        if view is None:
            return
        theme = self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(0, theme.px(_OVERHANG_PX), self.width(), theme.px(self._bar_px))
        painter.save()
        painter.setClipPath(rounded_ends(bar, theme.px(6)))
        painter.fillRect(bar, theme.colour("well"))
        for span in self._geometry.spans:
            self._draw_span(painter, bar, span)
        self._draw_over(painter, bar)
        painter.restore()
        self._draw_marked(painter, bar)
        if not self._is_detail:
            self._draw_lines(painter, bar, view)

    def label_rects(self) -> tuple[tuple[str, QRectF], ...]:
        """Return the labels below the bar and where they stand, for drawing and for tests."""
        if self._view is None:
            return ()
        theme = self.theme
        metrics = QFontMetricsF(theme.font(_LABEL_PX))
        load, over = self._labels(self._view)
        top = theme.px(_BAR_PX + 2 * _OVERHANG_PX)
        width = float(self.width())
        placed: list[tuple[str, QRectF]] = []
        right = width
        if over:
            size = metrics.horizontalAdvance(over)
            end = self._geometry.end_x or 0
            left = max(min(float(end), width - size), 0.0)
            placed.append((over, QRectF(left, top, size, metrics.height())))
            right = left - theme.px(10)
        if load and self._geometry.load_line_x is not None:
            size = metrics.horizontalAdvance(load)
            at = min(float(self._geometry.load_line_x + theme.px(2)), right)
            # Without room beside the other label the line says enough by itself.
            if at >= size:
                placed.append((load, QRectF(at - size, top, size, metrics.height())))
        return tuple(placed)

    def _labels(self, view: BudgetView) -> tuple[str, str]:
        if view.total_bytes is None:
            return "", self.tr("capacity unknown")
        load = fill(self.tr("load line %1 %"), grouped(round(view.load_line * 100)))
        over = fill(self.tr("over by %1"), format_bytes(view.over_bytes)) if view.over_bytes else ""
        return load, over

    def _span_at(self, x: int) -> Span | None:
        return self._geometry.at(self.width() - 1 - x if self.is_mirrored else x)

    def _place(self, bar: QRectF, start: float, end: float) -> QRectF:
        rect = QRectF(start, bar.top(), end - start, bar.height())
        return mirrored(rect, bar.width(), self.is_mirrored)

    def _draw_span(self, painter: QPainter, bar: QRectF, span: Span) -> None:
        rect = self._place(bar, span.start, span.end)
        if span.kind == "kv_reserved":
            theme = self.theme
            painter.setBrushOrigin(rect.topLeft())
            painter.fillRect(
                rect,
                hatch_brush(
                    theme.colour("kv_used"), theme.colour("kv_reserved"), self.devicePixelRatioF()
                ),
            )
        else:
            painter.fillRect(rect, self._colour(span.kind))

    def _colour(self, kind: SegmentKind) -> QColor:
        colour = self.theme.colour(kind)
        if kind == "free":
            colour.setAlphaF(FREE_OPACITY)
        return colour

    def _draw_over(self, painter: QPainter, bar: QRectF) -> None:
        """Lay stripes over what is beyond the device's end."""
        if self._geometry.end_x is None:
            return
        rect = self._place(bar, self._geometry.end_x, bar.width())
        danger = self.theme.colour("danger")
        clear = QColor(danger)
        clear.setAlphaF(0.45)
        tile = hatch_brush(danger, QColor(Qt.GlobalColor.transparent), self.devicePixelRatioF())
        painter.fillRect(rect, clear)
        painter.setBrushOrigin(rect.topLeft())
        painter.fillRect(rect, tile)

    def _draw_marked(self, painter: QPainter, bar: QRectF) -> None:
        span = next((item for item in self._geometry.spans if item.index == self._marked), None)
        if span is None:
            return
        rect = self._place(bar, span.start, span.end).adjusted(-1, -1, 1, 1)
        painter.setPen(QPen(self.theme.colour("ink"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect, 3, 3)

    def _draw_lines(self, painter: QPainter, bar: QRectF, view: BudgetView) -> None:
        theme = self.theme
        hang = theme.px(_OVERHANG_PX)
        for x, token in ((self._geometry.load_line_x, "ink"), (self._geometry.end_x, "danger")):
            if x is None:
                continue
            line = QRectF(x - 1, bar.top() - hang, 2, bar.height() + 2 * hang)
            painter.fillRect(mirrored(line, bar.width(), self.is_mirrored), theme.colour(token))
        painter.setFont(theme.font(_LABEL_PX))
        over = self._labels(view)[1]
        for text, rect in self.label_rects():
            is_alarm = text == over and view.over_bytes > 0
            painter.setPen(theme.colour("danger" if is_alarm else "dim"))
            place = mirrored(rect, float(self.width()), self.is_mirrored)
            draw_text(painter, place.adjusted(-1, 0, 1, 0), text)

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        if self._view is not None:
            self._geometry = bar_geometry(self._view, self.width())
