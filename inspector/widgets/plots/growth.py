"""KV cache against tokens: what is used, the formula ahead, and where the budget ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from gguf_tools.units import format_bytes
from inspector.views import CurvePoint, GrowthView
from inspector.widgets.growth_geometry import Axes, axes, split_at_now, value_at
from inspector.widgets.palette import Palette
from inspector.widgets.placing import Box, Segment, Wish, around, place_labels
from inspector.widgets.plots.base import BasePlot, curve, dashed, solid
from inspector.widgets.text import basis_sentence, fill, grouped, tokens_short

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
        self._ahead = curve()
        self._budget = pg.InfiniteLine(0, angle=0)
        self._trained = pg.InfiniteLine(0, angle=90)
        self._others: list[pg.PlotCurveItem] = []
        for item in (self._budget, self._trained, self._ahead, self._used):
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
        used, ahead = split_at_now(view)
        _set(self._used, used)
        _set(self._ahead, ahead)
        self._budget.setVisible(wanted.shows_budget)
        self._budget.setValue(view.budget_bytes or 0)
        trained = view.trained_tokens
        self._trained.setVisible(trained is not None and trained < wanted.last_tokens)
        self._trained.setValue(trained or 0)
        self.setAccessibleDescription(" ".join(self._summary(view)))
        self.redraw_layer()

    def labels(self) -> dict[str, tuple[str, Box, str]]:
        """Return text, place and colour of each label that has a place."""
        view, ends = self._view, self._axes
        if view is None or ends is None:
            return {}
        texts = self._label_texts(view, ends)
        metrics = QFontMetricsF(self.font_of_labels())
        height = metrics.height()
        area = self.area()
        bounds = Box(area.left(), area.top() - height / 2, area.width() + 6, area.height() + height)
        wishes = [
            Wish(key, self._places(key, metrics.horizontalAdvance(text), height, view, ends))
            for key, (text, _) in texts.items()
        ]
        lines = self._lines(view, ends)
        obstacles = [
            Box(point.x() - 4, point.y() - 4, 8, 8) for point in self._mark_points(view, ends)
        ]
        placed = place_labels(wishes, bounds, obstacles, lines)
        return {key: (texts[key][0], box, texts[key][1]) for key, box in placed.items()}

    def draw_layer(self, painter: QPainter) -> None:
        """Draw marks and labels above the curves."""
        view, ends = self._view, self._axes
        if view is None or ends is None:
            return
        self._draw_marks(painter, view, ends)
        ascent = QFontMetricsF(self.font_of_labels()).ascent()
        plate = self.theme.colour("panel")
        plate.setAlphaF(_PLATE_OPACITY)
        for text, box, token in self.labels().values():
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
        lines = [fill(self.tr("%1 tokens"), grouped(round(x)))]
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
        self._used.setFillLevel(0)
        self._used.setBrush(tint)
        self._ahead.setPen(dashed(kv, 1.5))
        self._budget.setPen(dashed(theme.colour("warning"), 1, 4, 4))
        self._trained.setPen(dashed(theme.colour("faint"), 1, 2, 3))
        self._style_others()
        if self._axes is not None:
            self._set_axes(self._axes)

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

    def _label_texts(self, view: GrowthView, ends: Axes) -> dict[str, tuple[str, str]]:
        """Return text and colour by key, the most important first."""
        texts: dict[str, tuple[str, str]] = {}
        if view.now is not None:
            now = fill(
                self.tr("%1 tok · %2"), grouped(view.now.tokens), format_bytes(view.now.size_bytes)
            )
            texts["now"] = (now, "ink")
        if ends.shows_budget and view.budget_bytes is not None:
            left = view.budget_bytes - (view.now.size_bytes if view.now is not None else 0)
            text = self.tr("budget left %1") if left >= 0 else self.tr("over the budget by %1")
            if view.now is None:
                text = self.tr("budget %1")
            texts["budget"] = (fill(text, format_bytes(abs(left))), "warning")
        if view.budget_tokens is not None and view.budget_tokens <= ends.last_tokens:
            texts["end"] = (tokens_short(view.budget_tokens), "warning")
        if view.trained_tokens is not None and view.trained_tokens < ends.last_tokens:
            texts["trained"] = (
                fill(self.tr("trained %1"), tokens_short(view.trained_tokens)),
                "faint",
            )
        for number, other in enumerate(view.alternatives):
            texts[f"type{number}"] = (other.cache_type, "faint")
        return texts

    def _places(
        self, key: str, width: float, height: float, view: GrowthView, ends: Axes
    ) -> tuple[Box, ...]:
        area = self.area()
        if key == "budget":
            y = self.to_px(0, view.budget_bytes or 0).y()
            starts = (area.right() - width, area.left() + 4, area.center().x() - width / 2)
            return tuple(
                Box(x, top, width, height) for top in (y - height - 1, y + 2) for x in starts
            )
        if key == "trained":
            x = self.to_px(view.trained_tokens or 0, 0).x()
            return tuple(
                Box(left, top, width, height)
                for top in (area.bottom() - height - 2, area.top(), area.center().y())
                for left in (x + 4, x - 4 - width)
            )
        if key.startswith("type"):
            line = view.alternatives[int(key.removeprefix("type"))].line
            shares = (1.0, 0.85, 0.7, 0.55, 0.4)
            boxes = []
            for share in shares:
                tokens = ends.last_tokens * share
                value = value_at(line, tokens)
                if value is not None:
                    point = self.to_px(tokens, value)
                    left = min(point.x() - width / 2, area.right() - width)
                    boxes += [
                        Box(left, point.y() + 2, width, height),
                        Box(left, point.y() - height - 2, width, height),
                    ]
            return tuple(boxes)
        point = self._point_of(key, view)
        places = around(point.x(), point.y(), width, height, self.theme.px(6))
        # Beside the edge a label may stand askew of its point rather than on a line.
        pulled = tuple(
            Box(min(max(box.left, area.left() + 2), area.right() - width), box.top, width, height)
            for box in places[:2]
        )
        return places + pulled

    def _point_of(self, key: str, view: GrowthView) -> QPointF:
        if key == "end":
            return self.to_px(view.budget_tokens or 0, view.budget_bytes or 0)
        now = view.now or CurvePoint(0, 0)
        return self.to_px(now.tokens, now.size_bytes)

    def _lines(self, view: GrowthView, ends: Axes) -> list[tuple[Segment, float]]:
        """Return what labels should keep off, and how much it matters."""
        segments: list[tuple[Segment, float]] = []
        lines = [(line, 2.0) for line in split_at_now(view)]
        lines += [(other.line, 0.5) for other in view.alternatives]
        for line, weight in lines:
            points = [self.to_px(point.tokens, point.size_bytes) for point in line]
            segments += [((a.x(), a.y(), b.x(), b.y()), weight) for a, b in pairwise(points)]
        area = self.area()
        if ends.shows_budget:
            y = self.to_px(0, view.budget_bytes or 0).y()
            segments.append(((area.left(), y, area.right(), y), 4.0))
        return segments

    def _mark_points(self, view: GrowthView, ends: Axes) -> list[QPointF]:
        points = []
        if view.now is not None:
            points.append(self._point_of("now", view))
        if view.budget_tokens is not None and view.budget_tokens <= ends.last_tokens:
            points.append(self._point_of("end", view))
        return points

    def _draw_marks(self, painter: QPainter, view: GrowthView, ends: Axes) -> None:
        for kink in view.kinks:
            value = value_at(view.line, kink.tokens)
            if value is not None:
                self._draw_ring(painter, self.to_px(kink.tokens, value), "kv_used", 2.5)
        if view.budget_tokens is not None and view.budget_tokens <= ends.last_tokens:
            self._draw_ring(painter, self._point_of("end", view), "warning", 3.5)
        if view.now is not None:
            self.draw_dot(painter, self._point_of("now", view), "ink", 4)

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
                    self.tr("%1 tokens take %2."),
                    grouped(view.now.tokens),
                    format_bytes(view.now.size_bytes),
                )
            )
        if view.budget_tokens is not None:
            lines.append(
                fill(self.tr("The budget ends at %1 tokens."), grouped(view.budget_tokens))
            )
        lines.append(fill(self.tr("The window ends at %1 tokens."), grouped(view.window_tokens)))
        return lines


def format_tick(size_bytes: int) -> str:
    """Return a size on the axis, without digits that say nothing."""
    if size_bytes == 0:
        return "0"
    value, _, unit = format_bytes(size_bytes).partition(" ")
    return f"{float(value):g} {unit}"


def _set(item: pg.PlotCurveItem, points: Sequence[CurvePoint]) -> None:
    item.setData([point.tokens for point in points], [point.size_bytes for point in points])
