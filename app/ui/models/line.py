"""Texts, tags and pieces side by side on a line of a row that is drawn by hand."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from app.ui.theme import Theme
from inspector.widgets.drawing import mirrored

__all__ = ["Face", "Line", "part", "write"]


class Face:
    """A font with its metrics and a colour, for one theme."""

    def __init__(self, font: QFont, colour: QColor) -> None:
        self.font = font
        self.colour = colour
        self.metrics = QFontMetricsF(font)


def part(rect: QRectF, top: float, height: float) -> QRectF:
    """Return a strip of a rectangle."""
    return QRectF(rect.left(), rect.top() + top, rect.width(), height)


def write(painter: QPainter, rect: QRectF, text: str, face: Face, *, to_right: bool) -> None:
    """Draw a text in the middle of a rectangle's height, at its left or right side."""
    side = Qt.AlignmentFlag.AlignRight if to_right else Qt.AlignmentFlag.AlignLeft
    flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
    painter.setFont(face.font)
    painter.setPen(face.colour)
    painter.drawText(rect, int(flags) | int(Qt.TextFlag.TextSingleLine), text)


class Line:
    """Text and tags side by side, from the start of a line to its end."""

    def __init__(
        self, painter: QPainter, theme: Theme, rect: QRectF, tag: Face, *, flip: bool
    ) -> None:
        self._painter = painter
        self._theme = theme
        self._rect = rect
        self._tag = tag
        self._flip = flip
        self._at = 0.0

    def skip(self, width: float) -> None:
        """Leave a gap."""
        self._at += width

    def take(self, width: float) -> QRectF:
        """Return the next piece of the line."""
        piece = QRectF(self._at, 0, width, self._rect.height())
        self._at += width
        return mirrored(piece, self._rect.width(), self._flip).translated(self._rect.topLeft())

    def text(
        self,
        text: str,
        face: Face,
        *,
        keep: float = 0.0,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        """Write a text, shortened so that ``keep`` pixels are left behind it."""
        room = max(self._rect.width() - self._at - keep, 0.0)
        width = face.metrics.horizontalAdvance(text)
        if width > room:
            text = face.metrics.elidedText(text, elide, room)
            width = face.metrics.horizontalAdvance(text)
        write(self._painter, self.take(width + 1), text, face, to_right=self._flip)

    def tag_width(self, text: str) -> float:
        """Return what a tag takes with the gap before it."""
        return self._tag.metrics.horizontalAdvance(text) + self._theme.px(18)

    def tag(self, text: str) -> None:
        """Draw a small frame with a word."""
        theme, painter, face = self._theme, self._painter, self._tag
        width = self.tag_width(text)
        if self._at + width > self._rect.width():
            return
        self.skip(theme.px(6))
        piece = self.take(width - theme.px(6))
        frame = QRectF(piece.left(), 0, piece.width(), face.metrics.height() + theme.px(1))
        frame.moveCenter(piece.center())
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.colour("line_strong"))
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(5), theme.px(5))
        painter.setFont(face.font)
        painter.setPen(face.colour)
        painter.drawText(frame, int(Qt.AlignmentFlag.AlignCenter), text)
