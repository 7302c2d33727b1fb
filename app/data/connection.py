"""A connection that really ends when it is closed, and leaves no log where it was the last one.

SQLite writes the log back into the store and removes it when the last connection closes. Two things
keep it from that. A statement that is not finished (a cursor in the traceback of a failed read, or
in a cycle of references) holds its closed connection open, and with it the file, which another
system then doesn't let us move. And a connection that may only read makes a log for itself, but
has no right to remove it.
"""

from __future__ import annotations

import logging
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["StoreConnection", "close_writer", "reading", "was_left_open", "without_empty_log"]

log = logging.getLogger(__name__)

_LAST_MS = 250  # for a reader that is in the middle of something; the window is closing


class StoreConnection(sqlite3.Connection):
    """Closes with itself every cursor that it gave out, whoever still holds one."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._given: weakref.WeakSet[sqlite3.Cursor] = weakref.WeakSet()

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        """Return a cursor that ends with this connection."""
        cursor = super().cursor(factory)
        self._given.add(cursor)
        return cursor

    # The interpreter's own make their cursors without asking `cursor`.

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement in a cursor of its own."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Run a statement for each set of values, in a cursor of its own."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executemany(sql, parameters)

    def close(self) -> None:
        """Close, with all statements that are not finished."""
        for cursor in list(self._given):
            cursor.close()
        self._given.clear()  # a cursor of a closed connection can't be closed
        super().close()


def was_left_open(path: Path) -> bool:
    """Tell whether the last writer of a store did not end as it should: its log holds something."""
    try:
        return _log_of(path).stat().st_size > 0
    except OSError:
        return False


def close_writer(db: sqlite3.Connection, path: Path) -> None:
    """Write the log back and close; the program's log says why, where it stays beside the store.

    A second call does nothing.
    """
    why = "another program has the store open"
    try:
        db.execute(f"PRAGMA busy_timeout = {_LAST_MS}")
        busy, _frames, _written = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            why = "another program is reading the store"
    except sqlite3.ProgrammingError:
        db.close()  # which is closed already, or says what is wrong
        return
    except sqlite3.Error as error:  # a full disk: nothing is lost, the next start reads the log
        why = str(error)
    db.close()
    if _log_of(path).exists():
        log.warning("%s was closed, but its log stays beside it: %s", path.name, why)


@contextmanager
def reading(db: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Close a connection that only read, and leave nothing beside the store that was not there."""
    try:
        yield db
    finally:
        db.close()
        without_empty_log(path)


def without_empty_log(path: Path) -> None:
    """Have SQLite remove a log in which nothing stands, unless somebody has the store open.

    A log that holds something is left alone: it tells the next writer that the last one was cut
    off, and what to do about that is the writer's business.
    """
    side = _log_of(path)
    try:
        # A journal would be played back by whoever opens the store for writing.
        if side.stat().st_size or not path.is_file() or Path(f"{path}-journal").exists():
            return
        uri = f"{path.absolute().as_uri()}?mode=rw"
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_LAST_MS / 1000)
        try:
            db.execute("PRAGMA user_version").fetchone()  # so that it has opened the log
        finally:
            db.close()
    except (OSError, sqlite3.Error) as error:
        if side.exists():
            log.info("an empty log stays beside %s: %s", path.name, error)


def _log_of(path: Path) -> Path:
    return Path(f"{path}-wal")
