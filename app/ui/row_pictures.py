"""Pictures of a list's rows, laid down again while a row says the same.

A window that is resized is drawn whole at each step, and its lists are then as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QPixmap

from app.ui.theme import Theme

__all__ = ["RowPictures"]

_MOST: Final = 128
"""Rows that are kept: some screens full."""


class RowPictures:
    """Keeps rows as they were drawn. ``ground`` is the token of what they lie on.

    Pictures are opaque, so that letters are smoothed as in the list itself.
    """

    def __init__(self, ground: str) -> None:
        self._ground = ground
        self._kept: dict[Hashable, QPixmap] = {}

    def paint(
        self,
        painter: QPainter,
        rect: QRect,
        theme: Theme,
        state: Hashable,
        draw: Callable[[QPainter, QRect], None],
    ) -> None:
        """Draw a row at a rectangle, with ``draw`` only where it has not been drawn so before.

        Args:
            painter: of the list.
            rect: where, in the list's pixels.
            theme: the theme in force.
            state: all that the row looks like follows from, beside size and theme.
            draw: draws the row with a painter at a rectangle.
        """
        ratio = painter.device().devicePixelRatio()
        if ratio != int(ratio):  # a picture would be blurred between the screen's pixels
            painter.save()
            draw(painter, rect)
            painter.restore()
            return
        key = (state, rect.width(), rect.height(), ratio, theme, painter.layoutDirection())
        picture = self._kept.get(key)
        if picture is None:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            picture = QPixmap(rect.size() * ratio)
            picture.setDevicePixelRatio(ratio)
            picture.fill(theme.colour(self._ground))
            inner = QPainter(picture)
            inner.setLayoutDirection(painter.layoutDirection())
            draw(inner, QRect(0, 0, rect.width(), rect.height()))
            inner.end()
            self._kept[key] = picture
        painter.drawPixmap(rect.topLeft(), picture)
