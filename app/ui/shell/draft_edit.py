"""The composer's text: plain, growing from one line to ten, quick with large pastes."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.ui.send_keys import SendKey, is_enter, sends
from app.ui.theme import ThemeManager

__all__ = ["LARGE_PASTE_CHARS", "LONGEST_LINE_CHARS", "DraftEdit", "has_long_line"]

MOST_LINES = 10
LARGE_PASTE_CHARS = 50_000
# Qt lays a paragraph out as a whole at every keystroke: a line this long makes typing lag.
LONGEST_LINE_CHARS = 20_000


class DraftEdit(QPlainTextEdit):
    """Where a message is written.

    Signals:
        send_pressed(): the key that sends.
        edit_last_pressed(): Up in an empty draft.
        files_pasted(list): local paths from the clipboard.
        large_text_pasted(str): a text too large to be put in without asking.
        picture_pasted(): a picture, which no model here can look at.
        focus_changed(bool)
    """

    send_pressed = Signal()
    edit_last_pressed = Signal()
    files_pasted = Signal(list)
    large_text_pasted = Signal(str)
    picture_pasted = Signal()
    focus_changed = Signal(bool)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._send_key: SendKey = "enter"
        self._hint = ""
        self.setProperty("kind", "bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAcceptDrops(False)  # files are the composer's to take
        self.document().setDocumentMargin(2)
        self.textChanged.connect(self._fit_height)
        themes.changed.connect(self._fit_height)

    @property
    def send_key(self) -> SendKey:
        """The key that sends."""
        return self._send_key

    def set_send_key(self, key: SendKey) -> None:
        """Choose the key that sends; the other one breaks the line."""
        self._send_key = key

    def set_hint(self, words: str) -> None:
        """Say in an empty draft what it is for: one line, shortened where it has no room."""
        self._hint = words
        self._fit_hint()

    def _fit_hint(self) -> None:
        room = self.viewport().width() - round(2 * self.document().documentMargin())
        shown = self.fontMetrics().elidedText(self._hint, Qt.TextElideMode.ElideRight, room)
        self.setPlaceholderText(shown if room > 0 else self._hint)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Send, break the line, or edit the last message."""
        if is_enter(event):
            self._on_enter(event)
            return
        is_up = event.key() == Qt.Key.Key_Up and not event.modifiers()
        if is_up and self.document().isEmpty():
            self.edit_last_pressed.emit()
            return
        super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Tell whether something can be pasted: text or files; a picture is refused in words."""
        return source.hasText() or source.hasUrls() or source.hasImage()

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste plain text; files and very large texts are offered as attachments."""
        paths = [url.toLocalFile() for url in source.urls() if url.isLocalFile()]
        if paths:
            self.files_pasted.emit(paths)
            return
        if source.hasImage() and not source.hasText():
            self.picture_pasted.emit()
            return
        text = source.text()
        if len(text) > LARGE_PASTE_CHARS or has_long_line(text):
            self.large_text_pasted.emit(text)
            return
        self.insertPlainText(text)
        self.ensureCursorVisible()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tell the composer, which draws the frame."""
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell the composer, which draws the frame."""
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the height when lines are wrapped at another width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit_height()
            self._fit_hint()

    def _on_enter(self, event: QKeyEvent) -> None:
        if sends(event, self._send_key):
            self.send_pressed.emit()
        else:
            self.insertPlainText("\n")
            self.ensureCursorVisible()

    def changeEvent(self, event: QEvent) -> None:
        """Shorten the hint anew for another font."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self._fit_hint()

    @Slot()
    def _fit_height(self) -> None:
        lines, height = self._shown_lines()
        margin = round(2 * self.document().documentMargin())
        self.setFixedHeight(ceil(height) + margin + 1)
        scrolls = lines > MOST_LINES
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAsNeeded
            if scrolls
            else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )

    def _shown_lines(self) -> tuple[int, float]:
        """Count wrapped lines, and the height of those that show, in pixels.

        No further than matters: a draft may have a million. A line is as high as Qt lays it out:
        a font's own figure is a pixel less, or many where another font stands in for a script.
        """
        lines, height = 0, 0.0
        block = self.document().begin()
        while block.isValid() and lines <= MOST_LINES:
            self.blockBoundingRect(block)  # lays it out
            whole = block.layout().boundingRect().height()
            count = max(block.layout().lineCount(), 1)
            height += whole * min(count, max(MOST_LINES - lines, 0)) / count
            lines += count
            block = block.next()
        return lines, height


def has_long_line(text: str) -> bool:
    """Tell whether a text has a line that Qt would lay out too slowly."""
    start = 0
    while len(text) - start > LONGEST_LINE_CHARS:
        end = text.rfind("\n", start, start + LONGEST_LINE_CHARS + 1)
        if end < 0:
            return True
        start = end + 1
    return False
