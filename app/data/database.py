"""A connection that goes on: where the disk fails, in memory; where the file is damaged, anew.

Callers hand in work as a function of a connection. If the disk is full or can't be written, the
whole store is copied into memory, the work is done there, and what changed is remembered by
triggers until `Database.retry` can write it. If the file is damaged, it is moved aside under a
dated name, what can be read is put into a new one, and the work is done there. So a caller never
sees an environment's fault as a failure; `Database.notice` says it in a sentence.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

from app.data import files, pending, recovery, search
from app.data.connection import close_writer, was_left_open, without_empty_log
from app.data.errors import DATABASE_ERRORS, StoreBug, StoreUnavailable, fault_kind
from app.data.lock import ProcessLock
from app.data.migrations import current_version, migrate, version_text
from app.data.store_notice import (
    StoreNotice,
    in_memory_notice,
    in_use_sentence,
    too_new_sentence,
)
from app.small_files import require_plain

__all__ = ["Database", "StoreNotice", "Work"]

log = logging.getLogger(__name__)
T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]

_CORRUPT_INDEX = 267  # SQLITE_CORRUPT_VTAB: the search index alone


class Database:
    """One store, open in one thread.

    Attributes:
        in_memory: nothing is on the disk (asked for, or `notice` says why).
        read_only: another process writes the store; work that writes is refused.
        notice: what the user must know, None if all is well.
    """

    def __init__(
        self, path: Path | None, *, read_only: bool = False, lock_wait_s: float = 0.0
    ) -> None:
        """Open or make the store at ``path``; None keeps it in memory."""
        self._path = path
        self._lock: ProcessLock | None = None
        self.in_memory = path is None
        self.read_only = read_only
        self.notice: StoreNotice | None = None
        if path is None:
            self._db = files.in_memory()
        elif read_only:
            self._db = self._open_shared(path)
        else:
            self._db = self._open_first(path, lock_wait_s)

    # --- work -------------------------------------------------------------------------------

    def read(self, work: Work[T]) -> T:
        """Return what ``work`` reads.

        Raises:
            StoreUnavailable: the disk can't be read.
            StoreBug: the work is at fault.
        """
        return self._attempt(lambda: work(self._db))

    def write(self, work: Work[T], *, durable: bool = False) -> T:
        """Return what ``work`` does in one transaction; it may be run twice, never by halves.

        Raises:
            StoreUnavailable: the store is read-only here, or another program holds it for long.
            StoreBug: the work is at fault; nothing was changed.
        """
        if self.read_only:
            raise StoreUnavailable("read_only", in_use_sentence(None))

        def whole() -> T:
            with files.transaction(self._db, durable=durable and not self.in_memory):
                return work(self._db)

        return self._attempt(whole)

    def _attempt(self, whole: Callable[[], T]) -> T:
        for _ in range(2):
            try:
                return whole()
            except DATABASE_ERRORS as error:
                self._mend(error)
        try:
            return whole()
        except DATABASE_ERRORS as error:
            raise _as_ours(error) from error

    def _mend(self, error: Exception) -> None:
        """Bring the store into a state in which the work may be tried again, or raise."""
        kind = fault_kind(error)
        if _of_the_index(error) and self._index_made_anew():
            return
        if (
            (kind == "bug" and not _of_the_index(error))
            or self.read_only
            or self.in_memory
            or self._path is None
        ):
            raise _as_ours(error) from error
        if kind == "damaged" or _of_the_index(error):
            self._db.close()
            self._db = self._recovered(self._path, error)
        else:
            self._to_memory(self._path, error)

    def _index_made_anew(self) -> bool:
        if self.read_only:
            return False
        try:
            with files.transaction(self._db):
                search.rebuild(self._db)
        except DATABASE_ERRORS:
            return False
        log.warning("the search index was damaged and has been made anew")
        return True

    def retry(self) -> bool:
        """Write what is only in memory, if the disk takes it again; True if all is on the disk.

        Cheap enough to be called every few seconds.
        """
        path = self._path
        if path is None or not self.in_memory or self._too_new_there():
            return not self.in_memory
        notice, self.notice, self.in_memory = self.notice, None, False
        try:
            opened = self._open(path)
        except (*DATABASE_ERRORS, OSError, StoreUnavailable, _TooNewError):
            self.notice, self.in_memory = notice, True
            return False
        try:
            pending.write_back(self._db, opened)
        except DATABASE_ERRORS:
            opened.close()
            self.notice, self.in_memory = notice, True
            return False
        self._db.close()
        self._db = opened
        # What was opened lives in memory, too, if the file was damaged and there was no room.
        return not self.in_memory

    def _too_new_there(self) -> bool:
        return self.notice is not None and self.notice.kind == "too_new"

    def close(self) -> None:
        """Write what is pending, if the disk takes it, and give the store back."""
        if self.in_memory and self._path is not None:
            self.retry()
        if self._path is None or self.in_memory:
            self._db.close()
        elif self.read_only:
            self._db.close()
            without_empty_log(self._path)
        else:
            close_writer(self._db, self._path)
        if self._lock is not None:
            self._lock.release()

    # --- opening ----------------------------------------------------------------------------

    def _open_first(self, path: Path, lock_wait_s: float) -> sqlite3.Connection:
        try:
            return self._open(path, lock_wait_s)
        except StoreUnavailable as busy:
            self.read_only = True
            self.notice = StoreNotice("in_use", str(busy))
            return self._open_shared(path)
        except _TooNewError as newer:
            self.in_memory = True
            self.notice = StoreNotice("too_new", str(newer))
            return files.in_memory()
        except (*DATABASE_ERRORS, OSError) as error:
            return self._memory_instead(path, error)

    def _open(self, path: Path, lock_wait_s: float = 0.0) -> sqlite3.Connection:
        """Open for writing, as the only writer.

        Raises:
            StoreUnavailable: another process is the writer.
            _TooNewError, sqlite3.Error, OSError: it can't be opened.
        """
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._lock is None:
            lock = ProcessLock(Path(f"{path}.lock"))
            if not lock.acquire(lock_wait_s):
                raise StoreUnavailable("busy", in_use_sentence(lock.holder_pid))
            self._lock = lock
        left_open = was_left_open(path)
        if not path.exists():
            if path.is_symlink():  # to a disk that is not there now: not to be replaced
                raise OSError(errno.ENOENT, "it is a link that leads nowhere", str(path))
            files.create(path)
        require_plain(path)
        try:
            db = files.open_writer(path)
            with _closed_on_error(db):
                version = _usable_version(db, path, left_open=left_open)
                if version < current_version():
                    files.back_up(db, path, f"before-{version_text(current_version())}")
                    migrate(db)
        except DATABASE_ERRORS as error:
            # Nothing has been asked yet that a sound store could answer with a fault of ours: its
            # tables are not those of the version that it claims to have.
            if fault_kind(error) in {"damaged", "bug"}:
                return self._recovered(path, error)
            raise
        return db

    def _open_shared(self, path: Path) -> sqlite3.Connection:
        """Open for reading only; another process may be the writer.

        Raises:
            StoreUnavailable: it can't be read, or is of a newer Plimsoll.
        """
        try:
            if not path.exists():
                return files.in_memory()
            require_plain(path)
            db = files.open_reader(path)
            version = files.version_of(db)
            if version == current_version():
                return db
            db.close()
            without_empty_log(path)
            if version // 1000 > current_version() // 1000:
                raise StoreUnavailable("unreadable", too_new_sentence(path, version))
            return files.load_into_memory(path)
        except (*DATABASE_ERRORS, OSError) as error:
            raise StoreUnavailable(
                "unreadable",
                f"The chats in {path} can't be read ({error}). Open Plimsoll's window: it keeps "
                "that file under another name and saves of it what can be read.",
            ) from error

    # --- when something is wrong ------------------------------------------------------------

    def _recovered(self, path: Path, error: Exception) -> sqlite3.Connection:
        """Move a damaged store aside and open a new one with what can be read of the old."""
        log.error("store damaged: %s", error)
        try:
            aside = files.move_aside(path, datetime.now().astimezone())
        except OSError as stuck:
            return self._memory_instead(path, stuck, damaged=True)
        salvage = recovery.salvage(aside)
        try:
            files.create(path)
            db = files.open_writer(path)
        except (*DATABASE_ERRORS, OSError) as no_room:
            return self._recovered_in_memory(path, aside, salvage, no_room)
        try:
            with files.transaction(db, durable=True):
                found = recovery.load(db, salvage, aside)
        except DATABASE_ERRORS as no_room:
            db.close()
            return self._recovered_in_memory(path, aside, salvage, no_room)
        self.notice = StoreNotice("recovered", found.sentence, aside, found)
        return db

    def _recovered_in_memory(
        self, path: Path, aside: Path, salvage: recovery.Salvage, error: Exception
    ) -> sqlite3.Connection:
        db = files.in_memory()
        pending.watch(db)  # before the rows, which are on no disk yet
        found = recovery.load(db, salvage, aside)
        self._say_in_memory(path, error)
        assert self.notice is not None
        sentence = f"{found.sentence} {self.notice.sentence}"
        self.notice = StoreNotice(self.notice.kind, sentence, aside, found)
        return db

    def _memory_instead(
        self, path: Path, error: Exception, *, damaged: bool = False
    ) -> sqlite3.Connection:
        """Open in memory what can be read of a store that can't be written."""
        self._say_in_memory(path, error)
        try:
            if damaged:
                raise OSError("not a store that can be copied")
            if path.exists():
                require_plain(path)
            db = files.load_into_memory(path) if path.exists() else files.in_memory()
        except (*DATABASE_ERRORS, OSError):
            db = files.in_memory()
            recovery.load(db, recovery.salvage(path), path)
        pending.watch(db)
        return db

    def _to_memory(self, path: Path, error: Exception) -> None:
        """Go on in memory with everything that the open store holds."""
        try:
            memory = files.copy_into_memory(self._db)
        except DATABASE_ERRORS:
            memory = files.in_memory()
            recovery.load(memory, recovery.salvage(path), path)
        self._db.close()
        self._db = memory
        pending.watch(memory)
        self._say_in_memory(path, error)

    def _say_in_memory(self, path: Path, error: Exception) -> None:
        log.error("store goes on in memory: %r", error)
        self.in_memory = True
        self.notice = in_memory_notice(path, error)


class _TooNewError(Exception):
    """The store is of a newer major version."""


@contextmanager
def _closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def _usable_version(db: sqlite3.Connection, path: Path, *, left_open: bool) -> int:
    """Return the version of an open store that is sound and not too new for this program."""
    version = files.version_of(db)
    if version // 1000 > current_version() // 1000:
        raise _TooNewError(
            f"{too_new_sentence(path, version)} Until then chats are kept in memory only."
        )
    files.check(db, path, left_open=left_open)
    if version == current_version():
        files.check_schema(db)
    return version


def _of_the_index(error: Exception) -> bool:
    """Tell an error of the search index, some of which SQLite reports like faults of ours."""
    return getattr(error, "sqlite_errorcode", None) == _CORRUPT_INDEX or "fts5" in str(error)


def _as_ours(error: Exception) -> StoreBug | StoreUnavailable:
    kind = fault_kind(error)
    if kind == "bug":
        return StoreBug(str(error))
    return StoreUnavailable(kind, f"The chats can't be read or written now ({error}).")
