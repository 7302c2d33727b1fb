"""A code block: highlighted when it is complete, never wrapped, long ones folded."""

from __future__ import annotations

from html import escape
from math import ceil
from typing import Final

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import (
    QContextMenuEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.ui.transcript.blocks import WRAP, Code, unwrapped
from app.ui.transcript.buttons import TextButton
from app.ui.transcript.entry import Entry
from app.ui.transcript.highlight import Spans
from app.ui.transcript.host import RowHost
from app.ui.transcript.rows import Row
from app.ui.transcript.style import REASONING_INSET

__all__ = ["CodeRow", "CodeView"]

_FOLDED_LINES: Final = 40
_FOLD_ABOVE: Final = 60
_COLOURED_AT_ONCE: Final = 120
_BIDI: Final = {
    ord(char): f"⟨U+{ord(char):04X}⟩"
    for char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
"""Marks that reorder text can make code read as what it is not, so they are spelt out."""


class CodeView(QPlainTextEdit):
    """The text of a code block."""

    def __init__(self, parent: QWidget) -> None:
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
        self.setStyleSheet("QPlainTextEdit { background: transparent; border: none; padding: 0; }")

    def text_height(self) -> int:
        """Return the height of all lines in pixels.

        Fonts tell less than what a line takes: Qt rounds its ascent and its descent up, and a
        font that stands in for a script may be higher. Lines of plain ASCII are all alike.
        """
        first = self.document().begin()
        line = self.blockBoundingRect(first).height()
        if self._is_plain:
            return ceil(line * self.blockCount())
        block = self.document().findBlockByNumber(self._measured)
        while block.isValid() and block.next().isValid():
            self._measured_px += self.blockBoundingRect(block).height()
            self._measured += 1
            block = block.next()
        return ceil(self._measured_px + self.blockBoundingRect(block).height())

    def text_changed(self, added: str, *, anew: bool) -> None:
        """Take note of a text that was added, or of a whole one."""
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


class CodeRow(QWidget):
    """Shows one CODE row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._code = Code("")
        self._shown = ""
        self._total = 0
        self._widest = 0.0
        self._applied: Spans | None = None
        self._formats: dict[str, QTextCharFormat] = {}
        self._next_line = 0
        self._restyled = True
        self._colouring = QTimer(self)
        self._colouring.setInterval(4)
        self._colouring.timeout.connect(self._apply_some)
        self.view = CodeView(self)
        self.copy_button = TextButton(host, self, "copy", self.tr("Copy"))
        self.copy_button.clicked.connect(self._copy)
        self.copy_button.setAccessibleName(self.tr("Copy code"))
        self.fold_button = TextButton(host, self, "unfolded", "")
        self.fold_button.clicked.connect(self._toggle)
        self.restyle()

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row, self._entry = row, entry
        code: Code = row.content
        self._code = code
        text = code.text.replace(WRAP, "\n").translate(_BIDI).expandtabs(4)
        self._total = text.count("\n") + 1
        if row.live:
            row.expanded = True  # what was read while it grew must not fold away
        folded = not row.expanded and self._total > _FOLD_ABOVE
        if folded:
            text = "\n".join(text.split("\n", _FOLDED_LINES)[:_FOLDED_LINES])
        self._set_text(text)
        self.fold_button.setVisible(self._total > _FOLD_ABOVE and not row.live)
        self.fold_button.set_face(
            "unfolded" if folded else "folded",
            self.tr("Show all {count} lines").format(count=f"{self._total:,}")
            if folded
            else self.tr("Show fewer lines"),
        )
        language = code.info or code.language or self.tr("code")
        # A tip that looks like HTML would be drawn as HTML.
        self.setToolTip(f"<p>{escape(code.info)}</p>" if code.info else "")
        self.view.setAccessibleName(self.tr("Code, {language}").format(language=language))
        self._highlight(text, row)
        self.update()

    def _set_text(self, text: str) -> None:
        before = self._shown
        if text == before and not self._restyled:
            return
        self._restyled = False
        self._shown = text
        metrics = self.view.fontMetrics()
        if before and text.startswith(before):
            cursor = QTextCursor(self.view.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            added = text[len(before) :]
            cursor.insertText(added)
            self.view.text_changed(added, anew=False)
            start = before.rfind("\n") + 1
            fresh = text[start:]
        else:
            self._applied = None
            self._widest = 0.0
            self.view.setPlainText(text)
            self.view.text_changed(text, anew=True)
            fresh = text
        longest = max(fresh.split("\n"), key=len)
        self._widest = max(self._widest, metrics.horizontalAdvance(longest))

    def _highlight(self, text: str, row: Row) -> None:
        self._host.highlighter.cancel(self)
        if row.live or not self._code.language:
            return
        known = self._host.highlighter.known(text, self._code.language)
        if known is not None:
            self._apply(known)
        else:
            self._host.highlighter.request(self, text, self._code.language, self._apply)

    def _apply(self, spans: Spans) -> None:
        """Colour the code; what is long, a part now and the rest between events."""
        if self._applied is spans:
            return
        self._applied = spans
        self._formats = {}
        self._next_line = 0
        self._apply_some()

    def _apply_some(self) -> None:
        spans = self._applied
        if spans is None:
            self._colouring.stop()
            return
        document = self.view.document()
        block = document.findBlockByNumber(self._next_line)
        first = block.position()
        end = min(self._next_line + _COLOURED_AT_ONCE, len(spans))
        for line in spans[self._next_line : end]:
            if not block.isValid():
                break
            if line:
                block.layout().setFormats([self._range(*span) for span in line])
            block = block.next()
        last = block.position() if block.isValid() else document.characterCount()
        document.markContentsDirty(first, max(last - first, 1))
        self._next_line = end
        if end < len(spans) and block.isValid():
            self._colouring.start()
        else:
            self._colouring.stop()

    def _range(self, start: int, length: int, name: str) -> QTextLayout.FormatRange:
        made = self._formats.get(name)
        if made is None:
            made = self._formats[name] = QTextCharFormat()
            made.setForeground(self._host.style_in_force.colour(f"code_{name}"))
        found = QTextLayout.FormatRange()
        found.start, found.length, found.format = start, length, made
        return found

    def unbind(self) -> None:
        """Let go of the row."""
        self._host.highlighter.cancel(self)
        if self._colouring.isActive():
            self._colouring.stop()
            self._applied = None
        self._row = self._entry = None
        if len(self._shown) > 20_000:
            self._shown = ""
            self.view.setPlainText("")
            self.view.text_changed("", anew=True)

    def restyle(self) -> None:
        """Take the style in force."""
        style = self._host.style_in_force
        self.view.setFont(style.code_font)
        self.view.document().setDefaultFont(style.code_font)
        palette = self.view.palette()
        palette.setColor(QPalette.ColorRole.Text, style.colour("ink"))
        palette.setColor(QPalette.ColorRole.Highlight, style.colour("selection"))
        palette.setColor(QPalette.ColorRole.HighlightedText, style.colour("ink"))
        self.view.setPalette(palette)
        self._applied = None
        self._restyled = True
        self._shown = ""
        if self._row is not None and self._entry is not None:
            self.bind(self._row, self._entry)

    def _indent(self) -> int:
        place = self._code.place
        return self._host.style_in_force.indent(place.quotes, place.items) + (
            self._host.style_in_force.px(REASONING_INSET)
            if self._row and self._row.reasoning
            else 0
        )

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays the parts out."""
        style = self._host.style_in_force
        left = self._indent()
        pad, head = style.px(12), style.px(28)
        inner = max(width - left - 2 * pad, 40)
        bar = 0
        if self._widest > inner:
            bar = max(self.view.horizontalScrollBar().sizeHint().height(), 6)
        body = self.view.text_height() + bar + 2
        self.view.setGeometry(left + pad, head, inner, body)
        size = self.copy_button.sizeHint()
        self.copy_button.setGeometry(
            width - size.width() - style.px(6),
            (head - size.height()) // 2 + 1,
            size.width(),
            size.height(),
        )
        bottom = head + body + style.px(8)
        if not self.fold_button.isHidden():
            size = self.fold_button.sizeHint()
            self.fold_button.setGeometry(
                left + pad - style.px(4), bottom - style.px(2), size.width(), size.height()
            )
            bottom += size.height() + style.px(4)
        return bottom

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the well and the name of the language."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = self._indent()
        box = QRectF(left + 0.5, 0.5, self.width() - left - 1, self.height() - 1)
        painter.setPen(QPen(style.colour("line"), 1))
        painter.setBrush(style.colour("well"))
        painter.drawRoundedRect(box, style.px(9), style.px(9))
        painter.setFont(style.tiny_font)
        painter.setPen(style.colour("faint"))
        label = QRectF(left + style.px(12), style.px(4), box.width() / 2, style.px(24))
        painter.drawText(
            label,
            int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
            painter.fontMetrics().elidedText(
                self._code.info or self._code.language,
                Qt.TextElideMode.ElideRight,
                int(label.width()),
            ),
        )

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the code and the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), self)

    def selected_plain(self) -> str:
        """Return the selected code, else nothing."""
        return unwrapped(self.view.selected_plain())

    def select_text(self, needle: str) -> int:
        """Select the first place that has a text; return how far down it is, in pixels.

        Where there is none, nothing is selected any more.
        """
        found = self.view.document().find(needle)
        if found.isNull():
            cursor = self.view.textCursor()
            cursor.clearSelection()
            self.view.setTextCursor(cursor)
            return 0
        self.view.setTextCursor(found)
        return self.view.y() + self.view.cursorRect(found).top()

    def _copy(self) -> None:
        self._host.copy_text(self._code.source)
        self.copy_button.confirm(self.tr("Copied"))

    def _toggle(self) -> None:
        row, entry = self._row, self._entry
        if row is None or entry is None:
            return
        row.expanded = not row.expanded
        self.bind(row, entry)
        self._host.row_resized(row)
