"""The text that rows draw, as one looks for something in it: where a text stands, formulas counted.

A formula is one place if its source has the text: nobody sees the source, so it is marked as a
whole. Texts are compared by full case folding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument, QTextFragment
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app.ui.transcript.blocks import Paragraph, Span
from app.ui.transcript.code_text import shown_code
from app.ui.transcript.rows import Row, RowKind
from app.ui.transcript.style import MATH, SOURCE

__all__ = ["Shown", "find_place", "fold", "select_place", "shown"]

_OBJECT: Final = "\ufffc"
_ROLES: Final = ("user", "assistant")


def fold(text: str) -> str:
    """Return a text as it is compared."""
    folded = text.casefold()
    return folded.replace("\u00a0", " ") if "\u00a0" in folded else folded


@dataclass(frozen=True, slots=True)
class Shown:
    """A text in which each formula is one character, and the sources of the formulas, in order."""

    text: str
    formulas: tuple[str, ...] = ()

    def count(self, needle: str) -> int:
        """Return how many places there are; ``needle`` is folded and not empty."""
        found = fold(self.text).count(needle)
        return found + sum(needle in fold(source) for source in self.formulas)

    def place(self, needle: str, number: int) -> tuple[int, int] | None:
        """Return where place ``number`` (from 0) begins and ends in the text, in characters."""
        wanted = fold(needle)
        if not wanted:
            return None
        places = [*_texts(self.text, wanted), *self._formulas_with(wanted)]
        return sorted(places)[number] if 0 <= number < len(places) else None

    def _formulas_with(self, wanted: str) -> Iterator[tuple[int, int]]:
        at = -1
        for source in self.formulas:
            at = self.text.find(_OBJECT, at + 1)
            if wanted in fold(source):
                yield at, at + 1


def _texts(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    folded = fold(text)
    origin: list[int] = []
    if len(folded) != len(text):
        # Some characters became several, as sharp s does.
        origin = [index for index, char in enumerate(text) for _ in char.casefold()]
    at = folded.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        yield (origin[at], origin[end - 1] + 1) if origin else (at, end)
        at = folded.find(wanted, end)


def shown(row: Row) -> Shown:
    """Return what a row draws, in the order in which it stands in its document."""
    content = row.content
    match row.kind:
        case RowKind.TEXT:
            return _spans([b.spans if isinstance(b, Paragraph) else () for b in content])
        case RowKind.TABLE:
            lines = content.rows if content.first else (content.header, *content.rows)
            return _spans([cell for line in lines for cell in line])
        case RowKind.CODE:
            return Shown(shown_code(content.text))
        case RowKind.FORMULA:
            return Shown(_OBJECT, (content.text,))
        case RowKind.BUBBLE:
            return Shown(content.text)
        case RowKind.NOTE | RowKind.CUT:
            # Below a reply the row's content is the reply, whose text stands above.
            return Shown("" if content.role in _ROLES else content.text)
        case _:
            return Shown("")


def _spans(parts: list[tuple[Span, ...]]) -> Shown:
    text = "\n".join("".join(_OBJECT if s.math else s.text for s in spans) for spans in parts)
    return Shown(text, tuple(s.text for spans in parts for s in spans if s.math))


@dataclass(slots=True)
class _Document:
    """A document as it is searched: formulas as one character each, wherever they end in Qt."""

    text: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # of each character, in Qt's positions

    def add(self, text: str, position: int) -> None:
        """Add what stands at a position."""
        for char in text:
            position += _length(char)
            self.text.append(char)
            self.ends.append(position)

    def add_formula(self, source: str, end: int) -> None:
        """Add a formula that ends at a position."""
        self.text.append(_OBJECT)
        self.formulas.append(source)
        self.ends.append(end)


def _length(text: str) -> int:
    """Return a length as Qt counts it, in halves of UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _read(document: QTextDocument) -> _Document:
    read = _Document()
    block = document.begin()
    while block.isValid():
        if block.position():
            read.add("\n", block.position() - 1)
        for fragment in _fragments(block):
            source = fragment.charFormat().property(MATH)
            if source is None:
                source = fragment.charFormat().property(SOURCE)
                if source is None:
                    read.add(fragment.text(), fragment.position())
                else:
                    read.add_formula(source, fragment.position() + fragment.length())
                continue
            for index in range(fragment.length()):  # the same formula twice is one fragment
                read.add_formula(source, fragment.position() + index + 1)
        block = block.next()
    return read


def _fragments(block: QTextBlock) -> Iterator[QTextFragment]:
    iterator = block.begin()
    while not iterator.atEnd():
        yield iterator.fragment()
        iterator += 1


def find_place(document: QTextDocument, needle: str, number: int) -> QTextCursor:
    """Return a cursor that selects place ``number`` (from 0), a null one where there is none."""
    if any(made.hasProperty(MATH) or made.hasProperty(SOURCE) for made in document.allFormats()):
        read = _read(document)
        found = Shown("".join(read.text), tuple(read.formulas)).place(needle, number)
        ends = None if found is None else [read.ends[at - 1] if at else 0 for at in found]
    else:
        text = document.toPlainText()
        found = Shown(text).place(needle, number)
        ends = None if found is None else [_length(text[:at]) for at in found]
    if ends is None:
        return QTextCursor()
    start, end = ends
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor


def select_place(view: QTextEdit | QPlainTextEdit, needle: str, number: int) -> int:
    """Select a place and scroll to it sideways; return its top on the view's viewport, in pixels.

    Where there is none, nothing is selected any more and 0 is returned.
    """
    found = find_place(view.document(), needle, number) if needle else QTextCursor()
    if found.isNull():
        cursor = view.textCursor()
        if cursor.hasSelection():
            cursor.clearSelection()
            view.setTextCursor(cursor)
        return 0
    start = QTextCursor(found)
    start.setPosition(found.selectionStart())
    for cursor in (start, found):  # both its ends, where there is room for both
        view.setTextCursor(cursor)
        view.ensureCursorVisible()
    return view.cursorRect(start).top()
