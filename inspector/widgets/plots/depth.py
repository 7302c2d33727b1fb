"""Decode rate over the chat's depth, in the predicted band and below its ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from inspector.views import SpeedView
from inspector.widgets.growth_geometry import rounded_end, token_step
from inspector.widgets.palette import Palette
from inspector.widgets.plots.base import BasePlot, curve, dashed, solid
from inspector.widgets.text import fill, grouped, number, numbered, rate, tokens_short

__all__ = ["Plot"]

_MOST_DOTS = 24


def _goes_on(depths: Sequence[int]) -> NDArray[np.bool_]:
    """Tell of each point in the order of time whether a line leads from it to the next.

    None does where the chat got shorter: old messages left the context, or it went on from an
    earlier one. A line that ran back over the others would show a rate that grows with the depth.
    """
    found = np.zeros(len(depths), dtype=np.bool_)
    found[:-1] = [after >= before for before, after in pairwise(depths)]
    return found


class Plot(BasePlot):
    """Small: two labels on each axis, and dots where turns were measured, joined as time goes."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._view: SpeedView | None = None
        self._shape: tuple[object, ...] = ()
        self._low, self._high, self._ceiling, self._measured = curve(), curve(), curve(), curve()
        self._band = pg.FillBetweenItem(self._low, self._high)
        for item in (self._band, self._low, self._high, self._ceiling, self._measured):
            self.item.addItem(item)
        self.setAccessibleName(self.tr("Decode rate over the chat's depth"))
        self.restyle()

    def set_view(self, view: SpeedView) -> None:
        """Draw both series; nothing is touched while they are the same."""
        shape = (view.measured_over_depth, view.predicted_over_depth)
        if shape == self._shape:
            return
        self._shape = shape
        self._view = view
        predicted, measured = view.predicted_over_depth, view.measured_over_depth
        depths = [point.depth_tokens for point in predicted]
        self._low.setData(depths, [point.low for point in predicted])
        self._high.setData(depths, [point.high for point in predicted])
        self._ceiling.setData(depths, [point.ceiling for point in predicted])
        turns = [point.depth_tokens for point in measured]
        self._measured.setData(turns, [point.per_s for point in measured], connect=_goes_on(turns))
        self._set_axes(view)
        self.setAccessibleDescription(
            "; ".join(
                f"{grouped(point.depth_tokens)}: {rate(point.per_s)}" for point in measured[-8:]
            )
        )
        self.redraw_layer()

    def draw_layer(self, painter: QPainter) -> None:
        """Draw a dot at each turn, the last one largest; only that one where there are many."""
        if self._view is not None:
            points = self._view.measured_over_depth
            shown = points if len(points) <= _MOST_DOTS else points[-1:]
            for left, point in zip(range(len(shown) - 1, -1, -1), shown, strict=True):
                at = self.to_px(point.depth_tokens, point.per_s)
                self.draw_dot(painter, at, "free", 2.5 if left else 3.5)
        super().draw_layer(painter)

    def explanation(self, x: float) -> list[str]:
        """Return prediction and ceiling at a depth, and the nearest measurement."""
        view = self._view
        if view is None:
            return []
        lines = [
            numbered(round(x), self.tr("1 token in the cache"), self.tr("%n tokens in the cache"))
        ]
        for before, after in pairwise(view.predicted_over_depth):
            if before.depth_tokens <= x <= after.depth_tokens:
                span = after.depth_tokens - before.depth_tokens
                share = (x - before.depth_tokens) / span if span else 0.0
                low = before.low + share * (after.low - before.low)
                high = before.high + share * (after.high - before.high)
                ceiling = before.ceiling + share * (after.ceiling - before.ceiling)
                lines.append(fill(self.tr("predicted %1 to %2 tok/s"), number(low), number(high)))
                lines.append(fill(self.tr("ceiling %1"), rate(ceiling)))
                break
        if view.measured_over_depth:
            near = min(view.measured_over_depth, key=lambda point: abs(point.depth_tokens - x))
            lines.append(
                fill(
                    self.tr("measured %1 at %2"),
                    rate(near.per_s),
                    numbered(near.depth_tokens, self.tr("1 token"), self.tr("%n tokens")),
                )
            )
        return lines

    def restyle(self) -> None:
        """Set the pens."""
        theme = self.theme
        tint = QColor(theme.colour("dim"))
        tint.setAlphaF(0.22)
        edge = QColor(theme.colour("dim"))
        edge.setAlphaF(0.4)
        self._band.setBrush(tint)
        self._low.setPen(solid(edge, 1))
        self._high.setPen(solid(edge, 1))
        self._ceiling.setPen(dashed(theme.colour("faint"), 1, 3, 3))
        self._measured.setPen(solid(theme.colour("free"), 1.5))
        if self._view is not None:
            self._set_axes(self._view)

    def _set_axes(self, view: SpeedView) -> None:
        predicted, measured = view.predicted_over_depth, view.measured_over_depth
        last, top = 1, 1.0
        for point in predicted:
            last, top = max(last, point.depth_tokens), max(top, point.ceiling, point.high)
        for turn in measured:
            last, top = max(last, turn.depth_tokens), max(top, turn.per_s)
        last = rounded_end(last)
        step = token_step(last)
        self.set_axes(
            last,
            top * 1.12,
            [(tick, tokens_short(tick)) for tick in range(0, last + 1, step)],
            [(0, "0"), (top, number(top))],
        )
