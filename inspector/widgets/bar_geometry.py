"""Where the parts of a budget bar lie, in whole pixels: pure, so that it can be tested as numbers.

The bar stands for the device's capacity. What is over it makes the bar longer than the device:
then the bar stands for all that is used, and the device's end lies inside it. Of a device whose
capacity is unknown the bar shows the proportions of what is known to be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from inspector.views import BudgetView, SegmentKind

__all__ = ["BarGeometry", "Span", "bar_geometry"]

_LEAST_PX = 2


@dataclass(frozen=True, slots=True)
class Span:
    """A segment from ``start`` to ``end`` (pixels from the bar's beginning)."""

    index: int
    kind: SegmentKind
    start: int
    end: int

    @property
    def width(self) -> int:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class BarGeometry:
    """Spans without gaps; ``load_line_x`` and ``end_x`` None where they are not drawn.

    ``end_x`` is the device's end inside an over-full bar.
    """

    spans: tuple[Span, ...]
    load_line_x: int | None
    end_x: int | None

    def at(self, x: int) -> Span | None:
        """Return the span below a pixel."""
        return next((span for span in self.spans if span.start <= x < span.end), None)


def bar_geometry(view: BudgetView, width_px: int) -> BarGeometry:
    """Return the bar of a budget, ``width_px`` long.

    Every segment that is not empty gets two pixels at least, taken from the largest. Segments
    that do not add up to the capacity leave the rest of the bar bare.
    """
    shown = [(index, item) for index, item in enumerate(view.segments) if item.size_bytes > 0]
    over = view.over_bytes > 0
    if over:
        # There is no free memory on an over-full device, whatever the view says.
        shown = [(index, item) for index, item in shown if item.kind != "free"]
    known = sum(item.size_bytes for _, item in shown)
    scale = max(known, view.total_bytes or 0)
    if scale <= 0 or width_px <= 0:
        return BarGeometry((), None, None)
    widths = _whole_widths([item.size_bytes * width_px / scale for _, item in shown])
    spans, x = [], 0
    for (index, item), width in zip(shown, widths, strict=True):
        spans.append(Span(index, item.kind, x, min(x + width, width_px)))
        x += width
    if view.total_bytes is None:
        return BarGeometry(tuple(spans), None, None)
    line = round(view.load_line * view.total_bytes / scale * width_px)
    end = round(view.total_bytes / scale * width_px) if over else None
    return BarGeometry(tuple(spans), line, end)


def _whole_widths(exact: list[float]) -> list[int]:
    """Round lengths so that their edges lie where the exact ones do; none vanishes."""
    edges, total = [0], 0.0
    for value in exact:
        total += value
        edges.append(round(total))
    widths = [after - before for before, after in pairwise(edges)]
    for index, width in enumerate(widths):
        missing = _LEAST_PX - width
        largest = max(range(len(widths)), key=widths.__getitem__)
        if missing > 0 and widths[largest] > _LEAST_PX + missing:
            widths[index] += missing
            widths[largest] -= missing
    return widths
