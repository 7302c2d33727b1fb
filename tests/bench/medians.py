"""What ratios of neighbouring measurements say about a goal, with the certainty that they have."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CERTAINTY", "Told", "median_range", "told"]

CERTAINTY = 0.95


@dataclass(frozen=True, slots=True)
class Told:
    """A median with its range; ``verdict`` is held, MISSED or open."""

    median: float
    low: float
    high: float
    verdict: str

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.low:.3f}–{self.high:.3f}): {self.verdict}"


def median_range(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest range of ordered values that holds the median with the certainty.

    By the sign test: whatever the distribution, each value lies below its median with a chance of
    one half, so the chance that the median lies outside the k-th lowest and highest is twice that
    of fewer than k heads in as many throws. None where even all of them are too few (under six).
    """
    ordered = sorted(values)
    count = len(ordered)
    outside, cut = 0.0, -1
    for heads in range(count // 2):
        outside += 2 * math.comb(count, heads) / 2**count
        if outside > 1 - CERTAINTY:
            break
        cut = heads
    return None if cut < 0 else (ordered[cut], ordered[count - 1 - cut])


def told(ratios: Sequence[float], goal: float) -> Told:
    """Return what ratios say about a goal that the median should reach."""
    held = median_range(ratios)
    low, high = held or (min(ratios), max(ratios))
    if held is None:
        verdict = "too few to tell"
    elif low >= goal:
        verdict = "held"
    else:
        verdict = "MISSED" if high < goal else "open"
    return Told(statistics.median(ratios), low, high, verdict)
