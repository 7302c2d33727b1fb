"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
import time
from datetime import datetime
from pathlib import Path

__all__ = ["atomic_write", "damaged_name", "free_name", "sweep"]

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


def damaged_name(path: Path, now: datetime) -> Path:
    """Return a dated name for a damaged file that is set aside: none replaces an earlier one."""
    return free_name(path, f"damaged-{now:%Y-%m-%d-%H%M%S}")


def free_name(path: Path, label: str) -> Path:
    """Return a name beside a file, with a label before its ending, that nothing has yet.

    Raises:
        FileExistsError: there are ten thousand.
    """
    base = path.name.removesuffix(path.suffix)
    for number in range(1, 10_000):
        tail = f"-{number}" if number > 1 else ""
        candidate = path.with_name(f"{base}.{label}{tail}{path.suffix}")
        if not candidate.exists():
            return candidate
    raise FileExistsError(f"too many files like {candidate.name}")


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
