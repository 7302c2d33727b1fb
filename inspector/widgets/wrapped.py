"""Text that wraps, in a kind of the style sheet, that changes only when its words do."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from inspector.widgets.palette import Palette
from inspector.widgets.text import unbroken

__all__ = ["WrappedText"]


class WrappedText(QLabel):
    """Plain wrapped text of one size and colour; hidden while it is empty.

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
        is_markup: bool = False,
    ) -> None:
        super().__init__(parent)
        self._palette = palette
        self._size_px = size_px
        self._token = token
        self._weight = weight
        self._reserved: tuple[str, ...] = ()
        self.setTextFormat(Qt.TextFormat.RichText if is_markup else Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignTop)
        palette.changed.connect(self._apply_theme)
        self._apply_theme()
        self.hide()

    def show_text(self, text: str) -> None:
        """Show a text; an empty one takes no room."""
        shown = text if self.textFormat() == Qt.TextFormat.RichText else unbroken(text)
        if shown != self.text():
            self.setText(shown)
        self.setVisible(bool(text or self._reserved))

    def set_token(self, token: str) -> None:
        """Write in another colour."""
        if token != self._token:
            self._token = token
            self._apply_theme()

    def reserve(self, texts: tuple[str, ...]) -> None:
        """Keep room for the longest of ``texts``."""
        if texts != self._reserved:
            self._reserved = texts
            self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        """Ask for a line: the real height follows from the width."""
        return QSize(0, self.fontMetrics().height())

    def heightForWidth(self, width: int) -> int:
        """Return the height of the text, or of the longest that may take its place."""
        own = super().heightForWidth(width)
        flags = int(Qt.TextFlag.TextWordWrap)
        room = QRect(0, 0, width, 1 << 16)
        heights = [
            self.fontMetrics().boundingRect(room, flags, text).height() for text in self._reserved
        ]
        return max([own, *heights])

    def _apply_theme(self) -> None:
        theme = self._palette.theme
        self.setStyleSheet(
            f"color: {theme.css(self._token)}; font-size: {theme.pt(self._size_px)}pt;"
            f" font-weight: {int(self._weight)};"
        )
