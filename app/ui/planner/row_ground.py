"""What lies below the words of a planner's row, and the mark around a cell."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter

from app.ui.planner.columns import Column
from app.ui.theme import Theme
from inspector.widgets.drawing import mirrored

__all__ = ["draw_ground", "draw_mark"]


def draw_ground(
    painter: QPainter,
    theme: Theme,
    size: QSize,
    *,
    flip: bool,
    chosen: bool,
    focused: bool,
    hovered: bool,
) -> None:
    """Draw the line above a row, its ground, and what marks it."""
    painter.fillRect(0, 0, size.width(), 1, theme.colour("line"))
    edge = theme.px(8)
    ground = QRectF(-edge, 1, size.width() + 2 * edge, size.height() - 1)
    if hovered or focused:
        painter.fillRect(ground, theme.colour("hover"))
    if chosen or focused:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("accent" if focused else "line_strong"))
        bar = QRectF(0, theme.px(10), theme.px(3), size.height() - theme.px(20))
        painter.drawRoundedRect(mirrored(bar, float(size.width()), flip), 1.5, 1.5)


def draw_mark(painter: QPainter, theme: Theme, size: QSize, column: Column, *, flip: bool) -> None:
    """Draw a frame around the cell that the keyboard is in."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(theme.colour("accent"))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    gap = theme.px(4)
    rect = QRectF(
        column.start - gap, theme.px(6), column.width + 2 * gap, size.height() - theme.px(12)
    )
    rect = rect.intersected(QRectF(0.5, 0.5, size.width() - 1, size.height() - 1))
    painter.drawRoundedRect(mirrored(rect, float(size.width()), flip), 5, 5)
