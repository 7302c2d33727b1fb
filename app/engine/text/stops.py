"""Finds stop strings in a text that arrives in pieces.

A stop string may span pieces, so text that could still become one is held back, and no more than
that. Pieces know whether they are control tokens; that survives the holding back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Segment", "Segments", "StopScanner"]


@dataclass(frozen=True, slots=True)
class Segment:
    """Text of one kind: what a reader may see, or the name of one control token."""

    text: str
    is_control: bool = False


Segments: TypeAlias = "list[Segment]"


class StopScanner:
    """Releases text up to the first stop string.

    Args:
        stops: texts that stop wherever they appear.
        line_stops: texts that stop only at the start of a line .
        at_line_start: whether the text begins a line.

    Attributes:
        matched: the stop string that was found; nothing is released after it.
    """

    def __init__(
        self,
        stops: Iterable[str] = (),
        line_stops: Iterable[str] = (),
        *,
        at_line_start: bool = True,
    ) -> None:
        self._stops = tuple(dict.fromkeys(s for s in stops if s))
        self._line_stops = tuple(dict.fromkeys(s for s in line_stops if s and s not in self._stops))
        self._pattern = _pattern(self._stops, self._line_stops)
        self._first = frozenset(s[0] for s in (*self._stops, *self._line_stops))
        self._longest = max(map(len, (*self._stops, *self._line_stops)), default=0)
        self._held: Segments = []
        self._line_start = at_line_start  # whether the held text begins a line
        self.matched: str | None = None

    def feed(self, segments: Iterable[Segment]) -> Segments:
        """Take text and return what can no longer be part of a stop string."""
        if self.matched is not None:
            return []
        held = [*self._held, *(s for s in segments if s.text)]
        if self._pattern is None:
            return held
        text = "".join(s.text for s in held)
        match = self._search(text)
        if match is not None:
            self.matched = match.group()
            self._held = []
            return _cut(held, match.start())[0]
        keep = self._candidate(text)
        released, self._held = _cut(held, keep)
        if keep:
            self._line_start = text[keep - 1] == "\n"
        return released

    def finish(self) -> Segments:
        """End the text and return what was held back."""
        held, self._held = self._held, []
        return held

    def _search(self, text: str) -> re.Match[str] | None:
        """Return the leftmost stop string."""
        assert self._pattern is not None
        match = self._pattern.search(text)
        while match is not None:
            start = match.start()
            if match.lastgroup == "any" or self._starts_line(text, start):
                return match
            match = self._pattern.search(text, start + 1)
        return None

    def _starts_line(self, text: str, at: int) -> bool:
        return self._line_start if at == 0 else text[at - 1] == "\n"

    def _candidate(self, text: str) -> int:
        """Return where the longest end of a text that may begin a stop string starts."""
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            if text[start] not in self._first:
                continue
            tail = text[start:]
            if any(stop.startswith(tail) for stop in self._stops):
                return start
            if any(stop.startswith(tail) for stop in self._line_stops) and self._starts_line(
                text, start
            ):
                return start
        return len(text)


def _pattern(stops: tuple[str, ...], line_stops: tuple[str, ...]) -> re.Pattern[str] | None:
    groups = [
        f"(?P<{name}>{'|'.join(re.escape(s) for s in sorted(texts, key=len, reverse=True))})"
        for name, texts in (("any", stops), ("line", line_stops))
        if texts
    ]
    return re.compile("|".join(groups)) if groups else None


def _cut(segments: Segments, at: int) -> tuple[Segments, Segments]:
    """Split segments after ``at`` characters."""
    before: Segments = []
    after: Segments = []
    for segment in segments:
        size = len(segment.text)
        if size <= at:
            before.append(segment)
        elif at <= 0:
            after.append(segment)
        else:
            before.append(Segment(segment.text[:at], segment.is_control))
            after.append(Segment(segment.text[at:], segment.is_control))
        at -= size
    return before, after
