"""The quiet buttons of the transcript: an icon and a word that come forward under the mouse."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.transcript.host import RowHost
from app.ui.transcript.icons import icon_pixmap

__all__ = ["TextButton"]


class TextButton(QAbstractButton):
    """An icon with a word beside it; ``compact`` leaves the word to the tooltip."""

    def __init__(self, host: RowHost, parent: QWidget, icon: str, text: str) -> None:
        super().__init__(parent)
        self._host = host
        self._icon = icon
        self._face: tuple[str, str] | None = None
        self.compact = False
        self.setText(text)
        self.setAccessibleName(text)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._restore)

    def set_face(self, icon: str, text: str) -> None:
        """Show another icon and word."""
        self._icon = icon
        self.setText(text)
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def confirm(self, text: str) -> None:
        """Say for a moment that it was done."""
        if self._face is None:
            self._face = (self._icon, self.text())
        self._icon = "check"
        self.setText(text if not self.compact else "")
        self.update()
        self._timer.start(1400)

    def _restore(self) -> None:
        if self._face is not None:
            self._icon, word = self._face
            self._face = None
            self.setText(word)
            self.update()

    def sizeHint(self) -> QSize:
        """Return the room for icon and word."""
        style = self._host.style_in_force
        height = style.px(20)
        width = style.px(22)
        word = self._face[1] if self._face else self.text()
        if word and not self.compact:
            width += style.word_width(word) + style.px(6)
        return QSize(width, height)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Come forward."""
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Go back."""
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw icon, word and a ring for the keyboard's focus."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as the icon is placed
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        forward = self.underMouse() or self.hasFocus() or self.isDown()
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        if forward:
            painter.setPen(
                QPen(style.colour("accent"), 1.4) if self.hasFocus() else Qt.PenStyle.NoPen
            )
            painter.setBrush(style.colour("pressed" if self.isDown() else "raised"))
            painter.drawRoundedRect(box, style.px(5), style.px(5))
        token = "ink" if forward else "faint"
        if not self.isEnabled():
            token = "line_strong"
        side = style.px(14)
        mark = icon_pixmap(self._icon, style.colour(token), side, self.devicePixelRatioF())
        top = (self.height() - side) / 2
        painter.drawPixmap(round(style.px(4)), round(top), mark)
        if self.text() and not self.compact:
            painter.setFont(style.small_font)
            painter.setPen(style.colour(token))
            painter.drawText(
                QRectF(style.px(21), 0, self.width() - style.px(21), self.height()),
                int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
                self.text(),
            )
