"""How much work something is, in calls of functions: the same on every machine, however busy.

What takes time that grows with what a file claims, or with the square of a text, makes calls as
often as that; so a bound on them says "at once" without a clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

__all__ = ["calls_of", "within_calls"]

T = TypeVar("T")


class _TooMuchWork(BaseException):
    """Ends what goes on; nothing that is tested catches it."""


def within_calls(most: int, work: Callable[[], T]) -> T:
    """Return what ``work`` returns; AssertionError as soon as it has made more calls than that.

    Counted are calls of functions of Python and of C, on this thread.
    """
    result, _ = _counted(most, work)
    return result


def calls_of(work: Callable[[], object]) -> int:
    """Return how many calls ``work`` makes."""
    return _counted(sys.maxsize, work)[1]


def _counted(most: int, work: Callable[[], T]) -> tuple[T, int]:
    calls = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        if event in {"call", "c_call"}:
            calls += 1
            if calls > most:
                raise _TooMuchWork

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    except _TooMuchWork:
        raise AssertionError(f"more than {most:,} calls") from None
    finally:
        sys.setprofile(before)
    return result, calls
