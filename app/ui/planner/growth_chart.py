"""What breaks first: weights, cache and buffers of one memory as the context grows."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from app.ui.chart import Chart
from app.ui.numbers import grouped
from app.ui.theme import ThemeManager
from gguf_tools.units import GIB, MIB, format_bytes
from inspector.planner_curves import GrowthCurve, GrowthPoint
from inspector.planner_words import tokens

__all__ = ["FILL_OPACITY", "GrowthChart"]

FILL_OPACITY: Final = 0.35
_ROUND: Final = (1, 2, 2.5, 5, 10)


class GrowthChart(Chart):
    """Areas for weights and cache, a line for all, and where the memory ends."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._curve: GrowthCurve | None = None
        self._top = 1.0
        self._step = 1.0
        self.setAccessibleName(self.tr("Memory as the context grows"))

    @property
    def curve(self) -> GrowthCurve | None:
        """What is drawn."""
        return self._curve

    def set_curve(self, curve: GrowthCurve | None) -> None:
        """Draw a curve, or nothing."""
        if curve == self._curve:
            return
        self._curve = curve
        if curve is not None:
            most = max(curve.points[-1].total_bytes, (curve.room_bytes or 0) * 1.02)
            self._step = _step(most)
            self._top = most * 1.08
            self.setAccessibleDescription(self.summary())
        self.update()

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to draw yet."""
        return self._curve is None

    def summary(self) -> str:
        """Return what the chart shows, in a sentence."""
        curve = self._curve
        if curve is None:
            return ""
        if curve.breaks_tokens is None:
            text = self.tr("Up to %1 tokens nothing breaks.")
            return text.replace("%1", grouped(curve.last_tokens))
        return self._break_text(curve)

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return quarters of the context."""
        if self._curve is None:
            return []
        last = self._curve.last_tokens
        marks = [(share, tokens(int(last * share))) for share in (0.25, 0.5, 0.75, 1.0)]
        return [(0.0, "0"), *marks]

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return round sizes."""
        found, value = [], 0.0
        while value <= self._top:
            found.append((value / self._top, _size(value)))
            value += self._step
        return found

    def snapped(self, share: float) -> float:
        """Return any place inside the axis."""
        return min(max(share, 0.0), 1.0)

    def crossings(self, share: float) -> list[tuple[float, str]]:
        """Return what the crosshair meets."""
        point = self._at_share(share)
        if point is None:
            return []
        weights = point.weights_bytes / self._top
        return [
            (weights, "weights"),
            ((point.weights_bytes + point.cache_bytes) / self._top, "kv_used"),
            (point.total_bytes / self._top, "compute"),
        ]

    def explanation(self, share: float) -> list[str]:
        """Return sizes at so many tokens."""
        point, curve = self._at_share(share), self._curve
        if point is None or curve is None:
            return []
        lines = [
            self.tr("%1 tokens a chat").replace("%1", grouped(point.tokens)),
            self.tr("Weights %1").replace("%1", format_bytes(point.weights_bytes)),
            self.tr("Cache %1").replace("%1", format_bytes(point.cache_bytes)),
            self.tr("Buffers and overhead %1").replace("%1", format_bytes(point.rest_bytes)),
        ]
        if curve.room_bytes is not None:
            left = curve.room_bytes - point.total_bytes
            text = (
                self.tr("%1 left of %2") if left >= 0 else self.tr("%1 more than the %2 there is")
            )
            sizes = (format_bytes(abs(left)), format_bytes(curve.room_bytes))
            lines.append(text.replace("%1", sizes[0]).replace("%2", sizes[1]))
        return lines

    def draw(self, painter: QPainter, area: QRectF) -> None:
        """Draw areas, lines and words."""
        curve = self._curve
        if curve is None:
            return
        taken: list[QRectF] = []
        self._draw_areas(painter, area, curve)
        self._draw_room(painter, area, curve, taken)
        if curve.breaks_tokens is not None:
            self._draw_break(painter, area, curve, taken)
        now = curve.now_tokens / curve.last_tokens
        if now <= 1:
            point = self._at_share(now)
            if point is not None:
                at = self.at(area, now, point.total_bytes / self._top)
                self.dot(painter, at, "ink", 3.5)
                text = self.tr("%1: %2").replace("%1", tokens(curve.now_tokens))
                text = text.replace("%2", format_bytes(point.total_bytes))
                beside = QPointF(at.x() - self.theme.px(6), at.y() - self.theme.px(19))
                self.word(painter, area, beside, text, "ink", before=True, taken=taken)

    def _draw_areas(self, painter: QPainter, area: QRectF, curve: GrowthCurve) -> None:
        points = curve.points
        last = curve.last_tokens

        def line(height: list[float]) -> list[QPointF]:
            return [
                self.at(area, point.tokens / last, value / self._top)
                for point, value in zip(points, height, strict=True)
            ]

        bottom = line([0.0] * len(points))
        weights = line([point.weights_bytes for point in points])
        cache = line([point.weights_bytes + point.cache_bytes for point in points])
        whole = line([point.total_bytes for point in points])
        areas = (
            (bottom, weights, "weights"),
            (weights, cache, "kv_used"),
            (cache, whole, "compute"),
        )
        for low, high, token in areas:
            path = QPainterPath(low[0])
            for at in high:
                path.lineTo(at)
            for at in reversed(low):
                path.lineTo(at)
            colour = self.theme.colour(token)
            colour.setAlphaF(FILL_OPACITY)
            painter.fillPath(path, colour)
        painter.setPen(QPen(self.theme.colour("compute"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(whole)

    def _draw_room(
        self, painter: QPainter, area: QRectF, curve: GrowthCurve, taken: list[QRectF]
    ) -> None:
        rows = (
            (curve.room_bytes, "ink", Qt.PenStyle.SolidLine, self.tr("%1 of memory")),
            (curve.line_bytes, "dim", Qt.PenStyle.DashLine, self.tr("load line")),
        )
        for size, token, style, text in rows:
            if size is None or size <= 0 or size > self._top:
                continue
            y = self.at(area, 0, size / self._top).y()
            painter.setPen(QPen(self.theme.colour(token), 1.5 if token == "ink" else 1, style))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            words = text.replace("%1", format_bytes(size))
            # On the side that the curve leaves free.
            at_end = curve.breaks_tokens is not None and curve.breaks_tokens < curve.last_tokens / 2
            x = area.right() if at_end else area.left() + self.theme.px(4)
            at = QPointF(x, y - self.theme.px(15) if token == "ink" else y + self.theme.px(1))
            self.word(painter, area, at, words, token, before=at_end, taken=taken)

    def _draw_break(
        self, painter: QPainter, area: QRectF, curve: GrowthCurve, taken: list[QRectF]
    ) -> None:
        share = (curve.breaks_tokens or 0) / curve.last_tokens
        y = (curve.room_bytes or 0) / self._top
        at = self.at(area, share, y)
        self.dot(painter, at, "danger", 5)
        is_right = share > 0.6
        gap = self.theme.px(10)
        beside = QPointF(at.x() - gap if is_right else at.x() + gap, at.y() + self.theme.px(5))
        text = self._break_text(curve)
        self.word(painter, area, beside, text, "danger", before=is_right, taken=taken)

    def _break_text(self, curve: GrowthCurve) -> str:
        if curve.cause == "weights" or not curve.breaks_tokens:
            return self.tr("The weights alone are too much")
        texts = {
            "cache": self.tr("%1 tokens: the cache, not the weights"),
            "compute": self.tr("%1 tokens: the scores, not the weights"),
        }
        text = texts.get(curve.cause, self.tr("%1 tokens: the cache, not the weights"))
        return text.replace("%1", grouped(curve.breaks_tokens))

    def _at_share(self, share: float) -> GrowthPoint | None:
        curve = self._curve
        if curve is None:
            return None
        wanted = share * curve.last_tokens
        before = curve.points[0]
        for point in curve.points[1:]:
            if wanted <= point.tokens:
                part = (wanted - before.tokens) / (point.tokens - before.tokens)
                return GrowthPoint(
                    round(wanted),
                    _between(before.weights_bytes, point.weights_bytes, part),
                    _between(before.cache_bytes, point.cache_bytes, part),
                    _between(before.rest_bytes, point.rest_bytes, part),
                )
            before = point
        return curve.points[-1]


def _between(low: int, high: int, share: float) -> int:
    return round(low + (high - low) * share)


def _step(most: float) -> float:
    """Return a round step that divides ``most`` bytes into three to five."""
    unit = GIB if most >= GIB else MIB
    rough = most / unit / 4
    power = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else 0.1
    return unit * power * next(value for value in _ROUND if value * power >= rough)


def _size(value: float) -> str:
    if value == 0:
        return "0"
    number, _, unit = format_bytes(round(value)).partition(" ")
    return f"{float(number):g} {unit}"
