"""How fast bytes arrive, and how long the rest will take."""

from __future__ import annotations

from collections import deque
from typing import Final

__all__ = ["RateMeter"]

_WINDOW_S: Final = 6.0
_LEAST_S: Final = 0.4


class RateMeter:
    """A rate over the last seconds, so that neither a burst nor an old pause shows for long."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, at_s: float, done_bytes: int) -> None:
        """Note how much has arrived at a time of a monotonic clock."""
        samples = self._samples
        samples.append((at_s, done_bytes))
        while len(samples) > 2 and at_s - samples[1][0] >= _WINDOW_S:
            samples.popleft()

    def bytes_per_s(self) -> float | None:
        """Return the rate, None until enough was seen."""
        if len(self._samples) < 2:
            return None
        (start_s, start), (end_s, end) = self._samples[0], self._samples[-1]
        if end_s - start_s < _LEAST_S:
            return None
        return max(end - start, 0) / (end_s - start_s)

    def left_s(self, left_bytes: int) -> float | None:
        """Return the seconds that the rest takes at the present rate."""
        rate = self.bytes_per_s()
        return left_bytes / rate if rate else None
