"""What came of a round of faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["KILLED_GOAL_S", "Outcome", "Wrong", "check"]

KILLED_GOAL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a round. ``problem`` says what did not work, if anything didn't.

    ``held_to_goal`` is False where a loss can't be helped: what lies in memory alone because the
    disk is full ends with the process. ``way`` is what was done within the kind.
    """

    kind: str
    lost_characters: int = 0
    lost_s: float = 0.0
    problem: str = ""
    held_to_goal: bool = True
    way: str = ""
    took_s: float = 0.0

    @property
    def is_late(self) -> bool:
        """Whether more than a second of a reply was lost where that can be helped."""
        return self.held_to_goal and self.lost_s > KILLED_GOAL_S


class Wrong(Exception):  # noqa: N818 - what a round found
    """Something that should work did not."""


def check(so: bool, what: str) -> None:
    """Raise `Wrong` unless something is so."""
    if not so:
        raise Wrong(what)
