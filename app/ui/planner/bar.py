"""Paints the bar of one memory: its length is the memory, so load lines of rows stand in line."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from app.ui.chart import PLATE_OPACITY
from app.ui.planner.views import BarPart, BarView
from app.ui.theme import Theme
from inspector.widgets.drawing import hatch_brush, rounded_ends

__all__ = ["OVERHANG_PX", "draw_bar", "draw_bar_name", "part_at"]

OVERHANG_PX: Final = 4
_FREE_OPACITY: Final = 0.35
_LEAST_PX: Final = 2.0
_NAME_PX: Final = 10
_OVER_SHARE: Final = 0.035  # of the bar's length, at its end: more is needed than there is


def _spans(view: BarView, width: float) -> list[tuple[BarPart, float, float]]:
    """Return parts with start and end in pixels, cut off at the memory's end."""
    parts = [part for part in view.parts if part.size_bytes > 0]
    known = sum(part.size_bytes for part in parts)
    scale = view.total_bytes or known
    if scale <= 0:
        return []
    edges, total = [0.0], 0
    for part in parts:
        total += part.size_bytes
        edges.append(min(total / scale, 1.0) * width)
    return [
        (part, start, max(end, min(start + _LEAST_PX, width)))
        for part, (start, end) in zip(parts, pairwise(edges), strict=True)
        if start < width
    ]


def part_at(view: BarView, width: float, x: float) -> BarPart | None:
    """Return the part below a pixel of a bar ``width`` long."""
    return next((part for part, start, end in _spans(view, width) if start <= x < end), None)


def draw_bar(painter: QPainter, theme: Theme, rect: QRectF, view: BarView, ratio: float) -> None:
    """Draw well, parts, what does not fit, and the load line."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    radius = min(theme.px(6), rect.height() / 3)
    painter.setClipPath(rounded_ends(rect, radius))
    painter.fillRect(rect, theme.colour("well"))
    for part, start, end in _spans(view, rect.width()):
        colour = theme.colour(part.kind)
        if part.kind == "free":
            colour.setAlphaF(_FREE_OPACITY)
        painter.fillRect(
            QRectF(rect.left() + start, rect.top(), end - start, rect.height()), colour
        )
    if view.over_bytes > 0:
        size = max(rect.width() * _OVER_SHARE, theme.px(8))
        over = QRectF(rect.right() - size, rect.top(), size, rect.height())
        danger = theme.colour("danger")
        painter.fillRect(over, danger)
        painter.setBrushOrigin(over.topLeft())
        shade = QColor(0, 0, 0, 70)
        painter.fillRect(over, hatch_brush(shade, QColor(Qt.GlobalColor.transparent), ratio))
    painter.restore()
    if view.total_bytes is not None:
        x = rect.left() + view.load_line * rect.width()
        hang = theme.px(OVERHANG_PX)
        line = QRectF(round(x) - 1, rect.top() - hang, 2, rect.height() + 2 * hang)
        painter.fillRect(line, theme.colour("ink"))


def draw_bar_name(painter: QPainter, theme: Theme, rect: QRectF, name: str) -> None:
    """Write which memory a bar is, at its end, where bars stand above each other."""
    font = theme.font(_NAME_PX)
    metrics = QFontMetricsF(font)
    room = rect.width() * 0.4
    text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room)
    right = rect.left() + 0.9 * rect.width() - theme.px(6)
    width = metrics.horizontalAdvance(text)
    plate = QColor(theme.colour("panel"))
    plate.setAlphaF(PLATE_OPACITY)  # the parts below it have colours on which no word can be read
    side = theme.px(3)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(plate)
    box = QRectF(right - width - side, rect.top() + 1, width + 2 * side, rect.height() - 2)
    painter.drawRoundedRect(box, side, side)
    painter.restore()
    painter.setFont(font)
    painter.setPen(theme.colour("ink"))
    base = rect.center().y() + metrics.capHeight() / 2
    painter.drawText(QPointF(right - width, base), text)
