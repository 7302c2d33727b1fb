"""The round button that leads back to the end of the conversation."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.transcript.host import RowHost
from app.ui.transcript.icons import icon_pixmap

__all__ = ["EndButton"]


class EndButton(QAbstractButton):
    """Shown while the end is out of sight."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self.setAccessibleName(self.tr("To the end of the chat"))
        self.setToolTip(self.tr("To the end (End)"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def sizeHint(self) -> QSize:
        """Return the size of the circle."""
        side = self._host.style_in_force.px(34)
        return QSize(side, side)

    def place(self, column: QRect, height: int, *, shown: bool) -> None:
        """Stand above the lower edge of a view, in the middle of its column."""
        if shown:
            style = self._host.style_in_force
            size = self.sizeHint()
            left = column.center().x() - size.width() // 2
            self.setGeometry(
                left, height - size.height() - style.px(14), size.width(), size.height()
            )
            self.raise_()
        self.setVisible(shown)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a circle with an arrow."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        edge = "accent" if self.hasFocus() else "line_strong"
        painter.setPen(QPen(style.colour(edge), 1.2))
        painter.setBrush(style.colour("raised_hover" if self.underMouse() else "raised"))
        painter.drawEllipse(box)
        side = style.px(16)
        mark = icon_pixmap("down", style.colour("ink"), side, self.devicePixelRatioF())
        at = round((self.width() - side) / 2)
        painter.drawPixmap(at, at, mark)
