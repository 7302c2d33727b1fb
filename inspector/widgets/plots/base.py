"""What both plots share: a pyqtgraph plot in the theme, and a layer above it for marks and words.

Curves, ranges and axes are pyqtgraph's. Dots, labels and the crosshair are placed in pixels,
where overlaps can be seen, so they are drawn on a layer of their own. Plots always run from left
to right, as axes do everywhere.
"""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from inspector.widgets.palette import Painted, Palette
from inspector.widgets.plots.chart import Chart
from inspector.widgets.text import tip

__all__ = ["BasePlot", "curve", "dashed", "solid"]

_FONT_PX = 10.5
_KEY_STEPS = 32


def solid(colour: QColor, width: float) -> QPen:
    """Return a pen whose width is in pixels, whatever the axes' scales are."""
    pen = QPen(colour, width)
    pen.setCosmetic(True)
    return pen


def dashed(colour: QColor, width: float, dash: float = 3.0, gap: float = 3.0) -> QPen:
    """Return a pen of even dashes, measured in widths of the pen."""
    pen = QPen(colour, width)
    pen.setCosmetic(True)
    pen.setDashPattern([dash, gap])
    return pen


def curve() -> Any:
    """Return a smooth line without points."""
    return pg.PlotCurveItem(antialias=True)


class _Layer(QWidget):
    """Draws what its plot tells it, above the plot."""

    def __init__(self, plot: BasePlot) -> None:
        super().__init__(plot)
        self._plot = plot
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        painter.setFont(self._plot.font_of_labels())
        self._plot.draw_layer(painter)


