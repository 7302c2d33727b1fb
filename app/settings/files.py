"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

__all__ = ["atomic_write", "sweep"]

_HALF = ".new"


def atomic_write(path: Path, data: bytes) -> None:
    """Replace a file whole or not at all: temporary file, flush to disk, rename; mode 0600.

    Raises:
        OSError: the file could not be written; the old one is untouched.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=_HALF)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def sweep(folder: Path, older_than_s: float = 3600.0) -> int:
    """Remove what writers that were killed left in a folder; return how many files that were.

    Younger ones may be another process's, which is writing them now.
    """
    removed = 0
    try:
        found = [path for path in folder.iterdir() if path.suffix == _HALF]
    except OSError:
        return 0
    for path in found:
        try:
            if time.time() - path.stat().st_mtime > older_than_s:
                path.unlink()
                removed += 1
        except OSError:
            continue  # gone meanwhile, or not ours to remove
    return removed
