"""The messages of a conversation, of which only those that were looked at are entries.

A conversation of thousands is opened at its end: making an entry for every message would cost more
than all that is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from app.ui.transcript.entry import Entry, estimated_height
from app.ui.transcript.items import MessageView

__all__ = ["Entries"]


class Entries(Sequence[Entry]):
    """A list of entries, each made when it is asked for and then kept."""

    def __init__(self, items: Iterable[Entry | MessageView] = ()) -> None:
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        item = self._items[index]
        if isinstance(item, MessageView):
            item = self._items[index] = Entry(item)
        return item

    def made(self) -> Iterator[Entry]:
        """Yield the entries that exist."""
        return (item for item in self._items if isinstance(item, Entry))

    def views(self) -> Iterator[MessageView]:
        """Yield what the messages are, from the last to the first, and make nothing."""
        for item in reversed(self._items):
            yield item if isinstance(item, MessageView) else item.view

    def last_reply(self) -> str:
        """Return the id of the newest reply, "" where there is none; makes nothing."""
        return next((view.id for view in self.views() if view.role == "assistant"), "")

    def ids(self) -> list[str]:
        """Return the messages' ids."""
        return [i.id if isinstance(i, MessageView) else i.view.id for i in self._items]

    def heights(self, scale: float) -> list[int]:
        """Return the height of each, estimated where there is no entry; pixels.

        ``scale`` multiplies the gaps inside a message.
        """
        return [
            estimated_height(item) if isinstance(item, MessageView) else item.height(scale)
            for item in self._items
        ]

    def append(self, item: Entry | MessageView) -> None:
        """Add a message at the end."""
        self._items.append(item)

    def insert(self, index: int, item: Entry | MessageView) -> None:
        """Put a message before the one at ``index``."""
        self._items.insert(index, item)

    def pop(self, index: int) -> Entry:
        """Take a message out."""
        taken = self[index]
        del self._items[index]
        return taken
