"""Memory of a process, split into what only it holds and pages of files that it maps.

A model that is mapped counts in the resident size, but the system takes those pages back whenever
it likes: shown as used memory they would be counted twice, left out the process would look empty.
"""

from __future__ import annotations

import sys

import psutil

__all__ = ["process_memory"]


def process_memory(pid: int | None = None) -> tuple[int | None, int | None]:
    """Return (private bytes, bytes of mapped files in memory) of a process, this one by default.

    None is unknown: the process is gone, or the system doesn't tell them apart.
    """
    system: str = sys.platform
    try:
        process = psutil.Process(pid)
        info = process.memory_info()
        if system.startswith("linux"):
            return info.rss - info.shared, info.shared
        private = process.memory_full_info().uss
    except psutil.Error:
        return None, None
    return private, max(info.rss - private, 0)
