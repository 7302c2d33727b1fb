"""What is different since the models were looked at last: new, gone, changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from app.data.library.entries import ModelEntry

__all__ = ["LibraryChanges", "changes_between"]


@dataclass(frozen=True, slots=True)
class LibraryChanges:
    """Entries that are new, whose files have gone, and whose files are others than before."""

    new: tuple[ModelEntry, ...] = ()
    gone: tuple[ModelEntry, ...] = ()
    changed: tuple[ModelEntry, ...] = ()


def changes_between(
    before: Iterable[ModelEntry], after: Iterable[ModelEntry], *, expected: frozenset[Path]
) -> LibraryChanges:
    """Return what a scan found different; asks the disk whether missing files are really gone.

    ``expected`` are files that the program itself moved away or is writing. Files that are there
    but are no longer looked for, because a folder was taken from the settings, have not gone.
    """
    old = {entry.path: entry for entry in before}
    now = {entry.path: entry for entry in after}
    gone = [
        entry
        for path, entry in old.items()
        if path not in now and path not in expected and not _exists(path)
    ]
    changed = [
        entry
        for path, entry in now.items()
        if path in old and old[path].stamp != entry.stamp and path not in expected
    ]
    new = [entry for path, entry in now.items() if path not in old]
    return LibraryChanges(tuple(new), tuple(gone), tuple(changed))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # nobody can tell: then nothing is said