class BasePlot(Painted):
    """A plot from 0 on both axes, with a crosshair for the pointer and the arrow keys."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self._last = (1.0, 1.0)
        self._axes_set: tuple[object, ...] | None = None
        self._cross: float | None = None
        self._chart = Chart(palette, self)
        self._chart.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._chart.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._chart.setStyleSheet("background: transparent;")
        self._chart.setFrameShape(self._chart.Shape.NoFrame)
        self.item = self._chart.getPlotItem()
        self.item.setMenuEnabled(False)
        self.item.hideButtons()
        self.item.setMouseEnabled(False, False)
        self.item.getViewBox().setDefaultPadding(0)
        self._layer = _Layer(self)
        for part in (self._chart, self.item, self._layer):
            part.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._grid: list[Any] = []
        self._style()

    # -- for plots ---------------------------------------------------------------------------

    def set_axes(
        self,
        last_x: float,
        last_y: float,
        x_ticks: list[tuple[float, str]],
        y_ticks: list[tuple[float, str]],
    ) -> None:
        """Set the ends of both axes and their labels; a line goes across at each of ``y_ticks``."""
        wanted = (last_x, last_y, x_ticks, y_ticks, self.theme)
        if wanted == self._axes_set:
            return
        self._axes_set = wanted
        self._last = (max(last_x, 1e-9), max(last_y, 1e-9))
        self.item.getAxis("bottom").setTicks([x_ticks])
        self.item.getAxis("left").setTicks([y_ticks])
        metrics = QFontMetricsF(self.font_of_labels())
        widest = max((metrics.horizontalAdvance(text) for _, text in y_ticks), default=0.0)
        self.item.getAxis("left").setWidth(widest + self.theme.px(8))
        self.item.setRange(xRange=(0, self._last[0]), yRange=(0, self._last[1]), padding=0)
        # Lines are moved rather than made: each one made or taken away is a round of all items.
        while len(self._grid) > len(y_ticks):
            self.item.removeItem(self._grid.pop())
        while len(self._grid) < len(y_ticks):
            line = pg.InfiniteLine(0, angle=0)
            line.setZValue(-10)
            self.item.addItem(line)
            self._grid.append(line)
        pen = solid(self.theme.colour("line"), 1)
        for line, (value, _) in zip(self._grid, y_ticks, strict=True):
            line.setValue(value)
            line.setPen(pen)

    def area(self) -> QRectF:
        """Return where the axes' rectangle is, in pixels of this widget."""
        self.item.layout.activate()
        return QRectF(self.item.getViewBox().sceneBoundingRect())

    def to_px(self, x: float, y: float) -> QPointF:
        """Return where a value is drawn."""
        area = self.area()
        return QPointF(
            area.left() + x / self._last[0] * area.width(),
            area.bottom() - y / self._last[1] * area.height(),
        )

    def font_of_labels(self) -> Any:
        """Return the font of everything that is written in a plot."""
        return self.theme.font(_FONT_PX)

    def redraw_layer(self) -> None:
        """Draw marks and words anew."""
        self._layer.update()

    def draw_layer(self, painter: QPainter) -> None:
        """Draw marks, words and the crosshair."""
        if self._cross is not None:
            area = self.area()
            x = self.to_px(self._cross, 0).x()
            painter.setPen(QPen(self.theme.colour("faint"), 1))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            for value, token in self.crossings(self._cross):
                self.draw_dot(painter, self.to_px(self._cross, value), token, 3.0)

    def draw_dot(self, painter: QPainter, at: QPointF, token: str, radius_px: float) -> None:
        """Draw a dot that stands off what is below it."""
        radius = self.theme.px(radius_px)
        painter.setPen(QPen(self.theme.colour("panel"), 1.5))
        painter.setBrush(self.theme.colour(token))
        painter.drawEllipse(at, radius, radius)

    def crossings(self, x: float) -> list[tuple[float, str]]:
        """Return value and colour of what the crosshair meets."""
        return []

    def explanation(self, x: float) -> list[str]:
        """Return what is to be said at a place of the axis."""
        return []

    def restyle(self) -> None:
        """Set pens and words anew after the theme has changed."""

    # -- events ------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fill the widget."""
        super().resizeEvent(event)
        self._chart.setGeometry(self.rect())
        self._layer.setGeometry(self.rect())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the crosshair and say what is there."""
        area = self.area()
        at = event.position()
        if not area.adjusted(-3, 0, 3, 0).contains(at):
            self._set_cross(None)
            QToolTip.hideText()
            return
        share = min(max((at.x() - area.left()) / max(area.width(), 1.0), 0.0), 1.0)
        self._set_cross(share * self._last[0])
        self._explain(event.globalPosition().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        """Take the crosshair away."""
        super().leaveEvent(event)
        self._set_cross(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the crosshair with the arrow keys."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        start = self._last[0] / 2 if self._cross is None else self._cross
        moved = start + step * self._last[0] / _KEY_STEPS
        self._set_cross(min(max(moved, 0.0), self._last[0]))
        if self._cross is not None:
            at = QPointF(self.to_px(self._cross, 0).x(), self.area().bottom()).toPoint()
            self._explain(self.mapToGlobal(at))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show where the keyboard is."""
        super().focusInEvent(event)
        self.redraw_layer()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take crosshair and explanation away."""
        super().focusOutEvent(event)
        self._set_cross(None)
        QToolTip.hideText()
        self.redraw_layer()

    def _explain(self, at: Any) -> None:
        if self._cross is not None:
            QToolTip.showText(at, tip(self.explanation(self._cross)), self)

    def _set_cross(self, x: float | None) -> None:
        if x != self._cross:
            self._cross = x
            self.redraw_layer()

    # -- theme -------------------------------------------------------------------------------

    def _style(self) -> None:
        theme = self.theme
        metrics = QFontMetricsF(self.font_of_labels())
        half = metrics.height() / 2
        self.item.layout.setContentsMargins(0, half, theme.px(14), 0)
        self.item.layout.setSpacing(0)
        for side in ("left", "bottom"):
            axis = self.item.getAxis(side)
            axis.setPen(QPen(Qt.PenStyle.NoPen))
            axis.setTextPen(QPen(theme.colour("faint")))
            axis.setStyle(
                tickLength=0,
                tickAlpha=0,
                tickFont=self.font_of_labels(),
                tickTextOffset=theme.px(5),
                hideOverlappingLabels=theme.px(40),
            )
        self.item.getAxis("bottom").setHeight(metrics.height() + theme.px(5))

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._style()
        self.restyle()
        self.redraw_layer()
