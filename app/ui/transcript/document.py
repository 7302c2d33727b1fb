"""Blocks written into a text document, where only the paragraphs that changed are touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QFontInfo,
    QFontMetricsF,
    QPainter,
    QPyTextObject,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextOption,
)

from app.ui.transcript.blocks import Block, Paragraph, Rule, Span, unwrapped
from app.ui.transcript.formula import Drawing, FormulaService, formula_pixmap
from app.ui.transcript.style import MATH, REASONING_INSET, SOURCE, Style

__all__ = ["BlockDocument", "em_of", "selected_text"]

_FORMULA_OBJECT: Final = int(QTextFormat.ObjectTypes.UserObject.value) + 1
_DRAWING: Final = MATH + 10
_OBJECT: Final = "\ufffc"
_LINE: Final = "\u2028"


def em_of(style: Style) -> float:
    """Return the size of text in logical pixels."""
    return float(QFontInfo(style.text_font).pixelSize())


class _FormulaObject(QPyTextObject):
    """Draws an inline formula where its character stands.

    Qt gives an inline object either the font's descent or half its height below the baseline, so
    the room asked for is padded until one of the two is what the formula needs.
    """

    def __init__(self, style: Style, parent: QObject) -> None:
        super().__init__(parent)
        self.style = style
        self.ratio = 1.0

    def _lengths(self, made: QTextFormat) -> tuple[Drawing, float, float, float]:
        drawing: Drawing = made.property(_DRAWING)
        em = em_of(self.style)
        return drawing, em, drawing.ascent * em, drawing.descent * em

    def intrinsicSize(
        self,
        doc: QTextDocument,
        posInDocument: int,  # noqa: N803
        format: QTextFormat,  # noqa: A002
    ) -> QSizeF:
        drawing, em, ascent, descent = self._lengths(format)
        metrics = QFontMetricsF(self.style.text_font)
        if descent <= metrics.descent():
            return QSizeF(drawing.width * em + 2, ascent + metrics.descent())
        half = metrics.xHeight() / 2
        return QSizeF(drawing.width * em + 2, max(2 * descent + half, 2 * ascent - half))

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,  # noqa: N803
        format: QTextFormat,  # noqa: A002
    ) -> None:
        rect = QRectF(rect)
        drawing, em, ascent, descent = self._lengths(format)
        metrics = QFontMetricsF(self.style.text_font)
        if descent <= metrics.descent():
            baseline = rect.bottom() - metrics.descent()
        else:
            baseline = rect.top() + (rect.height() + metrics.xHeight() / 2) / 2
        colour = format.foreground().color()
        pixmap = formula_pixmap(drawing, em, colour, self.ratio)
        painter.drawPixmap(QPointF(rect.left() + 1, round(baseline - ascent)), pixmap)


class BlockDocument(QTextDocument):
    """A document that shows paragraphs and rules, and never loads anything.

    Block ``i`` of the content is text block ``i`` of the document. ``tight`` leaves no space
    between paragraphs, ``inset`` moves all of them in (pixels).
    """

    def __init__(self, style: Style, formulas: FormulaService, parent: QObject) -> None:
        super().__init__(parent)
        self.setUndoRedoEnabled(False)
        self.setDocumentMargin(0)
        option = QTextOption()
        option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setDefaultTextOption(option)
        self._style = style
        self._formulas = formulas
        self._quiet = False
        self.tight = False
        self.inset = 0
        self.content: tuple[Block, ...] = ()
        self.waits_for: set[str] = set()
        self._object = _FormulaObject(style, self)
        self.documentLayout().registerHandler(_FORMULA_OBJECT, self._object)

    def loadResource(self, kind: int, url: Any) -> Any:
        """Load nothing, whatever the text asks for."""
        return None

    def set_style(self, style: Style) -> None:
        """Take another look; the content must be written again."""
        self._style = self._object.style = style
        self.content = ()
        self.setDefaultFont(style.text_font)

    def set_content(
        self, blocks: Sequence[Block], *, quiet: bool, first_dirty: int | None = None
    ) -> None:
        """Show these blocks. What is alike at the beginning stays untouched."""
        inset = self._style.px(REASONING_INSET) if quiet else 0
        if (quiet, inset) != (self._quiet, self.inset):
            self._quiet, self.inset, self.content = quiet, inset, ()
        same = 0
        for before, after in zip(self.content, blocks, strict=False):
            if before is not after and before != after:
                break
            same += 1
        if first_dirty is not None:
            same = min(same, first_dirty)
        if same == len(blocks) == len(self.content) and blocks:
            return
        if not same:
            self.waits_for.clear()
        cursor = QTextCursor(self)
        cursor.beginEditBlock()
        if same:
            block = self.findBlockByNumber(same - 1)
            cursor.setPosition(block.position() + block.length() - 1)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        for index in range(same, len(blocks)):
            self._write(cursor, blocks[index], index)
        cursor.endEditBlock()
        self.content = tuple(blocks)

    def set_ratio(self, ratio: float) -> None:
        """Draw formulas for a screen of that pixel ratio."""
        self._object.ratio = ratio

    def formula_ready(self, latex: str) -> bool:
        """Draw a formula that was waited for; return whether this text has it."""
        if latex not in self.waits_for:
            return False
        self.waits_for.discard(latex)
        blocks = self.content
        first = next(
            (
                index
                for index, block in enumerate(blocks)
                if isinstance(block, Paragraph)
                and any(span.math and span.text == latex for span in block.spans)
            ),
            None,
        )
        if first is None:
            return False
        self.set_content(blocks, quiet=self._quiet, first_dirty=first)
        return True

    def _write(self, cursor: QTextCursor, block: Block, index: int) -> None:
        shown = block if isinstance(block, Paragraph) else Paragraph((), 0, block.place)
        block_format = self._style.block_format(
            shown, first=index == 0 or self.tight, inset=self.inset
        )
        quiet = self._quiet or block.place.quotes > 0
        plain = self._style.char_format(Span(""), shown.level, quiet)
        if isinstance(block, Rule):
            block_format.setLineHeight(
                self._style.px(9), int(QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            )
        if index:
            cursor.insertBlock(block_format, plain)
        else:
            cursor.setBlockFormat(block_format)
            cursor.setBlockCharFormat(plain)
            cursor.setCharFormat(plain)
        for span in shown.spans:
            self._write_span(cursor, span, shown.level, quiet)

    def write_span(self, cursor: QTextCursor, span: Span, *, header: bool) -> None:
        """Write one run of a table's cell."""
        shown = replace(span, bold=True) if header and not span.math else span
        self._write_span(cursor, shown, 0, header)

    def _write_span(self, cursor: QTextCursor, span: Span, level: int, quiet: bool) -> None:
        if not span.math:
            made = self._style.char_format(span, level, quiet)
            cursor.insertText(span.text.replace("\n", _LINE), made)
            return
        found = self._formulas.lookup(span.text, display=False)
        if isinstance(found, Drawing):
            made = QTextCharFormat(self._style.char_format(Span(""), level, quiet))
            made.setObjectType(_FORMULA_OBJECT)
            made.setProperty(_DRAWING, found)
            made.setProperty(MATH, span.text)
            em = em_of(self._style)
            metrics = QFontMetricsF(self._style.text_font)
            low = found.descent * em <= metrics.descent()
            made.setVerticalAlignment(
                QTextCharFormat.VerticalAlignment.AlignBaseline
                if low
                else QTextCharFormat.VerticalAlignment.AlignMiddle
            )
            cursor.insertText(_OBJECT, made)
            return
        if found == "pending":
            self.waits_for.add(span.text)
        source = QTextCharFormat(self._style.char_format(Span("", code=True), level, quiet))
        source.setProperty(SOURCE, span.text)
        cursor.insertText(span.text.replace("\n", _LINE), source)


def selected_text(cursor: QTextCursor, content: Sequence[Block]) -> str:
    """Return the selected text as plain text: markers of whole items, formulas as LaTeX."""
    if not cursor.hasSelection():
        return ""
    document = cursor.document()
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    lines: list[str] = []
    block = document.findBlock(start)
    while block.isValid() and block.position() < end:
        parts: list[str] = []
        number = block.blockNumber()
        if block.position() >= start and number < len(content):
            marker = content[number].place.marker
            parts.append(f"{marker} " if marker else "")
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            low = max(start - fragment.position(), 0)
            high = min(end - fragment.position(), fragment.length())
            if low < high:
                made = fragment.charFormat()
                latex = made.property(MATH)
                if latex is not None:
                    parts.append(f"${latex}$" * (high - low))
                else:
                    raw = fragment.text().encode("utf-16-le")
                    parts.append(raw[2 * low : 2 * high].decode("utf-16-le", "replace"))
            iterator += 1
        lines.append("".join(parts))
        block = block.next()
    return unwrapped("\n".join(lines).replace(_LINE, "\n"))
