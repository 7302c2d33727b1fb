"""Speed against faithfulness: tokens per second over the share of equal top tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPen

from app.ui.chart import Chart
from app.ui.compare.views import DotView

__all__ = ["FaithfulnessChart"]

_STEPS: Final = (1.0, 2.0, 5.0)


class FaithfulnessChart(Chart):
    """A dot a variant: further up is faster, further right is nearer to the reference."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._dots: tuple[DotView, ...] = ()
        self._left = 0.9
        self._top = 1.0

    def set_dots(self, dots: tuple[DotView, ...]) -> None:
        """Show variants."""
        self._dots = tuple(sorted(dots, key=lambda dot: dot.same_top))
        if dots:
            lowest = min(dot.same_top - dot.error for dot in dots)
            self._left = max(0.0, min(lowest - 0.02, 0.98))
            self._top = max(dot.per_s for dot in dots) * 1.2
        self.setAccessibleDescription(" ".join(self._words(dot) for dot in self._dots))
        self.update()

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to draw yet."""
        return not self._dots

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return shares of equal top tokens."""
        span = 1.0 - self._left
        step = next((s / 100 for s in (1, 2, 5, 10, 20) if span / (s / 100) <= 5), 0.25)
        ticks = []
        at = 1.0
        while at >= self._left - 1e-9:
            ticks.append((self._x(at), f"{at * 100:.0f} %"))
            at -= step
        return ticks[::-1]

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return rates."""
        step = _nice(self._top / 3)
        count = int(self._top / step)
        return [(index * step / self._top, f"{index * step:g}") for index in range(count + 1)]

    def draw(self, painter: QPainter, area: QRectF) -> None:
        """Draw the dots, the line through them, and their names."""
        theme = self.theme
        points = [self.at(area, self._x(d.same_top), d.per_s / self._top) for d in self._dots]
        painter.setPen(QPen(theme.colour("line_strong"), 1.2))
        for one, other in pairwise(points):
            painter.drawLine(one, other)
        taken: list[QRectF] = []
        radius = theme.px(7)
        for dot, at in zip(self._dots, points, strict=True):
            if dot.error > 0:
                low = self.at(area, self._x(dot.same_top - dot.error), dot.per_s / self._top)
                high = self.at(
                    area, self._x(min(dot.same_top + dot.error, 1.0)), dot.per_s / self._top
                )
                painter.setPen(QPen(theme.colour("faint"), 1.5))
                painter.drawLine(low, high)
            self.dot(painter, at, dot.colour, 7)
            taken.append(QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius))
        for dot, at in zip(self._dots, points, strict=True):
            place = QPointF(at.x() + theme.px(12), at.y() - theme.px(18))
            self.word(painter, area, place, dot.label, "ink", taken=taken)

    def snapped(self, share: float) -> float:
        """Return the nearest dot."""
        return min((self._x(dot.same_top) for dot in self._dots), key=lambda x: abs(x - share))

    def stepped(self, share: float, by: int) -> float:
        """Return the next dot."""
        places = sorted(self._x(dot.same_top) for dot in self._dots)
        index = min(range(len(places)), key=lambda i: abs(places[i] - share))
        return places[min(max(index + by, 0), len(places) - 1)]

    def explanation(self, share: float) -> list[str]:
        """Say what a dot is."""
        dot = min(self._dots, key=lambda d: abs(self._x(d.same_top) - share))
        return [dot.label, self._words(dot)]

    def _words(self, dot: DotView) -> str:
        return self.tr(
            "{0}: {1:.1f} tokens per second; same top token on {2:.1f} % ± {3:.1f}."
        ).format(dot.label, dot.per_s, dot.same_top * 100, dot.error * 100)

    def _x(self, same_top: float) -> float:
        span = 1.0 - self._left
        return (same_top - self._left) / (span * 1.06) if span else 0.5


def _nice(value: float) -> float:
    if value <= 0:
        return 1.0
    scale = 1.0
    while value / scale >= 10:
        scale *= 10
    while value / scale < 1:
        scale /= 10
    return next((step * scale for step in _STEPS if value <= step * scale), 10 * scale)
