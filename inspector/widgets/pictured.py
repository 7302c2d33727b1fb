"""Widgets of the panel that keep a picture of themselves.

A window that is resized is drawn whole at each step, and most of the panel is then as it was: a
picture is laid down in a fraction of the time in which words are set and figures are measured.
"""

from __future__ import annotations

from typing import Final

from PySide6.QtGui import QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from inspector.widgets.palette import Painted, Palette

__all__ = ["Pictured", "ground_of"]


class Pictured(Painted):
    """Draws itself in `draw`, and when it stays the same lays down a picture from then on.

    What changes each time it is drawn costs no picture: one is made the second time that a state
    is drawn; `update` and another size make another state. It is opaque, so that letters are
    smoothed as on the widget itself. There is one only where an ancestor says by an attribute
    ``ground``, a colour's token, what the widget lies on, and on screens whose pixel ratio is
    whole: on others it would be blurred.
    """

    keeps_picture: Final = True

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._picture: QPixmap | None = None
        self._drawn: tuple[object, ...] = ()

    def draw(self, painter: QPainter) -> None:
        """Draw all of the widget; for subclasses."""
        raise NotImplementedError

    def update(self, *where: object) -> None:
        """Draw anew with the next frame."""
        self._picture, self._drawn = None, ()
        super().update(*where)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Lay down the picture, or draw."""
        painter = QPainter(self)
        ratio = self.devicePixelRatioF()
        size = self.size()
        state = (size, ratio, self.theme, self.hasFocus(), self.isEnabled(), self.is_mirrored)
        if state != self._drawn:
            self._picture, self._drawn = None, state
            self.draw(painter)
            return
        if self._picture is None:
            ground = ground_of(self) if ratio == int(ratio) else ""
            if not ground:
                self.draw(painter)
                return
            self._picture = QPixmap(size * ratio)
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(self.theme.colour(ground))
            inner = QPainter(self._picture)
            inner.setLayoutDirection(painter.layoutDirection())
            self.draw(inner)
            inner.end()
        painter.drawPixmap(0, 0, self._picture)


def ground_of(widget: QWidget) -> str:
    """Return the token of what a widget lies on, as its nearest ancestor says that knows it."""
    above = widget.parentWidget()
    while above is not None:
        found = getattr(above, "ground", None)
        if isinstance(found, str):
            return found
        above = above.parentWidget()
    return ""
