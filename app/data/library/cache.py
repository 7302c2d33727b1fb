"""What was read from model files, kept so that the next scan only has to look at their dates.

A cache and nothing more: whatever goes wrong with its file, the scan goes on without it.
"""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.data.library.entries import ModelEntry

__all__ = ["EntryCache"]

log = logging.getLogger(__name__)

# Raised whenever what is read from a file, or how, changes: older entries are read anew then.
_READER_VERSION = 4


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: str
    entry: str


class EntryCache:
    """Entries by path and stamp (size and time of every file). For one thread.

    ``path`` None, or a file that can't be used, makes a cache that forgets everything.
    """

    def __init__(self, path: Path | None) -> None:
        self._db: sqlite3.Connection | None = None
        self._known: dict[str, _Kept] = {}
        self._new: dict[str, _Kept] = {}
        if path is None:
            return
        try:
            self._open(path)
        except OSError as error:
            log.warning("there is no library cache: %s can't be made (%s)", path.parent, error)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of a damaged text or its error
            log.warning("library cache started anew: %s", error)
            try:
                path.unlink(missing_ok=True)
                self._open(path)
            except (sqlite3.Error, OSError):
                self._db = None

    def _open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        db = sqlite3.connect(path, isolation_level=None, timeout=1.0)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] != _READER_VERSION:
                db.execute("DROP TABLE IF EXISTS models")
                db.execute(f"PRAGMA user_version = {_READER_VERSION}")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")
            db.execute(
                "CREATE TABLE IF NOT EXISTS models"
                " (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, entry TEXT NOT NULL)"
            )
            for key, stamp, entry in db.execute("SELECT path, stamp, entry FROM models"):
                if all(isinstance(value, str) for value in (key, stamp, entry)):
                    self._known[key] = _Kept(stamp, entry)  # else of a file that was damaged
        except BaseException:
            db.close()
            raise
        self._db = db

    def get(self, path: Path, stamp: str) -> ModelEntry | None:
        """Return what was read from these files, if they haven't changed since."""
        kept = self._known.get(_key(path))
        if kept is None or kept.stamp != stamp:
            return None
        try:
            return msgspec.json.decode(kept.entry, type=ModelEntry, dec_hook=_path_of)
        except (msgspec.DecodeError, ValueError):
            return None

    def entries(self) -> list[ModelEntry]:
        """Return all that was read at earlier times, whether or not it is still so."""
        found = (self.get(Path(key), kept.stamp) for key, kept in self._known.items())
        return [entry for entry in found if entry is not None]

    def put(self, path: Path, stamp: str, entry: ModelEntry) -> None:
        """Keep what was read; written by `close`."""
        try:
            encoded = msgspec.json.encode(entry, enc_hook=str).decode()
        except UnicodeEncodeError:
            return  # a path that is no valid text: read again each time
        self._new[_key(path)] = _Kept(stamp, encoded)

    def close(self) -> None:
        """Write what is new, forget files that are gone."""
        db, self._db = self._db, None
        if db is None:
            return
        gone = [key for key in self._known if key not in self._new and not Path(key).exists()]
        try:
            if self._new or gone:
                db.execute("BEGIN IMMEDIATE")
                db.executemany(
                    "INSERT OR REPLACE INTO models VALUES (?, ?, ?)",
                    [(key, kept.stamp, kept.entry) for key, kept in self._new.items()],
                )
                db.executemany("DELETE FROM models WHERE path = ?", [(key,) for key in gone])
                db.execute("COMMIT")
        except sqlite3.Error as error:
            log.warning("library cache not written: %s", error)
        finally:
            db.close()


def _key(path: Path) -> str:
    # A name that is no valid text on this system must not keep the scan from going on.
    return str(path).encode("utf-8", "backslashreplace").decode()


def _path_of(kind: type, value: object) -> object:
    return Path(str(value)) if issubclass(kind, Path) else value
