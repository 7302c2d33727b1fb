"""The text of a code block: what is shown of it, and how it gets into its view.

A code block is not wrapped, so its height is known from the number of its lines; the text itself
is put in a part at a time, between events, and coloured in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.ui.transcript.blocks import WRAP

__all__ = ["CodeFiller", "CodeView", "shown_code"]

_BIDI: Final = {
    ord(char): f"⟨U+{ord(char):04X}⟩"
    for char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
"""Marks that reorder text can make code read as what it is not, so they are spelt out."""

_SOFT: Final = 200
"""Characters of a line that was broken for layout: lines are drawn whole, however little of them
is in view."""
_PART_CHARACTERS: Final = 12_000


def shown_code(text: str) -> str:
    """Return code as it is shown: marks spelt out, tabs as spaces, endless lines broken."""
    if WRAP in text:
        text = "\n".join(line for whole in text.split("\n") for line in _broken(whole))
    return text.translate(_BIDI).expandtabs(4)


def _broken(line: str) -> Iterator[str]:
    """Break a piece of an endless line; `WRAP` begins each but the first."""
    mark = WRAP[-1]
    if not line.startswith(mark):
        yield line
        return
    line = line[len(mark) :]
    for at in range(0, max(len(line), 1), _SOFT):
        yield line[at : at + _SOFT]


class CodeView(QPlainTextEdit):
    """The text of a code block."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._is_plain = True
        self._measured = 0  # lines whose height is known, the growing one not
        self._measured_px = 0.0
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setReadOnly(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAcceptDrops(False)
        self.setUndoRedoEnabled(False)
        self.document().setDocumentMargin(0)
        option = QTextOption()
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        self.document().setDefaultTextOption(option)
        self.setProperty("kind", "bare")

    @property
    def is_plain(self) -> bool:
        """Whether all lines are of one height."""
        return self._is_plain

    def text_height(self, lines: int) -> int:
        """Return the height in pixels of so many lines, some of which may not be here yet.

        Fonts tell less than what a line takes: Qt rounds its ascent and its descent up, and a
        font that stands in for a script may be higher. Lines of plain ASCII are all alike.
        """
        first = self.document().begin()
        line = self.blockBoundingRect(first).height()
        if self._is_plain:
            return ceil(line * lines)
        block = self.document().findBlockByNumber(self._measured)
        while block.isValid() and block.next().isValid():
            self._measured_px += self.blockBoundingRect(block).height()
            self._measured += 1
            block = block.next()
        missing = max(lines - self.blockCount(), 0)
        return ceil(self._measured_px + self.blockBoundingRect(block).height() + missing * line)

    def text_changed(self, added: str, *, anew: bool) -> None:
        """Take note of a text that is added, or of a whole one."""
        if anew:
            self._is_plain = True
            self._measured, self._measured_px = 0, 0.0
        self._is_plain = self._is_plain and added.isascii()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll sideways here; leave up and down to the transcript."""
        delta = event.angleDelta()
        sideways = abs(delta.x()) > abs(delta.y()) or (
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        )
        if sideways and self.horizontalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Let the block show the menu of its message."""
        event.ignore()

    def selected_plain(self) -> str:
        """Return the selected code."""
        return self.textCursor().selection().toPlainText()


class CodeFiller(QObject):
    """Puts text into a view: the first part at once, what follows between events.

    Signals:
        grown(): a part that was missing is there.

    Attributes:
        text: what the view shows, or will show in a moment.
    """

    grown = Signal()

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self.text = ""
        self._view = view
        self._in = 0  # how many characters are in the view
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_done(self) -> bool:
        """Whether all of the text is in the view."""
        return self._in == len(self.text)

    def set_text(self, text: str) -> str:
        """Show another text, and return what of it is new: its end, if it only grew."""
        before, self.text = self.text, text
        if before and text.startswith(before):
            self._view.text_changed(text[len(before) :], anew=False)
            self._put_part()
            return text[before.rfind("\n") + 1 :]
        self._view.text_changed(text, anew=True)
        self._in = self._end_of_part(0)
        self._view.setPlainText(text[: self._in])
        self._run()
        return text

    def finish(self) -> None:
        """Put in what is left, for somebody who looks for something in it."""
        while not self.is_done:
            self._put_part()
        self.grown.emit()

    def stop(self) -> None:
        """Put in no more: the view is about to show something else."""
        self._timer.stop()

    def _run(self) -> None:
        if self.is_done:
            self._timer.stop()
        else:
            self._timer.start()

    def _end_of_part(self, begin: int) -> int:
        """Return where a part ends: behind a line, if there is one that ends in it."""
        end = begin + _PART_CHARACTERS
        if end >= len(self.text):
            return len(self.text)
        line_end = self.text.rfind("\n", begin, end)
        return end if line_end < 0 else line_end + 1

    @Slot()
    def _go_on(self) -> None:
        self._put_part()
        self.grown.emit()

    def _put_part(self) -> None:
        end = self._end_of_part(self._in)
        cursor = QTextCursor(self._view.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(self.text[self._in : end])
        self._in = end
        self._run()
