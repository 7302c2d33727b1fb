"""Where labels go in a plot: never on each other, and off the lines where that can be had.

Pure geometry in pixels. A label has places in the order in which it would like them; the first
labels choose first; one that finds no place is left out, since two labels on each other say less
than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Box", "Segment", "Wish", "around", "place_labels"]

Segment: TypeAlias = tuple[float, float, float, float]
"""A stretch of a line: x and y of its ends."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the screen."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its far edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    def overlaps(self, other: Box, gap: float = 0.0) -> bool:
        """Tell whether the two share an area, or come nearer than ``gap``."""
        return (
            self.left < other.right + gap
            and other.left < self.right + gap
            and self.top < other.bottom + gap
            and other.top < self.bottom + gap
        )

    def holds(self, other: Box) -> bool:
        """Tell whether ``other`` lies inside."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )

    def crossed_by(self, line: Segment) -> bool:
        """Tell whether a stretch of a line runs through."""
        x1, y1, x2, y2 = line
        start, end = 0.0, 1.0
        for origin, delta, low, high in (
            (x1, x2 - x1, self.left, self.right),
            (y1, y2 - y1, self.top, self.bottom),
        ):
            if delta == 0.0:
                if not low < origin < high:
                    return False
                continue
            enter, leave = sorted(((low - origin) / delta, (high - origin) / delta))
            start, end = max(start, enter), min(end, leave)
        return start < end


@dataclass(frozen=True, slots=True)
class Wish:
    """A label's places, the best first."""

    key: str
    places: tuple[Box, ...]


def around(x: float, y: float, width: float, height: float, gap: float) -> tuple[Box, ...]:
    """Return places around a point: upper left, lower right, and so on round it."""
    left, right = x - gap - width, x + gap
    above, below = y - gap - height, y + gap
    middle = x - width / 2
    return tuple(
        Box(at, top, width, height)
        for at, top in (
            (left, above),
            (right, below),
            (middle, above),
            (middle, below),
            (left, y - height / 2),
            (right, y - height / 2),
            (right, above),
            (left, below),
        )
    )


def place_labels(
    wishes: Sequence[Wish],
    bounds: Box,
    obstacles: Sequence[Box] = (),
    lines: Sequence[tuple[Segment, float]] = (),
    gap: float = 2.0,
) -> dict[str, Box]:
    """Return the place of each label that has one.

    A place must lie within ``bounds`` and touch no obstacle and no earlier label; among those the
    one is taken that ``lines`` of the least weight run through, the earlier wish if several are
    alike.
    """
    placed: dict[str, Box] = {}
    for wish in wishes:
        taken = [*obstacles, *placed.values()]
        free = [
            place
            for place in wish.places
            if bounds.holds(place) and not any(place.overlaps(other, gap) for other in taken)
        ]
        if free:
            placed[wish.key] = min(
                free,
                key=lambda place: sum(weight for line, weight in lines if place.crossed_by(line)),
            )
    return placed
