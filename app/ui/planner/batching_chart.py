"""More users, same weights: rates of all conversations together against their number."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from app.ui.chart import Chart
from app.ui.numbers import grouped, numbered
from app.ui.theme import ThemeManager
from inspector.planner_curves import BatchingCurve
from inspector.planner_rates import Rates
from inspector.planner_words import range_text

__all__ = ["BatchingChart"]

_ROUND: Final = (1, 2, 2.5, 5, 10)
_BAND_OPACITY: Final = 0.16


class BatchingChart(Chart):
    """The ceiling as a line, the realistic range as a band, and where caches fill the memory."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._curve: BatchingCurve | None = None
        self._points: tuple[Rates, ...] = ()
        self._top = 1.0
        self._step = 1.0
        self.setAccessibleName(self.tr("Tokens per second of more chats"))

    @property
    def curve(self) -> BatchingCurve | None:
        """What is drawn."""
        return self._curve

    def set_curve(self, curve: BatchingCurve | None) -> None:
        """Draw a curve, or nothing."""
        if curve == self._curve:
            return
        self._curve = curve
        self._points = ()
        if curve is not None:
            self._points = tuple(point for point in curve.points if point.ceiling is not None)
            most = max((point.ceiling or 0 for point in self._points), default=1.0)
            self._step = _step(most)
            self._top = max(most * 1.1, 1e-6)
            self.setAccessibleDescription(self.summary())
        self.update()

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to draw: also where the bandwidth is unknown."""
        return not self._points

    def summary(self) -> str:
        """Return what the chart shows, in a sentence."""
        if not self._points:
            return ""
        first, last = self._points[0], self._points[-1]
        text = self.tr("One chat: %1 tok/s at most; %2 together: %3.")
        values = (_rate(first), grouped(last.conversations), _rate(last))
        for place, value in enumerate(values, start=1):
            text = text.replace(f"%{place}", value)
        return text

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return powers of two."""
        if self._curve is None:
            return []
        last = self._curve.last_conversations
        count = last.bit_length()
        every = 1 if count <= 6 else 2
        return [(self._x(1 << n), grouped(1 << n)) for n in range(0, count, every)]

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return round rates."""
        found, value = [], 0.0
        while value <= self._top:
            found.append((value / self._top, grouped(round(value)) if value >= 1 else f"{value:g}"))
            value += self._step
        return found

    def snapped(self, share: float) -> float:
        """Return the place of the nearest whole number of conversations that was worked out."""
        return min(
            (self._x(item.conversations) for item in self._points), key=lambda x: abs(x - share)
        )

    def stepped(self, share: float, by: int) -> float:
        """Return the next number of conversations."""
        places = [self._x(item.conversations) for item in self._points]
        at = min(range(len(places)), key=lambda index: abs(places[index] - share))
        return places[min(max(at + by, 0), len(places) - 1)]

    def crossings(self, share: float) -> list[tuple[float, str]]:
        """Return the ceiling there."""
        point = self._at_share(share)
        return [] if point is None else [((point.ceiling or 0) / self._top, "good")]

    def explanation(self, share: float) -> list[str]:
        """Return rates of so many conversations."""
        point, curve = self._at_share(share), self._curve
        if point is None or curve is None:
            return []
        count = point.conversations
        lines = [numbered(count, self.tr("1 chat alone"), self.tr("%n chats at once"))]
        lines.append(
            self.tr("At most %1 tok/s in all, %2 for each")
            .replace("%1", _rate(point))
            .replace("%2", f"{(point.ceiling or 0) / count:.3g}")
        )
        if point.low is not None and point.high is not None:
            text = self.tr("Realistic: %1 tok/s in all")
            lines.append(text.replace("%1", range_text(point.low, point.high)))
        text = self.tr("A step reads %1 GB: the weights once, and %2 caches.")
        read = f"{point.bytes_per_step / 1e9:.3g}"
        lines.append(text.replace("%1", read).replace("%2", grouped(count)))
        if point.arithmetic:
            lines.append(self.tr("Arithmetic is the limit here, not bandwidth."))
        if curve.fit is not None and count > curve.fit:
            lines.append(self.tr("Their caches don't fit into the memory."))
        return lines

    def draw(self, painter: QPainter, area: QRectF) -> None:
        """Draw band, line, marks and words."""
        curve = self._curve
        if curve is None:
            return
        self._draw_band(painter, area)
        fit = curve.fit
        inside = [item for item in self._points if fit is None or item.conversations <= fit]
        beyond = [item for item in self._points if fit is not None and item.conversations >= fit]
        colour = self.theme.colour("good")
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour, 2.5, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        painter.drawPolyline([self._place(area, item) for item in inside])
        if len(beyond) > 1:
            faded = QPen(self.theme.colour("faint"), 1.5, Qt.PenStyle.DashLine)
            painter.setPen(faded)
            painter.drawPolyline([self._place(area, item) for item in beyond])
        self._draw_words(painter, area, curve)

    def _draw_band(self, painter: QPainter, area: QRectF) -> None:
        known = [item for item in self._points if item.low is not None and item.high is not None]
        if len(known) < 2:
            return
        low = [self.at(area, self._x(i.conversations), (i.low or 0) / self._top) for i in known]
        high = [self.at(area, self._x(i.conversations), (i.high or 0) / self._top) for i in known]
        path = QPainterPath(low[0])
        for at in (*high, *reversed(low)):
            path.lineTo(at)
        colour = self.theme.colour("good")
        colour.setAlphaF(_BAND_OPACITY)
        painter.fillPath(path, colour)
        metrics = painter.fontMetrics()
        middle = (low[-1].y() + high[-1].y()) / 2
        if low[-1].y() - high[-1].y() >= metrics.height():
            text = self.tr("realistic")
            left = area.right() - metrics.horizontalAdvance(text) - self.theme.px(6)
            painter.setPen(self.theme.colour("dim"))
            painter.drawText(QPointF(left, middle + metrics.capHeight() / 2), text)

    def _draw_words(self, painter: QPainter, area: QRectF, curve: BatchingCurve) -> None:
        taken: list[QRectF] = []
        marked = {1, curve.last_conversations}
        fit = curve.fit
        if fit is not None and 1 < fit <= curve.last_conversations:
            marked.add(fit)
            middle = min(self._points, key=lambda i: abs(i.conversations - math.sqrt(fit)))
            marked.add(middle.conversations)
        order = sorted(marked, key=lambda count: (count != fit, count != 1, count))
        for count in order:
            point = next((item for item in self._points if item.conversations == count), None)
            if point is None:
                continue
            at = self._place(area, point)
            is_full = count == fit
            is_beyond = fit is not None and count > fit
            self.dot(painter, at, "warning" if is_full else "faint" if is_beyond else "good", 3.5)
            text = f"{grouped(count)}: {_rate(point)}"
            if is_full:
                text = self.tr("%1, memory full").replace("%1", text)
            is_right = self._x(count) > 0.5
            gap = self.theme.px(7)
            beside = QPointF(at.x() + (-gap if is_right else gap), at.y() - self.theme.px(18))
            self.word(
                painter, area, beside, text, "dim" if is_beyond else "ink", before=is_right,
                taken=taken,
            )  # fmt: skip

    def _x(self, count: int) -> float:
        last = self._curve.last_conversations if self._curve is not None else 2
        return math.log2(count) / math.log2(last) if last > 1 else 0.0

    def _place(self, area: QRectF, point: Rates) -> QPointF:
        return self.at(area, self._x(point.conversations), (point.ceiling or 0) / self._top)

    def _at_share(self, share: float) -> Rates | None:
        if not self._points:
            return None
        return min(self._points, key=lambda item: abs(self._x(item.conversations) - share))


def _rate(point: Rates) -> str:
    value = point.ceiling or 0.0
    return grouped(round(value)) if value >= 9.95 else f"{value:.2g}"


def _step(most: float) -> float:
    rough = max(most, 1e-6) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(value for value in _ROUND if value * power >= rough * 0.999)
