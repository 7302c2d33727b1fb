"""Facts of draft models: read once as long as the file stays as it is."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError

__all__ = ["draft_facts"]


def draft_facts(path: str | None) -> ModelFacts | None:
    """Return what a draft model's file says, None without one or where it can't be read.

    Some milliseconds at the first call for a file.
    """
    if not path:
        return None
    try:
        found = Path(path).stat()
        return _read(path, found.st_size, found.st_mtime_ns)
    except (HeaderError, OSError, ValueError):
        return None


@lru_cache(maxsize=8)
def _read(path: str, _size: int, _changed_ns: int) -> ModelFacts:
    return read_facts(path)
