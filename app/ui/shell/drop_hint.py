"""A veil that says what a drop would do, while something is dragged over the window."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme import ThemeManager

__all__ = ["DropHint"]


class DropHint(QWidget):
    """Lies over another widget and lets all events through."""

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._themes = themes
        self._window = parent
        self._text = ""
        self.hide()

    def show_over(self, widget: QWidget, text: str) -> None:
        """Cover a widget of the same window."""
        self._text = text
        self.setAccessibleName(text)
        corner = widget.mapTo(self._window, widget.rect().topLeft())
        self.setGeometry(widget.rect().translated(corner))
        self.show()
        self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the veil, a dashed frame and the sentence."""
        theme = self._themes.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = theme.colour("background")
        veil.setAlphaF(0.86)
        painter.fillRect(self.rect(), veil)
        pen = QPen(theme.colour("accent"), 2, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        inset, radius = theme.px(18), theme.px(12)
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), radius, radius
        )
        painter.setFont(theme.font(16, QFont.Weight.DemiBold))
        painter.setPen(theme.colour("ink"))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self._text)
