"""Finds stop strings in a text that arrives in pieces.

A stop string may span pieces, so text that could still become one is held back, and no more than
that. Pieces know whether they are control tokens; that survives the holding back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["TAG", "Segment", "Segments", "StopScanner"]

# what the special tokens of most vocabularies look like
TAG: Final = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")


@dataclass(frozen=True, slots=True)
class Segment:
    """Text of one kind: what a reader may see, or the name of one control token."""

    text: str
    is_control: bool = False


Segments: TypeAlias = "list[Segment]"

_Kind: TypeAlias = Literal["any", "line", "control"]
# of lines and control tokens; of control tokens
_Openings: TypeAlias = "tuple[AbstractSet[int], AbstractSet[int]]"


class StopScanner:
    """Releases text up to the first stop string.

    Args:
        stops: texts that stop wherever they appear.
        line_stops: texts that stop only at the start of a line, or where they begin with a
            control token: that can't be a quotation.
        control_stops: texts that stop only where they begin with a control token.
        at_line_start: whether the text begins a line.

    Attributes:
        matched: the stop string that was found; nothing is released after it.
    """

    def __init__(
        self,
        stops: Iterable[str] = (),
        line_stops: Iterable[str] = (),
        control_stops: Iterable[str] = (),
        *,
        at_line_start: bool = True,
    ) -> None:
        # a text of several kinds counts where the most liberal of them does
        self._kinds: dict[str, _Kind] = {
            **{s: "control" for s in control_stops if s},
            **{s: "line" for s in line_stops if s},
            **{s: "any" for s in stops if s},
        }
        # the longest first, because one may begin with another
        self._texts = tuple(sorted(self._kinds, key=len, reverse=True))
        self._pattern = re.compile("|".join(map(re.escape, self._texts))) if self._texts else None
        self._bound = any(kind != "any" for kind in self._kinds.values())
        self._first = frozenset(s[0] for s in self._texts)
        self._longest = max(map(len, self._texts), default=0)
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
        openings = self._openings(held, text)
        found = self._search(text, openings)
        if found is not None:
            at, self.matched = found
            self._held = []
            return _cut(held, at)[0]
        keep = self._candidate(text, openings)
        released, self._held = _cut(held, keep)
        if keep:
            self._line_start = text[keep - 1] == "\n"
        return released

    def finish(self) -> Segments:
        """End the text and return what was held back."""
        held, self._held = self._held, []
        return held

    def _openings(self, held: Segments, text: str) -> _Openings:
        """Return the places where lines and control tokens begin."""
        if not self._bound:
            return frozenset(), frozenset()
        lines = {at + 1 for at, character in enumerate(text) if character == "\n"}
        if self._line_start:
            lines.add(0)
        controls: set[int] = set()
        at = 0
        for segment in held:
            if segment.is_control:
                controls.add(at)
            at += len(segment.text)
        return lines | controls, controls

    def _counts(self, stop: str, at: int, openings: _Openings) -> bool:
        """Tell whether a stop string would stop at a place."""
        kind = self._kinds[stop]
        return kind == "any" or at in openings[0 if kind == "line" else 1]

    def _search(self, text: str, openings: _Openings) -> tuple[int, str] | None:
        """Return the leftmost stop string and where it is."""
        assert self._pattern is not None
        match = self._pattern.search(text)
        while match is not None:
            at = match.start()
            for stop in self._texts:
                if text.startswith(stop, at) and self._counts(stop, at, openings):
                    return at, stop
            match = self._pattern.search(text, at + 1)
        return None

    def _candidate(self, text: str, openings: _Openings) -> int:
        """Return where the longest end of a text that may begin a stop string starts."""
        for at in range(max(0, len(text) - self._longest + 1), len(text)):
            if text[at] not in self._first:
                continue
            tail = text[at:]
            if any(s.startswith(tail) and self._counts(s, at, openings) for s in self._texts):
                return at
        return len(text)


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
