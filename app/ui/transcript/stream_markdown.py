"""Markdown that arrives in pieces: finished blocks are kept, only the open end is parsed again.

`StreamMarkdown` gives the same blocks however its text was cut into pieces, and the cost of one
update depends on the open block, not on the length of the reply. What makes that possible:

- Whether a block is finished is decided on whole lines alone. Markdown closes a top-level block
  (or an item of a top-level list) for good when the next one has begun.
- An open fence is not parsed at all, its lines are appended; a table is parsed row by row; a
  paragraph that does not end is cut after `MAX_PARAGRAPH` characters.
- An endless line is broken (`WRAP`) at places that depend on the line alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from app.ui.transcript.blocks import WRAP, Block, Code, Table
from app.ui.transcript.markdown import Unit, fence_info, parse_units

__all__ = ["MAX_LINE", "MAX_PARAGRAPH", "StreamMarkdown", "parse_markdown"]

MAX_LINE: Final = 1000
"""Longest line, in characters, before a break is put in for layout."""

MAX_PARAGRAPH: Final = 4000
"""Longest paragraph, in characters, before it is cut into two."""

_SLICE: Final = 4000
"""Characters that are parsed in one go; bounds the time of one step of `advance`."""

_FENCE: Final = re.compile(r"( {0,3})(`{3,}|~{3,})([^\n]*)$")
_NOISE: Final = str.maketrans({"\x00": "\ufffd", "\ufdd0": None})
_BREAK_AT: Final = re.compile(r"(?<=[^\s\\])(?=[ \t])|(?<=[,;])(?=[^\s])")
_BREAK_WINDOW: Final = 200


def _break_point(line: str) -> int:
    """Return where a line that is too long is broken: before a space, else anywhere.

    Spaces at the end of a line are dropped by Markdown, and two of them or a backslash break it for
    good; those behind the mark that begins the next line are kept.
    """
    found = _BREAK_AT.search(line, MAX_LINE - _BREAK_WINDOW, MAX_LINE)
    if found:
        return found.start()
    at = MAX_LINE
    while at > MAX_LINE // 2 and line[at - 1] in " \t\\":
        at -= 1
    return at


@dataclass(slots=True)
class _Fence:
    """An open code fence at the top level."""

    indent: int
    mark: str
    language: str
    info: str
    lines: list[str] = field(default_factory=list)

    def closes(self, line: str) -> bool:
        text = line.strip(" \t")
        indent = len(line) - len(line.lstrip(" "))
        return indent < 4 and len(text) >= len(self.mark) and not text.strip(self.mark[0])

    def may_close(self, line: str) -> bool:
        """Tell whether an unfinished line looks like the beginning of a closing mark."""
        text = line.strip(" ")
        return bool(text) and not text.strip(self.mark[0])

    def add(self, line: str) -> None:
        strip = min(self.indent, len(line) - len(line.lstrip(" ")))
        self.lines.append(line[strip:])

    def block(self, *, closed: bool, extra: str | None = None) -> Code:
        lines = self.lines if extra is None else [*self.lines, extra]
        text = "\n".join(lines).replace("\n" + WRAP[-1], WRAP)
        return Code(text, self.language, closed, info=self.info)


def _fence_of(line: str) -> _Fence | None:
    found = _FENCE.match(line)
    if not found or (found[2][0] == "`" and "`" in found[3]):
        return None
    return _Fence(len(found[1]), found[2], *fence_info(found[3]))


@dataclass(slots=True)
class _OpenTable:
    """An open table at the top level: its two head lines and the rows so far."""

    head: list[str]
    table: Table


class StreamMarkdown:
    """Blocks of a text that grows.

    Attributes:
        frozen: finished blocks; only ever appended to.
        tail: blocks of the open end, replaced by every update.
    """

    def __init__(self) -> None:
        self.frozen: list[Block] = []
        self.tail: tuple[Block, ...] = ()
        self._lines: list[str] = []
        self._waiting: list[str] = []
        self._partial = ""
        self._carriage = False
        self._number: int | None = None
        self._fence: _Fence | None = None
        self._table: _OpenTable | None = None
        self._finished = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, finished or not."""
        return (*self.frozen, *self.tail)

    @property
    def is_finished(self) -> bool:
        """Whether `finish` was called."""
        return self._finished

    def feed(self, text: str) -> None:
        """Take the next piece. Nothing is parsed before `update` or `advance`."""
        if self._finished:
            raise ValueError("this text is finished")
        if not text:
            return
        if self._carriage:
            text = "\r" + text
        self._carriage = text.endswith("\r")
        if self._carriage:
            text = text[:-1]
        text = text.translate(_NOISE).replace("\r\n", "\n").replace("\r", "\n")
        first, *rest = text.split("\n")
        self._extend(first)
        for line in rest:
            self._end_line()
            self._extend(line)

    def _extend(self, text: str) -> None:
        self._partial += text
        while len(self._partial) > MAX_LINE:
            at = _break_point(self._partial)
            self._waiting.append(self._partial[:at])
            self._partial = WRAP[-1] + self._partial[at:]

    def _end_line(self) -> None:
        self._waiting.append(self._partial)
        self._partial = ""

    def advance(self, max_characters: int = _SLICE) -> bool:
        """Parse some of the waiting lines; return whether there are more."""
        taken: list[str] = []
        size = 0
        for line in self._waiting:
            taken.append(line)
            size += len(line) + 1
            if size >= max_characters:
                break
        if taken:
            del self._waiting[: len(taken)]
            self._lines.extend(taken)
            self._settle()
        if not self._waiting:
            self._set_tail()
        return bool(self._waiting)

    def update(self) -> None:
        """Parse all that has come in."""
        while self.advance():
            pass

    def finish(self) -> None:
        """Say that the text is complete; everything is frozen."""
        if self._finished:
            return
        if self._carriage:
            self._carriage = False
            self._end_line()
        self.update()
        if self._fence is not None and self._partial:
            # The last line has no line end, yet it may be the closing mark.
            self._end_line()
            self.update()
        if self._fence is not None:
            self.frozen.append(self._fence.block(closed=True))
        else:
            self.frozen.extend(self.tail)
        self.tail = ()
        self._lines.clear()
        self._partial = ""
        self._fence = self._table = None
        self._finished = True

    def _settle(self) -> None:
        """Freeze what the whole lines have finished."""
        while self._lines:
            if self._fence is not None:
                if not self._run_fence(self._fence):
                    return
            elif self._table is not None:
                if not self._run_table(self._table):
                    return
            elif not self._run_units():
                return

    def _run_fence(self, fence: _Fence) -> bool:
        for index, line in enumerate(self._lines):
            if fence.closes(line):
                self.frozen.append(fence.block(closed=True))
                self._fence = None
                del self._lines[: index + 1]
                return True
            fence.add(line)
        self._lines.clear()
        return False

    def _run_table(self, open_table: _OpenTable) -> bool:
        units = parse_units([*open_table.head, *self._lines])
        unit = units[0]
        table = open_table.table
        block = unit.blocks[0]
        if isinstance(block, Table):
            rows = (*table.rows, *block.rows)
            open_table.table = Table(table.header, table.aligns, rows)
        used = unit.end_line - len(open_table.head)
        del self._lines[:used]
        if self._lines:
            self.frozen.append(open_table.table)
            self._table = None
            return True
        return False

    def _run_units(self) -> bool:
        """Parse the waiting lines; return whether some were settled and others remain."""
        while self._lines and not self._lines[0].strip():
            del self._lines[0]
        units = parse_units(self._lines, self._number)
        if not units:
            return False
        for index, unit in enumerate(units):
            cut = self._cut_of(unit)
            if cut:
                self._freeze(units[:index])
                start = unit.first_line
                text = parse_units(self._lines[start : start + cut])
                for part in text:
                    self.frozen.extend(part.blocks)
                del self._lines[: start + cut]
                self._number = None
                return True
            last = index == len(units) - 1
            if last and self._open_special(unit, units[:index]):
                return True
        last_unit = units[-1]
        self._freeze(units[:-1])
        del self._lines[: last_unit.first_line]
        self._number = last_unit.number
        return False

    def _freeze(self, units: Sequence[Unit]) -> None:
        for unit in units:
            self.frozen.extend(unit.blocks)

    def _cut_of(self, unit: Unit) -> int:
        """Return after how many lines an endless paragraph is cut, 0 when it is not too long.

        The line that crosses the limit is left out: the line after it could still show that it
        is the head of a table.
        """
        if unit.kind not in ("paragraph_open", "heading_open"):
            return 0
        end = unit.end_line - (1 if unit.kind == "heading_open" else 0)
        size = 0
        for count, line in enumerate(self._lines[unit.first_line : end]):
            size += len(line) + 1
            if size > MAX_PARAGRAPH:
                return count
        return 0

    def _open_special(self, unit: Unit, before: Sequence[Unit]) -> bool:
        """Enter a mode that does without parsing, when the open block has one."""
        first = unit.first_line
        if unit.kind == "fence":
            fence = _fence_of(self._lines[first])
            if fence is None:
                return False
            self._freeze(before)
            del self._lines[: first + 1]
            self._fence, self._number = fence, None
            return True
        block = unit.blocks[0] if unit.blocks else None
        if unit.kind == "table_open" and isinstance(block, Table):
            self._freeze(before)
            self._table = _OpenTable(
                self._lines[first : first + 2], Table(block.header, block.aligns, ())
            )
            del self._lines[: first + 2]
            self._number = None
            return True
        return False

    def _set_tail(self) -> None:
        partial = self._partial
        if self._fence is not None:
            hide = not partial or self._fence.may_close(partial)
            extra = None if hide else partial
            self.tail = (self._fence.block(closed=False, extra=extra),)
            return
        if self._table is not None:
            self.tail = self._table_tail(self._table, partial)
            return
        lines = [*self._lines, partial] if partial else self._lines
        units = parse_units(lines, self._number) if lines else []
        self.tail = tuple(block for unit in units for block in unit.blocks)

    def _table_tail(self, open_table: _OpenTable, partial: str) -> tuple[Block, ...]:
        table = open_table.table
        if not partial.strip():
            return (table,)
        first, *others = parse_units([*open_table.head, partial])
        block = first.blocks[0]
        rows = block.rows if isinstance(block, Table) else ()
        shown = Table(table.header, table.aligns, (*table.rows, *rows))
        return (shown, *(extra for unit in others for extra in unit.blocks))


def parse_markdown(text: str) -> tuple[Block, ...]:
    """Return the blocks of a whole text."""
    stream = StreamMarkdown()
    stream.feed(text)
    stream.finish()
    return stream.blocks
