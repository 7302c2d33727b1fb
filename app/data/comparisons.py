"""Comparisons that were made, one JSON file each in a folder of the data folder.

A comparison is kept when it ends, and after each variant while it runs, so that a crash in the
middle of a long one loses only the variant that ran.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.settings import atomic_write
from app.small_files import read_small
from inspector.compare.records import ComparisonRecord, decode_comparison, encode_comparison

__all__ = ["ComparisonEntry", "Comparisons"]

log = logging.getLogger(__name__)

_ID: Final = re.compile(r"\d{14}-[0-9a-f]{8}")
_MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ComparisonEntry:
    """A kept comparison in a list."""

    id: str
    at_ms: int
    title: str
    prompt: str
    variants: int
    failed: int


class Comparisons:
    """A folder of comparisons; made when the first one is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, record: ComparisonRecord) -> None:
        """Keep a comparison, in place of what was kept of it before.

        Raises:
            OSError: the disk doesn't take it.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write(self._path(record.id), encode_comparison(record))

    def entries(self) -> list[ComparisonEntry]:
        """Return what is kept, the newest first; files that can't be read are left out."""
        found = []
        for path in self._files():
            record = self._read(path)
            if record is not None:
                found.append(
                    ComparisonEntry(
                        id=record.id,
                        at_ms=record.at_ms,
                        title=record.title,
                        prompt=record.settings.prompt,
                        variants=len(record.variants),
                        failed=sum(item.status == "failed" for item in record.variants),
                    )
                )
        return sorted(found, key=lambda entry: entry.id, reverse=True)

    def load(self, comparison_id: str) -> ComparisonRecord | None:
        """Return a comparison, None if it isn't there or can't be read."""
        return self._read(self._path(comparison_id)) if _ID.fullmatch(comparison_id) else None

    def delete(self, comparison_id: str) -> None:
        """Remove a comparison; it is no error if it is gone.

        Raises:
            OSError: it can't be removed.
        """
        if _ID.fullmatch(comparison_id):
            self._path(comparison_id).unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        try:
            return [path for path in self._folder.glob("*.json") if _ID.fullmatch(path.stem)]
        except OSError:
            return []

    def _read(self, path: Path) -> ComparisonRecord | None:
        try:
            return decode_comparison(read_small(path, _MOST_BYTES))
        except OSError:
            return None
        except ValueError as error:
            log.warning("comparison %s can't be read: %s", path.name, error)
            return None

    def _path(self, comparison_id: str) -> Path:
        return self._folder / f"{comparison_id}.json"
