"""Where every message lies, and which place the reader looks at.

Heights are estimates until a row is measured, and measured heights change (a reply grows, a
formula arrives, the window gets narrower). The reading place is therefore not a number of pixels
but an anchor: a row, a share of its height, and where on the screen that point is. Whatever
changes elsewhere, the anchored point stays where it was. Knows no Qt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.ui.transcript.entries import Entries
from app.ui.transcript.entry import Entry
from app.ui.transcript.heights import Heights
from app.ui.transcript.items import MessageView
from app.ui.transcript.rows import Row

__all__ = ["MESSAGE_GAP", "Anchor", "Flow", "Placed"]

MESSAGE_GAP: Final = 18
"""Space between messages, in design pixels."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point that stays: ``share`` of a row's height, ``offset`` pixels below the view's top."""

    entry: Entry
    row: Row
    share: float = 0.0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """A row at its place; ``top`` is in pixels from the top of the conversation."""

    index: int
    entry: Entry
    row: Row
    top: int

    @property
    def bottom(self) -> int:
        """Where it ends."""
        return self.top + self.row.height


class Flow:
    """The messages one below the other.

    Attributes:
        scale: by which design pixels (gaps) are multiplied.
        padding: space above the first and below the last message, in pixels.
        follow: whether the end is kept in view.
    """

    def __init__(self) -> None:
        self.entries = Entries()
        self.scale = 1.0
        self.padding = 22
        self.follow = True
        self._index: dict[str, int] = {}
        self._heights = Heights()
        self._anchor: Anchor | None = None

    def set_entries(self, entries: Sequence[Entry | MessageView]) -> None:
        """Begin anew with these messages, at the end; entries of views are made when needed."""
        self.entries = Entries(entries)
        self._reindex()
        self._measure_all()
        self._anchor = None
        self.follow = True

    def _reindex(self) -> None:
        ids = self.entries.ids()
        self._index = dict(zip(ids, range(len(ids)), strict=True))

    def _measure_all(self) -> None:
        gap = round(MESSAGE_GAP * self.scale)
        self._heights = Heights([high + gap for high in self.entries.heights(self.scale)])

    def _height(self, entry: Entry) -> int:
        return entry.height(self.scale) + round(MESSAGE_GAP * self.scale)

    def index_of(self, message_id: str) -> int | None:
        """Return a message's position, None when it is not here."""
        return self._index.get(message_id)

    def find(self, message_id: str) -> Entry | None:
        """Return a message's entry."""
        index = self._index.get(message_id)
        return None if index is None else self.entries[index]

    def append(self, entry: Entry) -> None:
        """Add a message at the end."""
        self._index[entry.view.id] = len(self.entries)
        self.entries.append(entry)
        self._heights.append(self._height(entry))

    def insert(self, index: int, entry: Entry) -> None:
        """Put a message before the one at ``index``.

        Where the reading place begins with that one it begins with the new one now: what was
        taken out by mistake comes back where it stood.
        """
        before = self.entries[index] if index < len(self.entries) else None
        self.entries.insert(index, entry)
        self._heights.insert(index, self._height(entry))
        self._reindex()
        anchor = self._anchor
        if anchor is None or before is None or anchor.row is not before.rows[0]:
            return
        if anchor.offset >= 0 and not anchor.share:
            self._anchor = Anchor(entry, entry.rows[0], 0.0, anchor.offset)

    def remove(self, message_id: str) -> Entry | None:
        """Take a message out; the reading place moves to its neighbour if it was there."""
        index = self._index.get(message_id)
        if index is None:
            return None
        entry = self.entries.pop(index)
        self._heights.remove(index)
        self._reindex()
        if self._anchor is not None and self._anchor.entry is entry:
            near = self.entries[min(index, len(self.entries) - 1)] if self.entries else None
            offset = self._anchor.offset
            self._anchor = Anchor(near, near.rows[0], 0.0, offset) if near is not None else None
        return entry

    def resized(self, entry: Entry) -> None:
        """Take notice that rows of a message have another height."""
        index = self._index.get(entry.view.id)
        if index is not None:
            self._heights.set(index, self._height(entry))

    def rescale(self, scale: float, padding: int) -> None:
        """Take another size of gaps and text: all rows are to be measured again."""
        for entry in self.entries.made():
            for row in entry.rows:
                row.invalidate()
        self.scale, self.padding = scale, padding
        self._measure_all()

    @property
    def total(self) -> int:
        """Height of everything, in pixels."""
        gap = round(MESSAGE_GAP * self.scale) if self.entries else 0
        return self._heights.total - gap + 2 * self.padding

    def top_of(self, entry: Entry, row: Row | None = None) -> int:
        """Return where a message, or one of its rows, begins."""
        index = self._index[entry.view.id]
        top = self.padding + self._heights.before(index)
        if row is not None:
            for other in entry.rows:
                top += round(other.gap * self.scale)
                if other is row:
                    break
                top += other.height
        return top

    def limit(self, view_height: int) -> int:
        """Return how far can be scrolled."""
        return max(self.total - view_height, 0)

    def position(self, view_height: int) -> int:
        """Return how far is scrolled now: where the top of the view lies."""
        limit = self.limit(view_height)
        anchor = self._anchor
        if self.follow or anchor is None:
            return limit if self.follow else 0
        if anchor.row not in anchor.entry.rows:
            anchor = self._anchor = self._moved(anchor)
        point = self.top_of(anchor.entry, anchor.row) + round(anchor.share * anchor.row.height)
        return min(max(point - anchor.offset, 0), limit)

    def _moved(self, anchor: Anchor) -> Anchor:
        """Return an anchor whose row is gone, on the row that now lies at the same share."""
        entry = anchor.entry
        old = max(anchor.row.height, 1)
        share = min(max(anchor.share, 0.0), 1.0)
        into = share
        offset = anchor.offset
        if offset < 0:
            into, offset = min(share - offset / old, 1.0), 0
        target = into * entry.height(self.scale)
        top = 0.0
        for row in entry.rows:
            top += round(row.gap * self.scale)
            if top + row.height >= target or row is entry.rows[-1]:
                within = min(max((target - top) / max(row.height, 1), 0.0), 1.0)
                return Anchor(entry, row, within, offset)
            top += row.height
        return Anchor(entry, entry.rows[0], 0.0, offset)

    def between(self, top: int, bottom: int) -> Iterator[Placed]:
        """Yield the rows that lie at least in part between two heights."""
        if not self.entries:
            return
        index = self._heights.find(max(top - self.padding, 0))
        while index < len(self.entries):
            entry = self.entries[index]
            y = self.padding + self._heights.before(index)
            if y >= bottom:
                return
            for row in list(entry.rows):
                y += round(row.gap * self.scale)
                if y >= bottom:
                    return
                if y + row.height > top or (row.height == 0 and y >= top):
                    yield Placed(index, entry, row, y)
                y += row.height
            index += 1

    def keep_place(self, view_height: int, *, by_share: bool = False) -> None:
        """Anchor what is at the top of the view.

        ``by_share`` keeps the share of that row rather than its top, for changes that make every
        row higher or lower (another width, another text size).
        """
        self._anchor = None if self.follow else self._anchor_here(view_height, by_share=by_share)

    def _anchor_here(self, view_height: int, *, by_share: bool = False) -> Anchor | None:
        """Return an anchor for what is in view: the first whole row of known height, if any."""
        position = self.position(view_height)
        best: Placed | None = None
        for placed in self.between(position, position + view_height):
            best = best or placed
            if placed.top >= position and placed.row.measured_width:
                if not by_share or best.row is placed.row or not best.row.measured_width:
                    best = placed
                break
        if best is None:
            return None
        if by_share and best.top < position:
            share = (position - best.top) / max(best.row.height, 1)
            return Anchor(best.entry, best.row, share, 0)
        return Anchor(best.entry, best.row, 0.0, best.top - position)

    def scroll_to(self, position: int, view_height: int) -> None:
        """Let the view begin at a height; near ones keep their anchor, so nothing jumps."""
        current = self.position(view_height)
        anchor = self._anchor or self._anchor_here(view_height)
        self.follow = position >= self.limit(view_height)
        if self.follow:
            self._anchor = None
            return
        if anchor is None or abs(position - current) > 2 * view_height:
            placed = next(iter(self.between(position, position + view_height)), None)
            if placed is None:
                return
            share = max(position - placed.top, 0) / max(placed.row.height, 1)
            self._anchor = Anchor(placed.entry, placed.row, share, max(placed.top - position, 0))
            return
        moved = anchor.offset - (position - current)
        self._anchor = Anchor(anchor.entry, anchor.row, anchor.share, moved)

    def scroll_to_row(self, entry: Entry, row: Row, offset: int, share: float = 0.0) -> None:
        """Let a row stand ``offset`` pixels below the top of the view."""
        self.follow = False
        self._anchor = Anchor(entry, row, share, offset)
