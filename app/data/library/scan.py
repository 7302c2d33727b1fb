"""Looking through all places for models, one file at a time, so that a window can do it beside.

Meant for a background thread: entries come as they are found, and between two files the caller
may stop. Nothing is changed anywhere but in the library's own cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.data.library.cache import EntryCache
from app.data.library.entries import ModelEntry, files_stamp, read_entry
from app.data.library.places import Place
from app.data.library.walk import Candidate, candidates

__all__ = ["ScanProgress", "recheck", "remembered", "scan"]


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """How far a scan is: places looked through of all, models found, headers really read."""

    source: str
    folder: Path
    places_done: int
    places: int
    found: int
    read: int


def _never() -> bool:
    return False


def scan(
    places: Sequence[Place],
    cache_path: Path | None,
    *,
    progress: Callable[[ScanProgress], None] | None = None,
    cancelled: Callable[[], bool] = _never,
) -> Iterator[ModelEntry]:
    """Yield each model of the places once, in their order, with problems told in ``problem``.

    ``progress`` is called after each file and each place; ``cancelled`` is asked before each
    file. What was read is cached even if the caller stops early.
    """
    cache = EntryCache(cache_path)
    seen: set[tuple[int, int]] = set()
    found = read = 0
    try:
        for done, place in enumerate(places):
            for candidate in candidates(place, cancelled):
                if cancelled():
                    return
                identity, stamp = _look_at(candidate)
                if identity in seen:
                    continue
                if identity is not None:
                    seen.add(identity)
                entry = cache.get(candidate.path, stamp)
                if entry is None:
                    entry = read_entry(
                        candidate.path,
                        candidate.files,
                        place.source,
                        candidate.name,
                        belongs_to=candidate.belongs_to,
                    )
                    cache.put(candidate.path, stamp, entry)
                    read += 1
                found += 1
                if progress is not None:
                    progress(
                        ScanProgress(
                            place.source, candidate.path.parent, done, len(places), found, read
                        )
                    )
                yield replace(entry, source=place.source)
            if progress is not None:
                progress(ScanProgress(place.source, place.path, done + 1, len(places), found, read))
    finally:
        cache.close()


def remembered(places: Sequence[Place], cache_path: Path | None) -> tuple[ModelEntry, ...]:
    """Return what the last scan of these places found, at once and without looking at a file."""
    cache = EntryCache(cache_path)
    try:
        known = cache.entries()
    finally:
        cache.close()
    found = []
    for entry in known:
        place = next((p for p in places if entry.path.is_relative_to(p.path)), None)
        if place is not None:
            found.append(replace(entry, source=place.source))
    return tuple(found)


def recheck(entry: ModelEntry) -> ModelEntry:
    """Return an entry as its files are now: to be asked before loading, as downloads grow."""
    now = read_entry(entry.path, entry.files, entry.source, belongs_to=entry.belongs_to)
    return replace(
        now, name=entry.name, base_name=entry.base_name, title=entry.title, group=entry.group
    )


def _look_at(candidate: Candidate) -> tuple[tuple[int, int] | None, str]:
    """Return what a model's first file is on the disk, and a stamp of all its files."""
    identity: tuple[int, int] | None = None
    try:
        status = candidate.path.stat()
        if status.st_ino:
            identity = (status.st_dev, status.st_ino)
    except (OSError, ValueError):
        pass
    return identity, f"{candidate.name}|{files_stamp(candidate.files)}"
