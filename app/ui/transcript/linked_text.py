"""Text with links: a hand over them, and a click that follows where it was pressed."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QTextEdit, QWidget

from app.ui.transcript.style import HREF

__all__ = ["LinkedText"]


class LinkedText(QTextEdit):
    """Base of the transcript's text views; `follow` says what a click on a link does."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pressed_link = ""

    def follow(self, address: str) -> None:
        """Follow a link that was clicked."""
        raise NotImplementedError

    def link_at(self, at: QPoint) -> str:
        """Return the address under a point of the viewport."""
        document = self.document()
        place = QPointF(at.x() + self.horizontalScrollBar().value(), at.y())
        position = document.documentLayout().hitTest(place, Qt.HitTestAccuracy.ExactHit)
        if position < 0:
            return ""
        cursor = self.textCursor()
        cursor.setPosition(min(position + 1, document.characterCount() - 1))
        found = cursor.charFormat().property(HREF)
        return str(found) if found else ""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand over links."""
        super().mouseMoveEvent(event)
        over = self.link_at(event.position().toPoint())
        shape = Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.IBeamCursor
        if self.viewport().cursor().shape() != shape:
            self.viewport().setCursor(shape)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Remember the link under the mouse."""
        left = event.button() == Qt.MouseButton.LeftButton
        self._pressed_link = self.link_at(event.position().toPoint()) if left else ""
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Follow a link that was clicked, not one that was selected over."""
        super().mouseReleaseEvent(event)
        pressed, self._pressed_link = self._pressed_link, ""
        here = self.link_at(event.position().toPoint())
        if pressed and pressed == here and not self.textCursor().hasSelection():
            self.follow(pressed)
