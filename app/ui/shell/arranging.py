"""From one order of a list's rows to another in few steps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

__all__ = ["Came", "Moved", "Step", "Went", "arranging"]

_Key = TypeVar("_Key", bound=Hashable)


class Came(NamedTuple):
    """A row that was not there; it is at its last place at once."""

    place: int


class Went(NamedTuple):
    """A row that is there no more."""

    place: int


class Moved(NamedTuple):
    """A row at another place; ``target`` counts without the row itself."""

    source: int
    target: int


Step: TypeAlias = Came | Went | Moved
"""Places are those of the list as the steps before have left it."""


def arranging(old: Sequence[_Key], new: Sequence[_Key], most: int) -> list[Step] | None:
    """Return the steps, or None if there would be more than ``most``. Keys are unique in each."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    now = list(old[same : len(old) - tail])
    wanted = list(new[same : len(new) - tail])
    places = {key: place for place, key in enumerate(wanted)}

    gone = [place for place, key in enumerate(now) if key not in places]
    if len(gone) > most:
        return None
    steps: list[Step] = [Went(same + place) for place in reversed(gone)]
    for place in reversed(gone):
        del now[place]
    there = set(now)
    for place, key in enumerate(wanted):
        while now[place : place + 1] != [key]:
            if len(steps) == most:
                return None
            if key not in there:
                now.insert(place, key)
                steps.append(Came(same + place))
                break
            source, target = now.index(key), place
            if source == place + 1 and now[place] != wanted[source]:
                # The row in between belongs further down: it moves, not all those below it.
                source, before = place, wanted[: places[now[place]]]
                target = next(now.index(key) for key in reversed(before) if key in there)
            now.insert(target, now.pop(source))
            steps.append(Moved(same + source, same + target))
    return steps
