"""What the growth plot writes, and where: now, the budget, its end, the types of cache."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF
from PySide6.QtGui import QFontMetricsF

from gguf_tools.units import format_bytes
from inspector.views import CurvePoint, GrowthView
from inspector.widgets.growth_geometry import Axes, split_at_now, value_at
from inspector.widgets.placing import Box, Segment, Wish, around, place_labels
from inspector.widgets.plots.base import BasePlot
from inspector.widgets.text import fill, grouped, tokens_short

__all__ = ["DOT_PX", "GrowthLabels", "Label", "has_end"]

DOT_PX: Final = 4

Label = tuple[str, Box, str]
"""Text, place in the plot's pixels, colour."""

# Labels that change with every token.
_LIVE: Final = ("now", "budget")


class GrowthLabels:
    """Places labels when lines move, and rewrites them where they are when only words do."""

    def __init__(self, plot: BasePlot) -> None:
        self._plot = plot
        self.placed: dict[str, Label] = {}

    def place(self, view: GrowthView, ends: Axes) -> None:
        """Find a place for each label; one that finds none is left out.

        Where it is narrow, now is said in tokens alone rather than not at all.
        """
        texts = self._label_texts(view, ends)
        self.placed = self._placed(texts, view, ends)
        if view.now is not None and "now" in texts and "now" not in self.placed:
            short = fill(_tr("%1 tok"), grouped(view.now.tokens))
            texts["now"] = (short, texts["now"][1])
            self.placed = self._placed(texts, view, ends)

    def _placed(
        self, texts: dict[str, tuple[str, str]], view: GrowthView, ends: Axes
    ) -> dict[str, Label]:
        metrics = QFontMetricsF(self._plot.font_of_labels())
        height = metrics.height()
        area = self._plot.area()
        bounds = Box(area.left(), area.top() - height / 2, area.width() + 6, area.height() + height)
        wishes = [
            Wish(key, self._places(key, metrics.horizontalAdvance(text), height, view, ends))
            for key, (text, _) in texts.items()
        ]
        half = self._plot.theme.px(DOT_PX)
        obstacles = [
            Box(point.x() - half, point.y() - half, 2 * half, 2 * half)
            for point in self.mark_points(view, ends)
        ]
        placed = place_labels(wishes, bounds, obstacles, self._lines(view, ends))
        return {key: (texts[key][0], box, texts[key][1]) for key, box in placed.items()}

    def rewrite(self, view: GrowthView, ends: Axes) -> QRect:
        """Write new words, in the same places if they are as long; return what to draw anew."""
        before = self._live_rect()
        texts = self._label_texts(view, ends)
        metrics = QFontMetricsF(self._plot.font_of_labels())
        same = all(
            key in texts and abs(metrics.horizontalAdvance(texts[key][0]) - box.width) < 0.5
            for key, (_, box, _) in self.placed.items()
            if key in _LIVE
        )
        if not same:
            self.place(view, ends)
            return self._plot.rect()
        for key in _LIVE:
            if key in self.placed:
                text, token = texts[key]
                self.placed[key] = (text, self.placed[key][1], token)
        return before.united(self._live_rect())

    def mark_points(self, view: GrowthView, ends: Axes) -> list[QPointF]:
        """Return where dots and rings are drawn that labels keep off."""
        points = []
        if view.now is not None and view.now.tokens > 0:
            points.append(self.point_of("now", view))
        if has_end(view, ends):
            points.append(self.point_of("end", view))
        return points

    def point_of(self, key: str, view: GrowthView) -> QPointF:
        """Return where "now" or the budget's "end" is."""
        if key == "end":
            return self._plot.to_px(view.budget_tokens or 0, view.budget_bytes or 0)
        now = view.now or CurvePoint(0, 0)
        return self._plot.to_px(now.tokens, now.size_bytes)

    def _live_rect(self) -> QRect:
        rect = QRectF()
        for key in _LIVE:
            if key in self.placed:
                box = self.placed[key][1]
                rect = rect.united(QRectF(box.left, box.top, box.width, box.height))
        return rect.adjusted(-2, -2, 2, 2).toAlignedRect()

    def _label_texts(self, view: GrowthView, ends: Axes) -> dict[str, tuple[str, str]]:
        """Return text and colour by key, the most important first."""
        texts: dict[str, tuple[str, str]] = {}
        if view.now is not None and view.now.tokens > 0:
            now = fill(
                _tr("%1 tok · %2"), grouped(view.now.tokens), format_bytes(view.now.size_bytes)
            )
            texts["now"] = (now, "ink")
        if ends.shows_budget and view.budget_bytes is not None:
            left = view.budget_bytes - (view.now.size_bytes if view.now is not None else 0)
            text = _tr("budget left %1") if left >= 0 else _tr("over the budget by %1")
            if "now" not in texts and left > 0:
                text = _tr("budget %1")
            texts["budget"] = (fill(text, format_bytes(abs(left))), "warning")
        if has_end(view, ends):
            texts["end"] = (tokens_short(view.budget_tokens or 0), "warning")
        if view.trained_tokens is not None and view.trained_tokens < ends.last_tokens:
            texts["trained"] = (
                fill(_tr("trained %1"), tokens_short(view.trained_tokens)),
                "faint",
            )
        if view.window_tokens < ends.last_tokens:
            texts["window"] = (
                fill(_tr("context %1"), tokens_short(view.window_tokens)),
                "dim",
            )
        for number, other in enumerate(view.alternatives):
            texts[f"type{number}"] = (other.cache_type, "faint")
        return texts

    def _places(
        self, key: str, width: float, height: float, view: GrowthView, ends: Axes
    ) -> tuple[Box, ...]:
        area = self._plot.area()
        if key == "budget":
            y = self._plot.to_px(0, view.budget_bytes or 0).y()
            starts = (area.right() - width, area.left() + 4, area.center().x() - width / 2)
            return tuple(
                Box(x, top, width, height) for top in (y - height - 1, y + 2) for x in starts
            )
        if key in {"trained", "window"}:
            at = view.window_tokens if key == "window" else view.trained_tokens or 0
            x = self._plot.to_px(at, 0).x()
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
                    point = self._plot.to_px(tokens, value)
                    left = min(point.x() - width / 2, area.right() - width)
                    boxes += [
                        Box(left, point.y() + 2, width, height),
                        Box(left, point.y() - height - 2, width, height),
                    ]
            return tuple(boxes)
        point = self.point_of(key, view)
        places = around(point.x(), point.y(), width, height, self._plot.theme.px(DOT_PX) + 3)
        # Beside the edge a label may stand askew of its point rather than on a line.
        pulled = tuple(
            Box(min(max(box.left, area.left() + 2), area.right() - width), box.top, width, height)
            for box in places[:2]
        )
        # At the beginning of a chat the lines run together: above them there is room.
        lifted = tuple(
            Box(area.left() + 4, point.y() - rise * height, width, height) for rise in (2.6, 3.4)
        )
        is_beginning = key == "now" and point.x() - area.left() < width
        return places + pulled + (lifted if is_beginning else ())

    def _lines(self, view: GrowthView, ends: Axes) -> list[tuple[Segment, float]]:
        """Return what labels should keep off, and how much it matters."""
        segments: list[tuple[Segment, float]] = []
        lines = [(line, 2.0) for line in split_at_now(view)]
        lines += [(other.line, 0.5) for other in view.alternatives]
        for line, weight in lines:
            points = [self._plot.to_px(point.tokens, point.size_bytes) for point in line]
            segments += [((a.x(), a.y(), b.x(), b.y()), weight) for a, b in pairwise(points)]
        area = self._plot.area()
        segments.append(((area.left(), area.bottom(), area.right(), area.bottom()), 3.0))
        if ends.shows_budget:
            y = self._plot.to_px(0, view.budget_bytes or 0).y()
            segments.append(((area.left(), y, area.right(), y), 4.0))
        return segments


def has_end(view: GrowthView, ends: Axes) -> bool:
    """Tell whether the budget ends somewhere on the axis, and not at its very beginning."""
    return view.budget_tokens is not None and 0 < view.budget_tokens <= ends.last_tokens


def _tr(text: str) -> str:
    return QCoreApplication.translate("Inspector", text)
