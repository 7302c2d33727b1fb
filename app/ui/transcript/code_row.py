"""A code block: highlighted when it is complete, never wrapped, long ones folded."""

from __future__ import annotations

from html import escape
from typing import Final

from PySide6.QtCore import QRectF, Qt, QTimer, Slot
from PySide6.QtGui import (
    QContextMenuEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextCharFormat,
    QTextLayout,
)
from PySide6.QtWidgets import QWidget

from app.ui.transcript.blocks import Code, unwrapped
from app.ui.transcript.buttons import TextButton
from app.ui.transcript.code_text import CodeFiller, CodeView, shown_code
from app.ui.transcript.entry import Entry
from app.ui.transcript.highlight import Spans
from app.ui.transcript.host import RowHost
from app.ui.transcript.place_text import select_place
from app.ui.transcript.rows import Row
from app.ui.transcript.style import REASONING_INSET

__all__ = ["CodeRow"]

_FOLDED_LINES: Final = 40
_FOLD_ABOVE: Final = 60
_COLOURED_AT_ONCE: Final = 120


class CodeRow(QWidget):
    """Shows one CODE row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._code = Code("")
        self._lines = 0
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
        self._filler = CodeFiller(self.view)
        self._filler.grown.connect(self._on_grown)
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
        text = shown_code(code.text)
        self._total = text.count("\n") + 1
        if row.live:
            row.expanded = True  # what was read while it grew must not fold away
        folded = not row.expanded and self._total > _FOLD_ABOVE
        if folded:
            text = "\n".join(text.split("\n", _FOLDED_LINES)[:_FOLDED_LINES])
        self._set_text(text)
        self._lines = _FOLDED_LINES if folded else self._total
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
        if text == self._filler.text and not self._restyled:
            return
        self._restyled = False
        fresh = self._filler.set_text(text)
        if fresh is text:
            self._applied = None
            self._widest = 0.0
        longest = max(fresh.split("\n"), key=len)
        self._widest = max(self._widest, self.view.fontMetrics().horizontalAdvance(longest))

    @Slot()
    def _on_grown(self) -> None:
        """Take the height of lines that have come in, where they are not all alike."""
        if self._row is not None and not self.view.is_plain:
            self._host.row_resized(self._row)

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
        if not self._filler.is_done:  # lines are coloured when they are there
            self._colouring.start()
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
        self._filler.stop()
        self._row = self._entry = None
        if len(self._filler.text) > 20_000 or not self._filler.is_done:
            self._filler.set_text("")

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
        self._filler.set_text("")
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
        body = self.view.text_height(self._lines) + bar + 2
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
            self._filler.finish()  # all of it can be selected there
            self._host.show_menu(self._entry.view.id, event.globalPos(), self)

    def selected_plain(self) -> str:
        """Return the selected code, else nothing."""
        return unwrapped(self.view.selected_plain())

    def select_text(self, needle: str, number: int = 0) -> int:
        """Select a place that has a text, from 0 on; return how far down it is, in pixels.

        Where there is none, nothing is selected any more.
        """
        self._filler.finish()
        return self.view.y() + select_place(self.view, needle, number)

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
