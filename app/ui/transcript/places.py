"""Places of a text in a conversation: how many each message has, and one of them brought into view.

A message that was not looked at is not parsed to be counted: its source is. Once it is opened the
text that is shown is counted, which is less where the source says what nobody sees (addresses of
links, marks, a formula that has the text twice).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from shiboken6 import isValid

from app.ui.transcript.entry import Entry
from app.ui.transcript.items import MessageView
from app.ui.transcript.place_text import fold, shown
from app.ui.transcript.rows import Row, RowKind

if TYPE_CHECKING:
    from app.ui.transcript.flow import Flow
    from app.ui.transcript.navigation import Navigator
    from app.ui.transcript.stage import Stage
    from app.ui.transcript.view import Transcript

__all__ = ["Places"]

_ROLES: Final = ("user", "assistant")
_STEP: Final = 100
"""Messages counted in one step: few enough for a part of a millisecond."""


def _count(text: str, needle: str) -> int:
    """Return how many places a text has; ``needle`` is folded and not empty."""
    return fold(text).count(needle)


class Places:
    """Counts places, a few messages at a time, and shows one of them."""

    def __init__(
        self, transcript: Transcript, flow: Flow, stage: Stage, navigator: Navigator
    ) -> None:
        self._transcript = transcript
        self._flow = flow
        self._stage = stage
        self._navigator = navigator
        self._selected: Any = None  # the widget in which a place is selected
        self._needle = ""
        self._known: dict[str, tuple[MessageView, tuple[bool, ...], int]] = {}

    def look_for(self, needle: str) -> None:
        """Take a text; what is counted from now on are its places, none of an empty one."""
        folded = fold(needle.strip())
        if folded == self._needle:
            return
        # Where a text is not, a longer one that has it in it is not either.
        longer = bool(self._needle) and self._needle in folded
        self._known = {k: v for k, v in self._known.items() if longer and not v[2]}
        self._needle = folded

    def counts(self, needle: str) -> list[tuple[str, int]]:
        """Return the messages that have a text, from the first on, and at how many places.

        Takes as long as the chat is: `counting` does the same in steps.
        """
        self.look_for(needle)
        return [found for step in self.counting() for found in step][::-1]

    def counting(self) -> Iterator[list[tuple[str, int]]]:
        """Yield the messages that have the text, from the last on, and at how many places.

        Each step is short and may have found none. Parses and lays out nothing: of a message that
        was never near the view the source counts. What was opened is told by `shown_counts`.
        """
        if not self._needle:
            return
        views = tuple(self._flow.entries.views())
        opened = self._opened()
        for at in range(0, len(views), _STEP):
            step = ((v.id, self._count_of(v, opened.get(v.id))) for v in views[at : at + _STEP])
            yield [found for found in step if found[1]]

    def shown_counts(self) -> dict[str, int]:
        """Return at how many places the messages that were parsed show the text, 0 included.

        They may have been parsed, unfolded or written since they were counted.
        """
        if not self._needle:
            return {}
        return {key: self._count_of(entry.view, entry) for key, entry in self._opened().items()}

    def index_of(self, message_id: str) -> int:
        """Return where a message stands among all, -1 for one that is not here."""
        index = self._flow.index_of(message_id)
        return -1 if index is None else index

    def _opened(self) -> dict[str, Entry]:
        return {e.view.id: e for e in self._flow.entries.made() if e.is_open and not e.editing}

    def _count_of(self, view: MessageView, entry: Entry | None) -> int:
        if view.role not in _ROLES:
            return 0
        state = (entry is not None, entry is not None and entry.unfolded)
        known = self._known.get(view.id)
        if known is not None and known[0] is view and known[1] == state:
            return known[2]
        if entry is None or view.role == "user":
            count = _count(view.text, self._needle)
        else:
            count = sum(shown(row).count(self._needle) for row in entry.rows)
        if view.reasoning and not state[1]:
            count += _count(view.reasoning, self._needle)
        self._known[view.id] = view, state, count
        return count

    def read(self, message_id: str) -> int:
        """Parse a message; return at how many places it shows what was counted last."""
        entry = self._flow.find(message_id)
        if entry is None:
            return 0
        if not entry.is_open:
            self._stage.changed(entry, [], entry.open() or [])
        return self._count_of(entry.view, entry) if self._needle else 0

    def show(self, message_id: str, needle: str, number: int = 0) -> bool:
        """Bring place ``number`` (from 0) of a message into view and select it there.

        What is folded is unfolded for it. Returns whether there is such a place; where there is
        none the message's beginning comes into view.
        """
        entry = self._flow.find(message_id)
        if entry is None:
            return False
        if self._selected is not None and isValid(self._selected):
            self._selected.select_text("")
        self._selected = None
        self.read(message_id)
        found = self._row_of(entry, fold(needle.strip()), number)
        row, within = found or (entry.rows[0], 0)
        if not row.expanded:
            row.expanded = True
            self._stage.changed(entry, [row], [])
        third = self._transcript.viewport().height() // 3
        self._flow.scroll_to_row(entry, row, third)
        self._stage.bring(entry, row)
        down = 0
        if found is not None and hasattr(row.widget, "select_text"):
            self._selected = row.widget
            down = row.widget.select_text(needle.strip(), within)
        self._transcript.jump(entry, row, third - down)
        self._navigator.set_current(message_id)
        return found is not None

    def leave(self) -> None:
        """Mark no formula any more; text stays selected, to be copied."""
        if self._selected is not None and isValid(self._selected):
            unmark = getattr(self._selected, "unmark", None)
            if unmark is not None:
                unmark()

    def _row_of(self, entry: Entry, needle: str, number: int) -> tuple[Row, int] | None:
        """Return the row of a place and which of the row's places it is."""
        if not needle:
            return None
        thought = 0 if entry.unfolded else _count(entry.view.reasoning, needle)
        if number < thought:
            entry.unfolded = True
            self._sync(entry, again=RowKind.REASONING)
            thought = 0
        left = number - thought
        found = self._row_with(entry, needle, left)
        if found is None and entry.view.role == "user" and not entry.whole:
            entry.whole = True
            self._sync(entry)
            found = self._row_with(entry, needle, left)
        return found

    @staticmethod
    def _row_with(entry: Entry, needle: str, left: int) -> tuple[Row, int] | None:
        for row in entry.rows:
            here = shown(row).count(needle)
            if left < here:
                return row, left
            left -= here
        return None

    def _sync(self, entry: Entry, again: RowKind | None = None) -> None:
        changed, gone = entry.sync()
        changed.extend(row for row in entry.rows if row.kind is again and row not in changed)
        self._stage.changed(entry, changed, gone)
