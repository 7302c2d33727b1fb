"""Small things that several widgets of the panel draw."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPixmap

__all__ = [
    "draw_chevron",
    "draw_text",
    "hatch_brush",
    "mirrored",
    "rounded_ends",
]

# Put together once: each "|" of flags costs as much as a short text.
_LINE = (
    int(Qt.AlignmentFlag.AlignVCenter)
    | int(Qt.AlignmentFlag.AlignAbsolute)
    | int(Qt.TextFlag.TextSingleLine)
)
_LEFT = int(Qt.AlignmentFlag.AlignLeft) | _LINE
_RIGHT = int(Qt.AlignmentFlag.AlignRight) | _LINE
_HATCH_PERIOD = 10
_HATCH_STROKE = 4.2


def mirrored(rect: QRectF, width: float, is_mirrored: bool) -> QRectF:
    """Return a rectangle as it lies when reading goes from right to left."""
    if not is_mirrored:
        return rect
    return QRectF(width - rect.right(), rect.top(), rect.width(), rect.height())


def hatch_brush(over: QColor, under: QColor, ratio: float = 1.0) -> QBrush:
    """Return slanted stripes of ``over`` on ``under``, for a screen's pixel ratio."""
    return QBrush(_hatch_tile(over.rgba(), under.rgba(), ratio))


@lru_cache(maxsize=32)
def _hatch_tile(over_rgba: int, under_rgba: int, ratio: float) -> QPixmap:
    """Return the tile, made once: bars are drawn at every frame of a window that is resized."""
    over, under = QColor.fromRgba(over_rgba), QColor.fromRgba(under_rgba)
    side = round(_HATCH_PERIOD * ratio)
    tile = QPixmap(side, side)
    tile.fill(under)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(over, _HATCH_STROKE * ratio, c=Qt.PenCapStyle.FlatCap))
    # Three strokes, so that the corners of the tile continue in its neighbours.
    for shift in (-side, 0, side):
        painter.drawLine(QPointF(shift - 2, -2), QPointF(shift + side + 2, side + 2))
    painter.end()
    tile.setDevicePixelRatio(ratio)
    return tile


def rounded_ends(rect: QRectF, radius: float) -> QPainterPath:
    """Return a rounded rectangle, to clip a bar to."""
    path = QPainterPath()
    path.addRoundedRect(rect, radius, radius)
    return path


def draw_text(painter: QPainter, rect: QRectF, text: str, *, at_end: bool = False) -> None:
    """Draw a line of text at the start or the end of a rectangle, whatever the direction.

    The rectangle is where it is on the screen; "start" follows the painter's direction.
    """
    direction = painter.layoutDirection()
    is_right = at_end != (direction == Qt.LayoutDirection.RightToLeft)
    # The order of its words is the text's own: "7.2 GiB" reads the same in any window.
    painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    painter.drawText(rect, _RIGHT if is_right else _LEFT, text)
    painter.setLayoutDirection(direction)


def draw_chevron(
    painter: QPainter, colour: QColor, centre: QPointF, size: float, *, is_open: bool, flip: bool
) -> None:
    """Draw the mark of a section: down when it is open, in reading direction when closed."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1.5, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
    half, quarter = size / 2, size / 4
    if is_open:
        offsets = ((-half, -quarter), (0.0, quarter), (half, -quarter))
    else:
        sign = -1.0 if flip else 1.0
        offsets = ((-quarter * sign, -half), (quarter * sign, 0.0), (-quarter * sign, half))
    painter.drawPolyline([QPointF(centre.x() + x, centre.y() + y) for x, y in offsets])
