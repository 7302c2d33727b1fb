"""Rows: the pieces of a conversation that are laid out, realised and freed one by one.

A message is a list of rows. A message nobody has looked at is one `PENDING` row with an estimated
height; its rows are made when it comes near the view. Nothing here knows Qt: a row holds what it
shows, its height, and a slot in which the view keeps the widget that shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from app.ui.transcript.blocks import Block, Code, Formula, Table, block_length
from app.ui.transcript.table_slices import TableSlice, slices_of

if TYPE_CHECKING:
    from app.ui.transcript.stream_markdown import StreamMarkdown

__all__ = ["BlockRows", "Row", "RowKind"]

_SEGMENT_LENGTH: Final = 2500
_SEGMENT_BLOCKS: Final = 40


class RowKind(Enum):
    """What a row shows; each kind has a widget class of its own."""

    PENDING = auto()
    BUBBLE = auto()
    TEXT = auto()
    CODE = auto()
    TABLE = auto()
    FORMULA = auto()
    REASONING = auto()
    WAITING = auto()
    NOTE = auto()
    META = auto()
    CUT = auto()
    EDITOR = auto()


@dataclass(eq=False, slots=True)
class Row:
    """One row.

    Attributes:
        content: blocks of a TEXT row, the block of CODE and FORMULA, a `TableSlice` of TABLE,
            else the message.
        gap: space above it, in design pixels.
        height: measured at ``measured_width``, estimated while that is 0; pixels, without gap.
        widget: what shows it, while it is near the view.
        reasoning: whether it belongs to the reasoning and is drawn quieter.
        live: whether it may still grow; a live code block is not highlighted yet.
        expanded: whether a long block is shown whole.
        caret: whether the text is being written at its end.
    """

    kind: RowKind
    content: Any
    gap: int = 0
    height: int = 24
    measured_width: int = 0
    widget: Any = None
    reasoning: bool = False
    live: bool = False
    expanded: bool = False
    caret: bool = False

    def invalidate(self) -> None:
        """Say that the height must be measured again."""
        self.measured_width = 0


def _kind_of(block: Block) -> RowKind:
    match block:
        case Code():
            return RowKind.CODE
        case Table():
            return RowKind.TABLE
        case Formula():
            return RowKind.FORMULA
        case _:
            return RowKind.TEXT


@dataclass(frozen=True, slots=True)
class _Group:
    """What one row shows, and how many blocks are done with it (0 for a table that goes on)."""

    kind: RowKind
    content: Any
    blocks: int


def _groups(blocks: Sequence[Block], frozen: int, *, live: bool) -> Iterator[_Group]:
    """Yield what each row shows: texts together, but not too much, anything else alone.

    The first ``frozen`` blocks do not change any more.
    """
    run: list[Block] = []
    size = 0
    for number, block in enumerate(blocks):
        kind = _kind_of(block)
        full = size >= _SEGMENT_LENGTH or len(run) >= _SEGMENT_BLOCKS
        if run and (kind is not RowKind.TEXT or full):
            yield _Group(RowKind.TEXT, tuple(run), len(run))
            run, size = [], 0
        if kind is RowKind.TEXT:
            run.append(block)
            size += block_length(block)
        elif isinstance(block, Table):
            for piece in slices_of(block, live=live and number >= frozen):
                yield _Group(kind, piece, int(piece.last))
        else:
            yield _Group(kind, block, 1)
    if run:
        yield _Group(RowKind.TEXT, tuple(run), len(run))


_GAPS: Final = {RowKind.CODE: 8, RowKind.TABLE: 10, RowKind.FORMULA: 10}


def _estimate(content: Any) -> int:
    match content:
        case Code(text=text):
            return 50 + 19 * min(text.count("\n") + 1, 40)
        case TableSlice(rows=rows, first=first):
            return 28 * (len(rows) + (not first))
        case Formula():
            return 48
    length = sum(block_length(block) for block in content)
    return 21 * (length // 90 + len(content)) + 6 * len(content)


@dataclass(slots=True)
class BlockRows:
    """The rows of one Markdown text, kept in step with it while it grows."""

    stream: StreamMarkdown
    reasoning: bool = False
    rows: list[Row] = field(default_factory=list)
    _stable_rows: int = 0
    _stable_blocks: int = 0

    def sync(self, *, live: bool) -> tuple[list[Row], list[Row]]:
        """Bring the rows up to date with the text.

        Returns the rows whose content has changed and those that are gone. Work is done for the
        end of the text alone: from the last row that may still change.
        """
        frozen = self.stream.frozen
        blocks = (*frozen[self._stable_blocks :], *self.stream.tail)
        groups = list(_groups(blocks, len(frozen) - self._stable_blocks, live=live))
        changed: list[Row] = []
        gone: list[Row] = []
        position = self._stable_rows
        placed = self._stable_blocks
        previous = self.rows[position - 1].kind if position else None
        for index, group in enumerate(groups):
            kind, content = group.kind, group.content
            goes_on = isinstance(content, TableSlice) and content.first > 0
            still_live = live and placed + max(group.blocks, 1) > len(frozen)
            placed += group.blocks
            at = position + index
            row = self.rows[at] if at < len(self.rows) else None
            if row is None or row.kind is not kind:
                if row is not None:
                    gone.append(row)
                row = Row(kind, content, reasoning=self.reasoning, live=still_live)
                row.height = _estimate(content)
                self.rows[at : at + 1] = [row]
                changed.append(row)
            elif row.content != content or row.live != still_live:
                row.content, row.live = content, still_live
                row.invalidate()
                changed.append(row)
            row.gap = 0 if goes_on else self._gap(previous, kind)
            previous = kind
        end = position + len(groups)
        gone.extend(self.rows[end:])
        del self.rows[end:]
        self._advance(groups)
        return changed, gone

    @staticmethod
    def _gap(above: RowKind | None, kind: RowKind) -> int:
        """Return the space above a row, in design pixels."""
        if above is None:
            return 0
        return max(_GAPS.get(kind, 0), _GAPS.get(above, 0), 8)

    def _advance(self, groups: list[_Group]) -> None:
        """Note the rows that can't change any more: all but the last, if of frozen blocks."""
        frozen = len(self.stream.frozen)
        rows = blocks = 0
        for group in groups[:-1]:
            rows += 1
            blocks += group.blocks
            if self._stable_blocks + blocks > frozen:
                break
            if group.blocks:
                self._stable_blocks += blocks
                self._stable_rows += rows
                rows = blocks = 0

    def move_to(self, stream: StreamMarkdown) -> None:
        """Take another text in place of this one; rows that stay alike are kept."""
        self.stream = stream
        self._stable_blocks = self._stable_rows = 0
