"""Text that wraps. Unlike a label it asks for a new layout only when its height changes.

The panel's lines change with every token; a label would have the whole column laid out each time.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.widgets.palette import Palette
from inspector.widgets.pictured import Pictured
from inspector.widgets.text import unbroken

__all__ = ["WrappedText"]

_WRAP = int(Qt.TextFlag.TextWordWrap)


class WrappedText(Pictured):
    """Plain text of one size and colour; takes no room while it is empty.

    `reserve` keeps room for the longest of several texts, so that what is below does not jump
    when one takes another's place.
    """

    def __init__(
        self,
        palette: Palette,
        parent: QWidget | None = None,
        *,
        size_px: float = 12,
        token: str = "faint",
        weight: QFont.Weight = QFont.Weight.Normal,
    ) -> None:
        super().__init__(palette, parent)
        self._size_px = size_px
        self._token = token
        self._weight = weight
        self._text = ""
        self._reserved: tuple[str, ...] = ()
        self._heights: dict[int, int] = {}
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    def text(self) -> str:
        """Return what is shown."""
        return self._text

    def show_text(self, text: str) -> None:
        """Show a text."""
        if text == self._text:
            return
        before = self.heightForWidth(self.width())
        self._text = text
        self._heights.clear()
        self.setAccessibleName(text)
        self.setVisible(bool(text or self._reserved))
        if self.heightForWidth(self.width()) != before:
            self.updateGeometry()
        self.update()

    def set_token(self, token: str) -> None:
        """Write in another colour."""
        if token != self._token:
            self._token = token
            self.update()

    def reserve(self, texts: tuple[str, ...]) -> None:
        """Keep room for the longest of ``texts``."""
        if texts != self._reserved:
            self._reserved = texts
            self._heights.clear()
            self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        """Return that narrow means tall."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of the text, or of the longest that may take its place."""
        if width not in self._heights:
            metrics = QFontMetricsF(self._font())
            room = QRectF(0, 0, max(width, 1), 1 << 16)
            heights = [
                metrics.boundingRect(room, _WRAP, unbroken(text)).height()
                for text in (self._text, *self._reserved)
            ]
            self._heights[width] = round(max(heights) + 0.5)
        return self._heights[width]

    def sizeHint(self) -> QSize:
        """Return a line."""
        return QSize(self.theme.px(200), self._line())

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, self._line())

    def draw(self, painter: QPainter) -> None:
        """Draw the text, on the side where its reading begins."""
        painter.setFont(self._font())
        painter.setPen(self.theme.colour(self._token))
        side = Qt.AlignmentFlag.AlignRight if self.is_mirrored else Qt.AlignmentFlag.AlignLeft
        flags = _WRAP | int(side | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignTop)
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        painter.drawText(QRectF(self.rect()), flags, unbroken(self._text))

    def _font(self) -> QFont:
        return self.theme.font(self._size_px, self._weight)

    def _line(self) -> int:
        return round(QFontMetricsF(self._font()).height() + 0.5)

    @Slot()
    def _on_theme_changed(self) -> None:
        self._heights.clear()
        super()._on_theme_changed()
