"""KV cache against tokens: what is used, the formula ahead, and where the budget ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from gguf_tools.units import format_bytes
from inspector.views import CurvePoint, GrowthView
from inspector.widgets.growth_geometry import Axes, axes, split_at_now, value_at
from inspector.widgets.palette import Palette
from inspector.widgets.plots.base import BasePlot, curve, dashed, solid
from inspector.widgets.plots.growth_labels import DOT_PX, GrowthLabels, has_end
from inspector.widgets.text import basis_sentence, fill, grouped, numbered, tokens_short

__all__ = ["Plot"]

# Faint lines behind a label show through a little: it hides them, but does not cut them.
_PLATE_OPACITY = 0.75


class Plot(BasePlot):
    """The growth plot. Its marks: now (dot), the budget's end (ring), kinks (small rings)."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._view: GrowthView | None = None
        self._axes: Axes | None = None
        self._used = curve()
        # Filling a smooth shape takes longer than all the rest; its edge lies below the line.
        self._fill = pg.PlotCurveItem(antialias=False)
        self._ahead = curve()
        self._drawn_now: CurvePoint | None = None
        self.words = GrowthLabels(self)
        self._budget = pg.InfiniteLine(0, angle=0)
        self._trained = pg.InfiniteLine(0, angle=90)
        self._window = pg.InfiniteLine(0, angle=90)
        self._others: list[pg.PlotCurveItem] = []
        for item in (
            self._fill,
            self._budget,
            self._trained,
            self._window,
            self._ahead,
            self._used,
        ):
            self.item.addItem(item)
        self.setAccessibleName(self.tr("Growth of the KV cache"))
        self.restyle()

    def set_view(self, view: GrowthView) -> None:
        """Draw a view; axes and formula are touched only when they differ."""
        old, self._view = self._view, view
        wanted = axes(view)
        if wanted != self._axes:
            self._axes = wanted
            self._set_axes(wanted)
        if old is None or old.alternatives != view.alternatives:
            self._set_others(view)
        if old is not None and self._is_step(old, view):
            self._layer.update(self.words.rewrite(view, wanted))
            return
        used, ahead = split_at_now(view)
        for item, points in ((self._used, used), (self._fill, used), (self._ahead, ahead)):
            _set(item, points)
        self._drawn_now = view.now
        self._budget.setVisible(wanted.shows_budget)
        self._budget.setValue(view.budget_bytes or 0)
        trained = view.trained_tokens
        self._trained.setVisible(trained is not None and trained < wanted.last_tokens)
        self._trained.setValue(trained or 0)
        self._window.setVisible(view.window_tokens < wanted.last_tokens)
        self._window.setValue(view.window_tokens)
        self.setAccessibleDescription(" ".join(self._summary(view)))
        self.words.place(view, wanted)
        self.redraw_layer()

    def draw_layer(self, painter: QPainter) -> None:
        """Draw marks and labels above the curves."""
        view, ends = self._view, self._axes
        if view is None or ends is None:
            return
        self._draw_marks(painter, view, ends)
        ascent = QFontMetricsF(self.font_of_labels()).ascent()
        plate = self.theme.colour("panel")
        plate.setAlphaF(_PLATE_OPACITY)
        for text, box, token in self.words.placed.values():
            behind = QRectF(box.left, box.top, box.width, box.height).adjusted(-1, 1, 1, -1)
            painter.fillRect(behind, plate)
            painter.setPen(self.theme.colour(token))
            painter.drawText(QPointF(box.left, box.top + ascent), text)
        super().draw_layer(painter)

    def crossings(self, x: float) -> list[tuple[float, str]]:
        """Return the formula's value, and those of the other cache types."""
        if self._view is None:
            return []
        lines = [(self._view.line, "kv_used")]
        lines += [(other.line, "faint") for other in self._view.alternatives]
        found = [(value_at(line, x), token) for line, token in lines]
        return [(value, token) for value, token in found if value is not None]

    def explanation(self, x: float) -> list[str]:
        """Return sizes at so many tokens, for every cache type."""
        view = self._view
        if view is None:
            return []
        size = value_at(view.line, x)
        lines = [numbered(round(x), self.tr("1 token"), self.tr("%n tokens"))]
        if size is not None:
            lines.append(f"{view.cache_type}: {format_bytes(round(size))}")
        for other in view.alternatives:
            value = value_at(other.line, x)
            if value is not None:
                lines.append(f"{other.cache_type}: {format_bytes(round(value))}")
        if size is not None and view.budget_bytes is not None:
            left = view.budget_bytes - round(size)
            text = self.tr("%1 of the budget left") if left >= 0 else self.tr("%1 over the budget")
            lines.append(fill(text, format_bytes(abs(left))))
        kink = next((item for item in view.kinks if abs(item.tokens - x) < self._near()), None)
        if kink is not None:
            lines.append(kink.label)
        lines.append(basis_sentence(view.basis))
        return lines

    def restyle(self) -> None:
        """Set the pens."""
        theme = self.theme
        kv = theme.colour("kv_used")
        tint = QColor(kv)
        tint.setAlphaF(0.14)
        self._used.setPen(solid(kv, 2.5))
        self._fill.setPen(QPen(Qt.PenStyle.NoPen))
        self._fill.setFillLevel(0)
        self._fill.setBrush(tint)
        self._ahead.setPen(dashed(kv, 1.5))
        self._budget.setPen(dashed(theme.colour("warning"), 1, 4, 4))
        self._trained.setPen(dashed(theme.colour("faint"), 1, 2, 3))
        self._window.setPen(solid(theme.colour("dim"), 1))
        self._style_others()
        if self._axes is not None:
            self._set_axes(self._axes)
        self._place_words()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Find new places for the words."""
        super().resizeEvent(event)
        self._place_words()

    def _place_words(self) -> None:
        if self._view is not None and self._axes is not None:
            self.words.place(self._view, self._axes)

    def _is_step(self, old: GrowthView, view: GrowthView) -> bool:
        """Tell whether all that happened is less than half a pixel of growth."""
        now, drawn = view.now, self._drawn_now
        if now is None or drawn is None or old.now is None:
            return False
        if replace(old, now=now, fitting_tokens=view.fitting_tokens, used=view.used) != view:
            return False
        at = self.to_px(now.tokens, now.size_bytes) - self.to_px(drawn.tokens, drawn.size_bytes)
        return at.manhattanLength() < 0.5

    def _near(self) -> float:
        return 0.02 * (self._axes.last_tokens if self._axes is not None else 1)

    def _set_axes(self, ends: Axes) -> None:
        self.set_axes(
            ends.last_tokens,
            ends.last_bytes,
            [(tick, tokens_short(tick)) for tick in ends.token_ticks],
            [(tick, format_tick(tick)) for tick in ends.byte_ticks],
        )

    def _set_others(self, view: GrowthView) -> None:
        for item in self._others:
            self.item.removeItem(item)
        self._others = []
        for other in view.alternatives:
            item = curve()
            item.setZValue(-5)
            _set(item, other.line)
            self.item.addItem(item)
            self._others.append(item)
        self._style_others()

    def _style_others(self) -> None:
        colour = self.theme.colour("faint")
        colour.setAlphaF(0.55)
        for item in self._others:
            item.setPen(solid(colour, 1))

    def _draw_marks(self, painter: QPainter, view: GrowthView, ends: Axes) -> None:
        for kink in view.kinks:
            value = value_at(view.line, kink.tokens)
            if value is not None:
                self._draw_ring(painter, self.to_px(kink.tokens, value), "kv_used", 2.5)
        if has_end(view, ends):
            self._draw_ring(painter, self.words.point_of("end", view), "warning", 3.5)
        if view.now is not None and view.now.tokens > 0:
            self.draw_dot(painter, self.words.point_of("now", view), "ink", DOT_PX)

    def _draw_ring(self, painter: QPainter, at: QPointF, token: str, radius_px: float) -> None:
        painter.setPen(QPen(self.theme.colour(token), 1.5))
        painter.setBrush(self.theme.colour("panel"))
        radius = self.theme.px(radius_px)
        painter.drawEllipse(at, radius, radius)

    def _summary(self, view: GrowthView) -> list[str]:
        lines = []
        if view.now is not None:
            lines.append(
                fill(
                    numbered(
                        view.now.tokens, self.tr("1 token takes %1."), self.tr("%n tokens take %1.")
                    ),
                    format_bytes(view.now.size_bytes),
                )
            )
        if view.budget_tokens is not None:
            lines.append(
                fill(self.tr("The budget ends at %1 tokens."), grouped(view.budget_tokens))
            )
        lines.append(fill(self.tr("The context ends at %1 tokens."), grouped(view.window_tokens)))
        return lines


def format_tick(size_bytes: int) -> str:
    """Return a size on the axis, without digits that say nothing."""
    if size_bytes == 0:
        return "0"
    value, _, unit = format_bytes(size_bytes).partition(" ")
    return f"{float(value):g} {unit}"


def _set(item: pg.PlotCurveItem, points: Sequence[CurvePoint]) -> None:
    item.setData([point.tokens for point in points], [point.size_bytes for point in points])
