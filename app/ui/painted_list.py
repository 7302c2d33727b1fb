"""What lists that draw their rows themselves share: how they scroll, a row's ground, its sides."""

from __future__ import annotations

from typing import TypeAlias

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt, Slot
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyleOptionViewItem, QWidget

from app.ui.theme import Theme, ThemeManager

__all__ = ["Index", "PaintedList", "leading_side", "paint_ground"]

Index: TypeAlias = QModelIndex | QPersistentModelIndex

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute


class PaintedList(QListView):
    """A list without a frame that scrolls by pixels and lays out again with each theme."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "plain")
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        themes.changed.connect(self._follow_theme)

    @Slot()
    def _follow_theme(self) -> None:
        self.doItemsLayout()


def paint_ground(
    painter: QPainter,
    theme: Theme,
    box: QRectF,
    radius_px: int,
    *,
    raised: bool,
    hovered: bool,
    ringed: bool = False,
) -> None:
    """Draw what lies behind a row's text: raised, else hovered, else nothing; a ring for the focus.

    Args:
        painter: what draws; its pen and brush are others afterwards.
        theme: gives colours and sizes.
        box: where, in the painter's pixels.
        radius_px: of the corners, at the usual text size.
        raised: the row is the open or the chosen one.
        hovered: the pointer is on it.
        ringed: the keyboard is on it.
    """
    radius = theme.px(radius_px)
    if raised or hovered:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("raised" if raised else "hover"))
        painter.drawRoundedRect(box, radius, radius)
    if ringed:
        painter.setPen(theme.colour("accent"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def leading_side(option: QStyleOptionViewItem) -> Qt.AlignmentFlag:
    """Return the side where the window's reading begins, whatever a title's own direction is."""
    return _RIGHT if option.direction == Qt.LayoutDirection.RightToLeft else _LEFT
