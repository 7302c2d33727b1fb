"""What the user added to the list of models and removed from it; no file is touched by either."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.data.state import StateFile

__all__ = ["LibraryChoices"]

_ADDED: Final = "library added"
_HIDDEN: Final = "library hidden"
_MOST: Final = 2000


class LibraryChoices:
    """Single files added, and files that are not to be listed; kept in the state file."""

    def __init__(self, state: StateFile) -> None:
        self._state = state

    @property
    def added(self) -> tuple[Path, ...]:
        """Files that lie in none of the folders, in the order they were added."""
        return self._paths(_ADDED)

    @property
    def hidden(self) -> frozenset[Path]:
        """Files that were removed from the list."""
        return frozenset(self._paths(_HIDDEN))

    def add(self, paths: Iterable[Path]) -> None:
        """List files, also those that were removed from the list before."""
        fresh = list(paths)
        self._keep(_ADDED, [*self.added, *fresh])
        self.show(fresh)

    def hide(self, paths: Iterable[Path]) -> None:
        """Remove files from the list."""
        gone = set(paths)
        self._keep(_HIDDEN, [*self._paths(_HIDDEN), *sorted(gone)])

    def show(self, paths: Iterable[Path]) -> None:
        """Put files back."""
        back = set(paths)
        self._keep(_HIDDEN, [path for path in self._paths(_HIDDEN) if path not in back])

    def forget(self, paths: Iterable[Path]) -> None:
        """Drop files that are no more."""
        gone = set(paths)
        for name in (_ADDED, _HIDDEN):
            kept = self._paths(name)
            left = [path for path in kept if path not in gone]
            if len(left) != len(kept):
                self._keep(name, left)

    def _paths(self, name: str) -> tuple[Path, ...]:
        kept = self._state.blob(name)
        try:
            found = json.loads(kept) if kept else []
        except ValueError:
            return ()
        if not isinstance(found, list):
            return ()
        return tuple(Path(path) for path in found if isinstance(path, str))

    def _keep(self, name: str, paths: Iterable[Path]) -> None:
        unique = list(dict.fromkeys(str(path) for path in paths))[-_MOST:]
        self._state.set_blob(name, json.dumps(unique).encode())
