"""What an empty chat shows: the mark, whom one talks to, and that nothing leaves the computer."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.ui.icons import pixmap
from app.ui.theme import ThemeManager

__all__ = ["EmptyChat"]


class EmptyChat(QWidget):
    """Lies over the transcript and lets the mouse through."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._mark = QLabel(self)
        self._headline = QLabel(self)
        self._headline.setProperty("kind", "heading")
        self._text = QLabel(self)
        self._text.setProperty("kind", "dim")
        column = QVBoxLayout(self)
        column.addStretch(3)
        for label in (self._mark, self._headline, self._text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(label is not self._mark)
            column.addWidget(label)
        column.addStretch(4)
        self._column = column
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_texts(self, headline: str, text: str) -> None:
        """Say whom one talks to, and a sentence below."""
        self._headline.setText(headline)
        self._text.setText(text)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._column.setSpacing(theme.px(8))
        ratio = self.devicePixelRatioF()
        self._mark.setPixmap(
            pixmap("plimsoll", theme.css("faint"), theme.px(56), theme.px(36), ratio)
        )
