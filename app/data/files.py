"""The store as files: made whole, opened, moved aside, read where it can't be written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from app.data.connection import StoreConnection, reading
from app.data.migrations import migrate
from app.settings.files import damaged_name, free_name

__all__ = [
    "back_up",
    "check",
    "check_schema",
    "copy_into_memory",
    "create",
    "in_memory",
    "load_into_memory",
    "move_aside",
    "open_reader",
    "open_writer",
    "transaction",
    "version_of",
]

_BUSY_MS = 2_000
_SIDE_FILES = ("-wal", "-shm", "-journal")
# A store larger than this is checked as a whole only where the last run did not end cleanly.
_ALWAYS_CHECKED_BYTES = 256 * 1024 * 1024


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _prepare(db: sqlite3.Connection) -> sqlite3.Connection:
    db.text_factory = _text  # a damaged text is shown with a mark, not refused
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA temp_store = MEMORY")  # so that a full disk is no obstacle to reading
    return db


def _connect(path: Path, options: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{options}"
    db = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=_BUSY_MS / 1000, factory=StoreConnection
    )
    try:
        return _prepare(db)
    except BaseException:
        db.close()
        raise


def in_memory() -> sqlite3.Connection:
    """Return an empty store that lives as long as its connection."""
    db = _prepare(sqlite3.connect(":memory:", isolation_level=None))
    migrate(db)
    return db


def create(path: Path) -> None:
    """Make an empty store, whole or not at all; so a file of no bytes always means damage.

    Raises:
        sqlite3.Error, OSError: nothing was made.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")  # mode 0600
    os.close(handle)
    fresh = Path(name)
    try:
        with closing(_connect(fresh, "mode=rw")) as db:
            migrate(db)
            db.execute("PRAGMA journal_mode = WAL")
        for suffix in _SIDE_FILES:
            # A log left over from a file that was removed by hand would be replayed into ours.
            side = Path(f"{path}{suffix}")
            if side.exists():
                side.replace(free_name(side, "left-over"))
        fresh.replace(path)
    finally:
        for leftover in (fresh, *(Path(f"{name}{suffix}") for suffix in _SIDE_FILES)):
            leftover.unlink(missing_ok=True)


def open_writer(path: Path) -> sqlite3.Connection:
    """Open a store that exists, for its one writer.

    Raises:
        sqlite3.Error: it can't be opened, or is damaged, or can't be written.
    """
    if path.stat().st_size == 0:
        raise _damaged("the file is empty")
    db = _connect(path, "mode=rw")
    try:
        db.execute("PRAGMA secure_delete = ON")  # what was purged is gone
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        # Takes the write lock and gives it back: a read-only file or folder shows here.
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except BaseException:
        db.close()
        raise
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a store that another process may be writing.

    Raises:
        sqlite3.Error: it can't be read this way.
    """
    db = _connect(path, "mode=ro")
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def version_of(db: sqlite3.Connection) -> int:
    """Return the version of an open store (``major * 1000 + minor``)."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def check(db: sqlite3.Connection, path: Path, *, left_open: bool) -> None:
    """Look for damage: in all of a small store, and in any store that wasn't closed.

    Raises:
        sqlite3.DatabaseError, UnicodeDecodeError: there is some.
    """
    if version_of(db) <= 0:
        raise _damaged("the file is a database, but not one of Plimsoll's")
    if left_open or path.stat().st_size <= _ALWAYS_CHECKED_BYTES:
        answer: str = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if answer != "ok":
            raise _damaged(answer)


def check_schema(db: sqlite3.Connection) -> None:
    """Compare the schema of a store of the current version with what it has to be.

    Raises:
        sqlite3.DatabaseError, UnicodeDecodeError: it differs; SQLite would call that our mistake.
    """
    query = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
    with closing(in_memory()) as model:
        if db.execute(query).fetchall() != model.execute(query).fetchall():
            raise _damaged("the schema is not that of a store")


def _damaged(why: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def back_up(db: sqlite3.Connection, path: Path, label: str) -> Path:
    """Keep a copy of an open store beside it, under a name with a label.

    Raises:
        sqlite3.Error, OSError: no copy was kept.
    """
    kept = free_name(path, label)
    kept.touch(mode=0o600)
    try:
        with closing(_connect(kept, "mode=rw")) as copy:
            db.backup(copy)
    except BaseException:
        kept.unlink(missing_ok=True)
        raise
    return kept


def move_aside(path: Path, now: datetime) -> Path:
    """Give a damaged store, with its log, a dated name; nothing of it is changed.

    Raises:
        OSError: it could not be renamed.
    """
    aside = damaged_name(path, now)
    path.replace(aside)
    for suffix in ("-wal", "-journal"):
        side = Path(f"{path}{suffix}")
        if side.exists():
            side.replace(Path(f"{aside}{suffix}"))
    Path(f"{path}-shm").unlink(missing_ok=True)
    return aside


def load_into_memory(path: Path) -> sqlite3.Connection:
    """Return a copy in memory of a store, brought to the current version.

    Tried in turn: reading beside a writer, reading a copy of the files (a folder that can't be
    written has no place for the log's index), and the file alone without its log.

    Raises:
        sqlite3.Error, OSError: it can't be read.
    """
    try:
        with reading(open_reader(path), path) as source:
            return copy_into_memory(source)
    except sqlite3.OperationalError:
        pass
    try:
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            for suffix in ("", "-wal"):
                side = Path(f"{path}{suffix}")
                if side.exists():
                    shutil.copyfile(side, Path(folder, f"copy{suffix}"))
            with closing(open_reader(Path(folder, "copy"))) as source:
                return copy_into_memory(source)
    except OSError:
        with closing(_connect(path, "mode=ro&immutable=1")) as source:
            return copy_into_memory(source)


def copy_into_memory(source: sqlite3.Connection) -> sqlite3.Connection:
    """Return a copy in memory of an open store, brought to the current version.

    Raises:
        sqlite3.Error: it can't be read.
    """
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        source.backup(memory)
        _prepare(memory)
        migrate(memory)
    except BaseException:
        memory.close()
        raise
    return memory


@contextmanager
def transaction(db: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
    """Commit everything or nothing; ``durable`` waits until the disk has it (a power cut).

    Raises:
        sqlite3.Error: nothing was changed.
    """
    if durable:
        db.execute("PRAGMA synchronous = FULL")
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    finally:
        if durable:
            db.execute("PRAGMA synchronous = NORMAL")
