"""Fonts, colours and text formats of the transcript, derived from a theme once.

Rows ask this object and never hold a colour of their own, so that one new object restyles all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
)

from app.ui.theme import Theme
from app.ui.transcript.blocks import Paragraph, Span

__all__ = ["HREF", "MATH", "REASONING_INSET", "SOURCE", "Style"]

MATH: Final = QTextCharFormat.Property.UserProperty + 1
"""Property of an inline formula's character: its LaTeX."""

SOURCE: Final = QTextCharFormat.Property.UserProperty + 3
"""Property of the characters of a formula that is shown as its source: its LaTeX."""

HREF: Final = QTextCharFormat.Property.UserProperty + 2
"""Property of a link: its address. Qt's own anchor property would let Qt open or load it."""

REASONING_INSET: Final = 14
"""How far in reasoning stands, in design pixels."""

_HEADING_PX: Final = (20.0, 17.5, 15.5, 14.5, 13.5, 13.5)
_LINE_PERCENT: Final = 126
_SPARE: Final = 1.12
_SAMPLE: Final = 400


class Style:
    """Look of the transcript in one theme at one text size.

    Lengths are design pixels; `px` turns them into logical ones.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._formats: dict[tuple[object, ...], QTextCharFormat] = {}
        self._widths: dict[str, int] = {}

    def px(self, value: float) -> int:
        """Return a design length at this text size."""
        return self.theme.px(value)

    def colour(self, token: str) -> QColor:
        """Return a token's colour."""
        return self.theme.colour(token)

    @cached_property
    def text_font(self) -> QFont:
        """Font of answers."""
        return self.theme.text_font

    @cached_property
    def code_font(self) -> QFont:
        """Font of code blocks."""
        return self.theme.code_font

    @cached_property
    def small_font(self) -> QFont:
        """Font of the line below a reply."""
        return self.theme.font(12)

    def word_width(self, word: str) -> int:
        """Return the width of a button's word in the small font, which is asked for often."""
        found = self._widths.get(word)
        if found is None:
            found = self._widths[word] = QFontMetrics(self.small_font).horizontalAdvance(word)
        return found

    def cell_width(self, cell: Sequence[Span], *, header: bool = False) -> float:
        """Return the width of a table's cell in one line, in pixels.

        Text has some to spare: the cell that was looked for is the longest of its column, and a
        shorter one may have wider letters.
        """
        width = 0.0
        for span in cell:
            shown = replace(span, bold=True) if header else span
            metrics = QFontMetricsF(self.char_format(shown, 0, header).font())
            spare = 1.0 if header or span.code else _SPARE
            width += metrics.horizontalAdvance(span.text[:_SAMPLE]) * spare
        return width

    @cached_property
    def small_strong_font(self) -> QFont:
        """Font of the values in the line below a reply."""
        return self.theme.font(12, QFont.Weight.Medium)

    @cached_property
    def note_font(self) -> QFont:
        """Font of notes below a reply."""
        return self.theme.font(12.5)

    @cached_property
    def tiny_font(self) -> QFont:
        """Font of a code block's language."""
        return self.theme.font(11.5)

    @cached_property
    def line_height(self) -> float:
        """Height of a line of text, in pixels."""
        return QFontMetricsF(self.text_font).height() * _LINE_PERCENT / 100

    @cached_property
    def code_line_height(self) -> float:
        """Height of a line of code, in pixels."""
        return QFontMetricsF(self.code_font).lineSpacing()

    def char_format(self, span: Span, level: int, quiet: bool) -> QTextCharFormat:
        """Return the format of a run; ``quiet`` is the look of reasoning and quotes."""
        key = (span.bold, span.italic, span.strike, span.code, bool(span.href), level, quiet)
        found = self._formats.get(key)
        if found is None:
            found = self._formats[key] = self._make(span, level, quiet)
        if span.href:
            found = QTextCharFormat(found)
            found.setProperty(HREF, span.href)
            found.setToolTip(span.href[:300])
        return found

    def _make(self, span: Span, level: int, quiet: bool) -> QTextCharFormat:
        size = _HEADING_PX[level - 1] if level else 13.5
        strong = QFont.Weight.DemiBold if span.bold or level else QFont.Weight.Normal
        font = self.theme.font(size * 0.93 if span.code else size, strong, code=span.code)
        font.setItalic(span.italic)
        made = QTextCharFormat()
        made.setFont(font)
        made.setForeground(self.colour("dim" if quiet else "ink"))
        if span.strike:
            made.setFontStrikeOut(True)
            made.setForeground(self.colour("dim"))
        if span.code:
            made.setBackground(self.colour("raised" if self.theme.is_dark else "well"))
        if span.href:
            made.setForeground(self.colour("accent"))
            made.setFontUnderline(True)
        return made

    def block_format(
        self, paragraph: Paragraph, *, first: bool, inset: int = 0
    ) -> QTextBlockFormat:
        """Return the format of a paragraph: room for quotes, markers and what lies above."""
        place = paragraph.place
        made = QTextBlockFormat()
        made.setLineHeight(
            _LINE_PERCENT, int(QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        )
        made.setLeftMargin(inset + self.indent(place.quotes, place.items))
        if not first:
            made.setTopMargin(self.space_above(paragraph))
        return made

    def indent(self, quotes: int, items: int) -> int:
        """Return how far in a block lies."""
        return self.px(16 * min(quotes, 8) + 22 * min(items, 10))

    def space_above(self, paragraph: Paragraph) -> int:
        """Return the space between a paragraph and what lies above it."""
        if paragraph.level:
            return self.px(16 if paragraph.level <= 2 else 12)
        return self.px(4 if paragraph.place.marker else 9)
