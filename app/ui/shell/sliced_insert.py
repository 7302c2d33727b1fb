"""Puts a long text into a draft a part at a time, so that the window hears its user meanwhile."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QObject, QTimer, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

__all__ = ["SLICE_CHARS", "SlicedInsert"]

SLICE_CHARS: Final = 50_000

_OF_THE_USER: Final = frozenset(
    {
        QEvent.Type.KeyPress,
        QEvent.Type.ShortcutOverride,
        QEvent.Type.InputMethod,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.ContextMenu,
    }
)


class SlicedInsert(QObject):
    """Inserts at an edit's cursor, to be undone in one step.

    What the user does to the edit meanwhile comes after the whole text. The edit's `textChanged`
    finds `is_running` false once the whole text is there.
    """

    def __init__(self, edit: QPlainTextEdit) -> None:
        super().__init__(edit)
        self._edit = edit
        self._cursor = QTextCursor()
        self._text = ""
        self._done = 0  # characters of it that are in the edit
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Tell whether a part of a text is still to come."""
        return self._done < len(self._text)

    def begin(self, text: str) -> None:
        """Put a text in place of what is selected, or at the cursor."""
        self.finish()
        # Two characters that end one line must not be cut apart.
        self._text, self._done = text.replace("\r\n", "\n"), 0
        self._cursor = self._edit.textCursor()
        self._edit.installEventFilter(self)
        self._edit.viewport().installEventFilter(self)
        self._timer.start()
        self._go_on()

    def finish(self) -> None:
        """Put all that is still to come in at once."""
        while self.is_running:
            self._go_on()

    def drop(self) -> None:
        """Leave out what is still to come: the draft is another one."""
        if self.is_running:
            self._end()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Be done before the user goes on."""
        if event.type() in _OF_THE_USER:
            self.finish()
        return super().eventFilter(watched, event)

    @Slot()
    def _go_on(self) -> None:
        start, end = self._done, self._done + SLICE_CHARS
        if start == 0:
            self._cursor.beginEditBlock()
        else:
            self._cursor.joinPreviousEditBlock()
        self._done = min(end, len(self._text))
        self._cursor.insertText(self._text[start:end])
        self._cursor.endEditBlock()
        if self._done == len(self._text):
            self._end()
            self._edit.ensureCursorVisible()

    def _end(self) -> None:
        self._timer.stop()
        self._text, self._done = "", 0
        self._cursor = QTextCursor()
        self._edit.removeEventFilter(self)
        self._edit.viewport().removeEventFilter(self)
