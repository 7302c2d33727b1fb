"""A frame as high as its content while there is room, and scrolled when there is not."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

__all__ = ["Shrinkable"]


class Shrinkable(QScrollArea):
    """Shows ``content``, whose height may follow from its width.

    Qt's own layouts take the height of wrapped text as a hard minimum, and then squeeze other
    rows on a small window; this one gives way, down to ``least_px``.
    """

    def __init__(self, content: QWidget, parent: QWidget | None = None, least_px: int = 48) -> None:
        super().__init__(parent)
        self._content = content
        self._least_px = least_px
        self.setProperty("kind", "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setWidget(content)
        content.installEventFilter(self)

    def content_height(self) -> int:
        """Return the height at which nothing is scrolled."""
        layout = self._content.layout()
        if layout is None:
            return self._content.sizeHint().height()
        if layout.hasHeightForWidth():
            return layout.totalHeightForWidth(max(self.width(), 1))
        return layout.totalSizeHint().height()

    def sizeHint(self) -> QSize:
        """Return the content's size at the present width."""
        return QSize(super().sizeHint().width(), self.content_height())

    def minimumSizeHint(self) -> QSize:
        """Return how small it may become."""
        return QSize(0, min(self._least_px, self.content_height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Ask for another height when lines are wrapped at another width."""
        super().resizeEvent(event)
        self._need_bar()
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ask for another height when the content changes."""
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self._need_bar()
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def _need_bar(self) -> None:
        """Have a scroll bar only where something is scrolled.

        Qt asks how high the content would be beside one: where a line wraps there that does not
        without, the bar comes although there is room, and so makes what it is for.
        """
        fits = self.height() >= self.content_height()
        off, needed = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
        wanted = off if fits else needed
        if self.verticalScrollBarPolicy() != wanted:
            self.setVerticalScrollBarPolicy(wanted)
