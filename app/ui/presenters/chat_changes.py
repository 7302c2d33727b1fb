"""What makes one list of messages out of another, so that what stays keeps its place on screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from app.ui.transcript.items import MessageView

__all__ = ["ListChange", "list_change"]

_MOST: Final = 20
"""Messages taken out or put in one by one; with more the list is shown anew."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """Steps from one list to another, in this order.

    Attributes:
        gone: ids of messages to take out.
        come: messages to put in, each with its index in the new list, from the first on.
        other: messages that stay and have another value.
    """

    gone: tuple[str, ...]
    come: tuple[tuple[int, MessageView], ...]
    other: tuple[MessageView, ...]


def _alike(before: Sequence[MessageView], after: Sequence[MessageView]) -> int:
    """Return how many messages at the beginning of both are the same ones."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old.id != new.id:
            break
        count += 1
    return count


def list_change(before: Sequence[MessageView], after: Sequence[MessageView]) -> ListChange | None:
    """Return what makes ``after`` of ``before``; None where it is simpler to show it anew.

    That is where there was nothing, where some went and others came (another version or branch),
    and where very many did. Messages at the end may come in any number.
    """
    if not before:
        return None
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    wanted, known = {view.id for view in new}, {view.id: view for view in old}
    gone = tuple(view.id for view in old if view.id not in wanted)
    come = tuple((head + at, view) for at, view in enumerate(new) if view.id not in known)
    if (gone and come) or (tail and len(gone) + len(come) > _MOST) or len(gone) > _MOST:
        return None
    stay = [view for view in new if view.id in known]
    if [view.id for view in stay] != [view.id for view in old if view.id in wanted]:
        return None  # they stand in another order
    pairs = chain(
        zip(before[:head], after[:head], strict=True),
        ((known[view.id], view) for view in stay),
        zip(before[len(before) - tail :], after[len(after) - tail :], strict=True),
    )
    other = tuple(value for was, value in pairs if was is not value and was != value)
    return ListChange(gone, come, other)
