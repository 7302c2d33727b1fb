"""Looks for models in the background; the picker and the Models page both show what it finds.

What was found at the last run is there at once; then the disk is looked at, and what is new, gone
or changed since is told.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.data.library.changes import LibraryChanges, changes_between
from app.data.library.choices import LibraryChoices
from app.data.library.entries import ModelEntry
from app.data.library.groups import Arranged, arrange
from app.data.library.places import Place, places_for
from app.data.library.scan import ScanProgress, remembered, scan
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks

__all__ = ["LibraryScanner"]

_TELL_S = 0.1
_SHOW_S = 0.4


@dataclass(frozen=True, slots=True)
class _Found:
    entries: tuple[ModelEntry, ...]
    arranged: Arranged
    changes: LibraryChanges
    seconds: float
    complete: bool


class LibraryScanner(QObject):
    """Scans one at a time; a wish that comes meanwhile is done afterwards.

    Signals:
        started()
        progressed(ScanProgress)
        changed(): `entries` and `arranged` are others; also while a scan runs.
        finished(LibraryChanges): a scan is through, with what it found different.
    """

    started = Signal()
    progressed = Signal(object)
    changed = Signal()
    finished = Signal(object)
    _shown = Signal(object)

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        choices: LibraryChoices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._paths = paths
        self._choices = choices
        self._stop = threading.Event()
        self._is_closed = False
        self._again = False
        self._expected: set[Path] = set()
        self._knows_last_run = False
        self.entries: tuple[ModelEntry, ...] = ()
        self.arranged = Arranged()
        self.is_scanning = False
        self.seconds: float | None = None
        self._shown.connect(self._on_part, Qt.ConnectionType.QueuedConnection)

    @property
    def places(self) -> list[Place]:
        """Where is looked."""
        return places_for(
            self._paths,
            self._settings.get("model_folders"),
            files=self._choices.added,
            others=self._settings.get("scan_other_programs"),
        )

    def expect(self, paths: Iterable[Path]) -> None:
        """Name files that the program itself changes, so that it isn't told as news."""
        self._expected.update(paths)

    @Slot()
    def scan(self) -> None:
        """Look for models; what was read before comes from the cache."""
        if self.is_scanning:
            self._again = True
            return
        if self._is_closed:
            return
        self.is_scanning = True
        self._stop.clear()
        places, cache = self.places, self._paths.library_cache
        before = self.entries if self._knows_last_run else None
        expected = frozenset(self._expected)
        self.started.emit()
        tasks.run(
            lambda: self._work(places, cache, before, expected),
            self._on_found,
            self._on_failed,
            self,
        )

    @Slot()
    def cancel(self) -> None:
        """Stop looking; what was found stays."""
        self._again = False
        self._stop.set()

    def close(self) -> None:
        """Stop looking for good."""
        self._is_closed = True
        self.cancel()

    # --- on the pool's thread ---

    def _work(
        self,
        places: list[Place],
        cache: Path,
        before: tuple[ModelEntry, ...] | None,
        expected: frozenset[Path],
    ) -> _Found:
        if before is None:
            before = remembered(places, cache)
            if before:
                self._shown.emit((before, arrange(before)))
        begun = time.monotonic()
        told = shown = begun

        def tell(progress: ScanProgress) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= _TELL_S:
                told = now
                self.progressed.emit(progress)

        found: list[ModelEntry] = []
        for entry in scan(places, cache, progress=tell, cancelled=self._stop.is_set):
            found.append(entry)
            now = time.monotonic()
            if not before and now - shown >= _SHOW_S:
                shown = now
                self._shown.emit((tuple(found), arrange(found)))
        complete = not self._stop.is_set()
        if not complete:
            # What was not looked at yet is still taken to be there.
            seen = {entry.path for entry in found}
            found += [entry for entry in before if entry.path not in seen]
        changes = LibraryChanges()
        if complete and before:
            changes = changes_between(before, found, expected=expected)
        return _Found(
            tuple(found), arrange(found), changes, time.monotonic() - begun, complete=complete
        )

    # --- on the window's thread ---

    @Slot(object)
    def _on_part(self, part: tuple[tuple[ModelEntry, ...], Arranged]) -> None:
        if self.is_scanning:
            self.entries, self.arranged = part
            self.changed.emit()

    def _on_found(self, found: _Found) -> None:
        self.is_scanning = False
        self._knows_last_run = True
        self._expected.clear()
        self.entries, self.arranged = found.entries, found.arranged
        self.seconds = found.seconds if found.complete else None
        self.changed.emit()
        self.finished.emit(found.changes)
        if self._again:
            self._again = False
            self.scan()

    def _on_failed(self, error: Exception) -> None:
        self.is_scanning = False
        self.changed.emit()
        self.finished.emit(LibraryChanges())
        raise error
