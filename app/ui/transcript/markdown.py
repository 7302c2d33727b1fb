"""From Markdown to `blocks`, with markdown-it-py and rules for untrusted text.

HTML is text (``vector<int>`` and ``<think>`` are shown, not swallowed), images are links, and
only addresses that are safe to open become links at all. Link definitions (``[1]: …``) stay
visible text: they would let a later line change what an earlier one means, and a reader of an
answer wants to see the addresses anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from app.ui.transcript.blocks import (
    WRAP,
    Align,
    Block,
    Code,
    Formula,
    Paragraph,
    Place,
    Rule,
    Span,
    Table,
)
from app.ui.transcript.lossless_rules import MAX_NESTING, add_lossless
from app.ui.transcript.math_rules import add_math

__all__ = ["MAX_COLUMNS", "Unit", "fence_info", "is_safe_link", "links_in", "parse_units"]

MAX_COLUMNS: Final = 64
"""A table with more columns is shown as its source."""

_SAFE_LINK: Final = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://[^\s<>()\[\]`|\\]+", re.IGNORECASE)
_TASK: Final = re.compile(r"\[([ xX])\][ \u00a0]")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    md.enable(["table", "strikethrough"]).disable("reference")
    md.use(gfm_autolink_plugin)
    add_lossless(md)
    add_math(md)
    return md


def is_safe_link(href: str) -> bool:
    """Tell whether an address may be opened at all: web and mail only."""
    return bool(_SAFE_LINK.match(href))


def links_in(text: str, limit: int = 20) -> list[str]:
    """Return addresses in a text, each once, for a menu; only plainly written ones."""
    found: dict[str, None] = {}
    for match in _ADDRESS.finditer(text[:200_000]):
        found.setdefault(match[0].rstrip(".,;:!?'\""), None)
        if len(found) >= limit:
            break
    return list(found)


@dataclass(frozen=True, slots=True)
class Unit:
    """One top-level block, or one item of a top-level list, with the lines it came from.

    ``kind`` is the type of its first token; ``number`` that of an item of an ordered list.
    """

    kind: str
    first_line: int
    end_line: int
    blocks: tuple[Block, ...]
    number: int | None = None


def _merge(spans: list[Span]) -> tuple[Span, ...]:
    """Join neighbours of one look."""
    merged: list[Span] = []
    for span in spans:
        if merged and not span.math and replace(merged[-1], text=span.text) == span:
            merged[-1] = replace(span, text=merged[-1].text + span.text)
        elif span.text:
            merged.append(span)
    return tuple(merged)


def _address(href: str) -> str:
    return href if len(href) <= 80 else href[:79] + "…"


def _title_of(token: Token) -> str:
    """Return the title of a link or picture as text: a tip under the mouse would hide it."""
    title = str(token.attrs.get("title", ""))
    return f" “{title}”" if title else ""


def spans_of(inline: Token) -> tuple[Span, ...]:
    """Return the runs of an inline token."""
    spans: list[Span] = []
    bold = italic = strike = 0
    hrefs: list[str] = []
    titles: list[str] = []

    def add(text: str, *, code: bool = False, math: bool = False, href: str = "") -> None:
        target = href or (hrefs[-1] if hrefs else "")
        safe = target if is_safe_link(target) else ""
        spans.append(Span(text, bold > 0, italic > 0, strike > 0, code, math, safe))

    for token in inline.children or ():
        match token.type:
            case "text" | "text_special":
                add(token.content)
            case "softbreak":
                add("\n")
            case "hardbreak":
                add("\n")
            case "code_inline":
                add(token.content, code=True)
            case "math_inline":
                add(token.content, math=True)
            case "strong_open":
                bold += 1
            case "strong_close":
                bold -= 1
            case "em_open":
                italic += 1
            case "em_close":
                italic -= 1
            case "s_open":
                strike += 1
            case "s_close":
                strike -= 1
            case "link_open":
                hrefs.append(str(token.attrs.get("href", "")))
                titles.append(_title_of(token))
            case "link_close":
                href = hrefs.pop()
                if href and not is_safe_link(href):
                    add(f" ({_address(href)})")
                add(titles.pop())
            case "image":
                source = str(token.attrs.get("src", ""))
                alt = token.content.strip() or "image"
                add(f"{alt} ({_address(source)})", href=source)
                add(_title_of(token))
            case _:
                add(token.content)
    return tuple(_soft_breaks(_merge(spans)))


def _soft_breaks(spans: Sequence[Span]) -> Iterator[Span]:
    """Take back the breaks put into endless lines: a paragraph wraps by itself."""
    mark = WRAP[-1]
    for number, span in enumerate(spans):
        text = span.text
        if mark not in text:
            yield span
            continue
        if number == 0 and text.startswith(mark):  # a paragraph that was cut within a line
            text = text[1:].lstrip(" \t")
        # A line break in code counts as a space.
        text = text.replace(WRAP, "").replace(f" {mark}", "").replace(mark, "")
        if text:
            yield replace(span, text=text)


@dataclass(slots=True)
class _Context:
    """Where the walk through the tokens is."""

    quotes: int = 0
    items: int = 0
    marker: str = ""

    def take(self) -> Place:
        """Return the place of the next block; only an item's first block has its marker."""
        place = Place(self.quotes, self.items, self.marker)
        self.marker = ""
        return place


