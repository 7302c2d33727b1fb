"""Markdown as flat lists of blocks: the form that is drawn, compared and kept.

Lists and quotes are not nested objects: every block carries how deep it lies. A flat list can be
extended at its end and compared block by block, which is what makes streaming cheap, and a code
block inside a list item is a code block like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "WRAP",
    "Align",
    "Block",
    "Code",
    "Formula",
    "Paragraph",
    "Place",
    "Rule",
    "Span",
    "Table",
    "block_length",
    "plain_text",
    "to_markdown",
    "unwrapped",
]

WRAP = "\n\ufdd0"
"""A line break that is not in the source: put into endless lines so that they can be laid out.
U+FDD0 is a noncharacter, which is removed from incoming text and so stands for nothing else."""

Align: TypeAlias = Literal["left", "center", "right"]


def unwrapped(text: str) -> str:
    """Return text as its author wrote it, without breaks put in for layout."""
    return text.replace(WRAP, "")


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text of one look. ``math`` text is LaTeX; ``href`` is a checked address."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    math: bool = False
    href: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block lies: depth of quotes and lists, and the marker of the item it begins."""

    quotes: int = 0
    items: int = 0
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text; ``level`` 1 to 6 makes it a heading."""

    spans: tuple[Span, ...]
    level: int = 0
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Code:
    """A code block. ``text`` may hold `WRAP`; ``closed`` is False while its fence is open.

    ``info`` is what stands behind the opening fence when that is more than the language.
    """

    text: str
    language: str = ""
    closed: bool = True
    place: Place = Place()
    info: str = ""

    @property
    def source(self) -> str:
        """The code as written, for the clipboard."""
        return unwrapped(self.text)


@dataclass(frozen=True, slots=True)
class Formula:
    """Displayed mathematics (LaTeX). ``closed`` is False without its closing mark."""

    text: str
    closed: bool = True
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Table:
    """A table: ``header`` and every row have ``len(aligns)`` cells of spans."""

    header: tuple[tuple[Span, ...], ...]
    aligns: tuple[Align, ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    place: Place = Place()


Block: TypeAlias = Paragraph | Rule | Code | Formula | Table


def _cell_text(cell: tuple[Span, ...]) -> str:
    return "".join(span.text for span in cell)


def block_length(block: Block) -> int:
    """Return about how many characters a block shows."""
    match block:
        case Paragraph():
            return sum(len(span.text) for span in block.spans)
        case Code() | Formula():
            return len(block.text)
        case Table():
            return sum(len(_cell_text(cell)) for row in block.rows for cell in row)
        case Rule():
            return 1


def plain_text(blocks: tuple[Block, ...]) -> str:
    """Return what a reader would type: no marks, tables as tab-separated lines."""
    lines: list[str] = []
    for block in blocks:
        lead = f"{block.place.marker} " if block.place.marker else ""
        match block:
            case Paragraph():
                lines.append(lead + _cell_text(block.spans))
            case Code():
                lines.append(block.source)
            case Formula():
                lines.append(block.text)
            case Table():
                lines.extend(
                    "\t".join(_cell_text(cell) for cell in row)
                    for row in (block.header, *block.rows)
                )
            case Rule():
                lines.append("---")
    return unwrapped("\n".join(lines))


def _span_markdown(span: Span) -> str:
    if span.math:
        return f"${span.text}$"
    text = span.text
    if span.code:
        fence = "``" if "`" in text else "`"
        text = f"{fence}{text}{fence}"
    for on, mark in ((span.strike, "~~"), (span.italic, "*"), (span.bold, "**")):
        if on:
            text = f"{mark}{text}{mark}"
    return f"[{text}]({span.href})" if span.href and span.href != span.text else text


def _cells_markdown(cells: tuple[tuple[Span, ...], ...]) -> str:
    return (
        "| "
        + " | ".join(
            "".join(_span_markdown(span) for span in cell).replace("|", "\\|") for cell in cells
        )
        + " |"
    )


def _body_markdown(block: Block) -> str:
    match block:
        case Paragraph():
            lead = "#" * block.level + " " if block.level else ""
            return lead + "".join(_span_markdown(span) for span in block.spans)
        case Code():
            fence = "```"
            while fence in block.text:
                fence += "`"
            return f"{fence}{block.info or block.language}\n{block.source.rstrip(chr(10))}\n{fence}"
        case Formula():
            return f"$$\n{block.text}\n$$"
        case Table():
            dashes = {"left": "---", "center": ":---:", "right": "---:"}
            rule = "| " + " | ".join(dashes[align] for align in block.aligns) + " |"
            return "\n".join(
                [_cells_markdown(block.header), rule, *map(_cells_markdown, block.rows)]
            )
        case Rule():
            return "---"


def to_markdown(blocks: tuple[Block, ...]) -> str:
    """Return Markdown that reads like the blocks (for copying a part of a message)."""
    marks = {"•": "-", "☐": "- [ ]", "☑": "- [x]"}
    parts: list[str] = []
    for block in blocks:
        place = block.place
        marker = marks.get(place.marker, place.marker)
        indent = "  " * max(place.items - 1, 0)
        hang = " " * (len(marker) + 1) if marker else ("  " if place.items else "")
        first = f"{indent}{marker} " if marker else indent + hang
        quote = "> " * place.quotes
        lines = _body_markdown(block).split("\n")
        shown = [quote + first + lines[0], *(quote + indent + hang + line for line in lines[1:])]
        tight = bool(parts) and bool(marker)
        parts.append(("\n" if tight else "\n\n" if parts else "") + "\n".join(shown))
    return unwrapped("".join(parts))
