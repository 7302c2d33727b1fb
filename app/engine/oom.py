"""How many processes the system has ended for lack of memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

__all__ = ["killed_since", "oom_kills"]

_COUNTERS: Final = Path("/proc/vmstat")


def oom_kills(counters: Path = _COUNTERS) -> int | None:
    """Return how many processes the kernel has ended for lack of memory, None if it doesn't say."""
    if sys.platform != "linux":
        return None
    try:
        text = counters.read_text("ascii", "replace")
    except OSError:
        return None
    lines = (line.split() for line in text.splitlines() if line.startswith("oom_kill "))
    return next((int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()), None)


def killed_since(before: int | None, now: int | None) -> int | None:
    """Return how many it ended between two counts of `oom_kills`, None where it doesn't count."""
    return None if before is None or now is None else max(0, now - before)
