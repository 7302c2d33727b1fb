"""Tables cut into rows of the transcript, so that a table of a thousand lines costs what is seen.

Slices of one table share their columns' widths and stand without a gap, so they read as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from app.ui.transcript.blocks import Align, Place, Span, Table

__all__ = ["SLICE_ROWS", "TableSlice", "column_widths", "slices_of"]

SLICE_ROWS: Final = 12

Cell: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class TableSlice:
    """Some lines of a table.

    Attributes:
        first: number of its first line in the table; the slice with 0 shows the header.
        last: whether the table ends here.
        widest: what makes every column of the whole table as wide as it is: its head, and the
            cell that is likely to be the widest.
        total: lines of the whole table.
    """

    header: tuple[tuple[Span, ...], ...]
    aligns: tuple[Align, ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    place: Place
    first: int
    last: bool
    widest: tuple[tuple[Cell, Cell], ...]
    total: int

    @property
    def table(self) -> Table:
        """The slice as a table of its own."""
        return Table(self.header, self.aligns, self.rows, self.place)


def _size(cell: Cell) -> int:
    """Return about how wide a cell is drawn; code is set wider than text."""
    return sum(len(span.text) * (6 if span.code else 5) for span in cell)


def _widest(table: Table, limit: int | None) -> tuple[tuple[Cell, Cell], ...]:
    """Return head and widest cell of every column, looking at so many lines."""
    found: list[Cell] = [()] * len(table.header)
    sizes = [0] * len(found)
    for row in table.rows[:limit]:
        for column, cell in enumerate(row):
            size = _size(cell)
            if size > sizes[column]:
                found[column], sizes[column] = cell, size
    return tuple(zip(table.header, found, strict=True))


def slices_of(table: Table, *, live: bool) -> Iterator[TableSlice]:
    """Cut a table.

    While it grows the widths come from its first lines alone: they would else change, and every
    slice with them, whenever a longer cell arrives.
    """
    widest = _widest(table, SLICE_ROWS if live else None)
    total = len(table.rows)
    for first in range(0, max(total, 1), SLICE_ROWS):
        rows = table.rows[first : first + SLICE_ROWS]
        last = first + SLICE_ROWS >= total
        place = table.place if not first else Place(table.place.quotes, table.place.items)
        # A slice that is full does not change when the table grows.
        shown_total = 0 if live else total
        yield TableSlice(table.header, table.aligns, rows, place, first, last, widest, shown_total)


def column_widths(natural: list[float], room: float, narrowest: float) -> list[float]:
    """Return column widths for a room: natural ones if they fit, else the longest wrap.

    The longest columns share what the others leave, but none is pressed below ``narrowest``
    (unless it needs less); what does not fit then is scrolled to.
    """
    if sum(natural) <= room:
        return natural
    left, limit = room, 0.0
    for index, width in enumerate(sorted(natural)):
        limit = left / (len(natural) - index)
        if width > limit:
            break
        left -= width
    limit = max(limit, narrowest)
    return [min(width, limit) for width in natural]