def _paragraph(spans: tuple[Span, ...], level: int, place: Place) -> Block:
    only = spans[0] if len(spans) == 1 else None
    if only is not None and only.math and not level and not place.marker:
        return Formula(only.text, True, place)
    first = spans[0] if spans else None
    if place.marker and first is not None and not (first.code or first.math):
        task = _TASK.match(first.text)
        if task:
            rest = replace(first, text=first.text[task.end() :])
            marker = "☐" if task[1] == " " else "☑"
            spans = (rest, *spans[1:]) if rest.text else spans[1:]
            place = replace(place, marker=marker)
    return Paragraph(spans, level, place)


def _table(tokens: Sequence[Token], place: Place) -> Table:
    rows: list[tuple[tuple[Span, ...], ...]] = []
    aligns: list[Align] = []
    cells: list[tuple[Span, ...]] = []
    for token in tokens:
        match token.type:
            case "tr_open":
                cells = []
            case "th_open":
                style = str(token.attrs.get("style", ""))
                aligns.append(cast("Align", style.removeprefix("text-align:") or "left"))
            case "inline":
                cells.append(spans_of(token))
            case "tr_close":
                rows.append(tuple(cells))
    return Table(rows[0], tuple(aligns), tuple(rows[1:]), place)


def _convert(
    tokens: Sequence[Token], lines: Sequence[str], number: int | None, closed: bool
) -> Iterator[Block]:
    """Flatten the tokens of one unit; ``number`` is the marker of an ordered item."""
    context = _Context()
    counters: list[int | None] = []
    level = 0
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        match token.type:
            case "blockquote_open":
                context.quotes += 1
            case "blockquote_close":
                context.quotes -= 1
            case "bullet_list_open":
                counters.append(None)
            case "ordered_list_open":
                start = token.attrs.get("start", 1)
                counters.append(int(start))
            case "bullet_list_close" | "ordered_list_close":
                counters.pop()
            case "list_item_open":
                context.items += 1
                count = counters[-1] if counters else number
                context.marker = "•" if count is None else f"{count}."
                if counters and count is not None:
                    counters[-1] = count + 1
            case "list_item_close":
                if context.marker:  # an item without content is still an item
                    yield Paragraph((), 0, context.take())
                context.items -= 1
            case "heading_open":
                level = int(token.tag[1:])
            case "inline":
                yield _paragraph(spans_of(token), level, context.take())
                level = 0
            case "hr":
                yield Rule(context.take())
            case "fence" | "code_block":
                language, info = fence_info(token.info)
                yield Code(_body_of(token.content), language, closed, context.take(), info)
            case "math_block":
                yield Formula(token.content, bool(token.meta["closed"]), context.take())
            case "table_open":
                end = next(
                    i
                    for i in range(index, len(tokens))
                    if tokens[i].type == "table_close" and tokens[i].level == token.level
                )
                table = _table(tokens[index:end], context.take())
                first, last = token.map or (0, 0)
                yield (
                    table
                    if len(table.aligns) <= MAX_COLUMNS
                    else Code("\n".join(lines[first:last]), "", True, table.place)
                )
                index = end + 1


def fence_info(text: str) -> tuple[str, str]:
    """Return the language behind a fence, and all that stands there if that is more."""
    info = text.strip()
    language = info.split(maxsplit=1)[0][:40] if info else ""
    return language, info if info != language else ""


def _body_of(content: str) -> str:
    return content.removesuffix("\n")


def _top_level(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], int | None, bool]]:
    """Yield the tokens of each unit, an ordered item's number, and whether it begins a list."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.nesting != 1:
            yield tokens[index : index + 1], None, True
            index += 1
            continue
        end = index + 1
        while tokens[end].level != token.level or tokens[end].nesting != -1:
            end += 1
        if token.type not in ("bullet_list_open", "ordered_list_open"):
            yield tokens[index : end + 1], None, True
            index = end + 1
            continue
        number = int(token.attrs.get("start", 1)) if token.type[0] == "o" else None
        begin = index + 1
        first = True
        while begin < end:
            stop = begin + 1
            while tokens[stop].level != token.level + 1 or tokens[stop].nesting != -1:
                stop += 1
            yield tokens[begin : stop + 1], number, first
            number = None if number is None else number + 1
            begin, first = stop + 1, False
        index = end + 1


def parse_units(lines: Sequence[str], carried_number: int | None = None) -> list[Unit]:
    """Parse lines into units.

    ``carried_number`` says that the first unit continues an ordered list at that number, which
    need not be the one its author typed.
    """
    tokens = _parser().parse("\n".join(lines))
    units: list[Unit] = []
    shift = 0
    for slice_, written, begins_list in _top_level(tokens):
        number = written
        first, end = slice_[0].map or (0, 0)
        if number is not None:
            if begins_list:
                shift = carried_number - number if carried_number is not None and not units else 0
            number = number + shift
        blocks = tuple(_convert(slice_, lines, number, closed=True))
        units.append(Unit(slice_[0].type, first, end, blocks, number))
    return units
