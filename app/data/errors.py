"""Two families of failure: the environment's fault, which gets advice, and ours, a report."""

from __future__ import annotations

import sqlite3
from typing import Literal, TypeAlias

__all__ = [
    "DATABASE_ERRORS",
    "FaultKind",
    "StoreBug",
    "StoreUnavailable",
    "UnknownId",
    "fault_kind",
]

FaultKind: TypeAlias = Literal["full", "read_only", "damaged", "busy", "unreadable", "bug"]


class StoreUnavailable(Exception):  # noqa: N818
    """The disk, the folder or the file is at fault. The text is one clear sentence."""

    def __init__(self, kind: FaultKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class StoreBug(Exception):  # noqa: N818
    """Plimsoll asked the database for something wrong; a report is due, no advice helps."""


class UnknownId(LookupError):  # noqa: N818
    """No conversation or message has this id (it may have been purged meanwhile)."""


# Where SQLite's own message quotes damaged bytes, Python fails to decode it, and that error comes.
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)

_KINDS: dict[int, FaultKind] = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_CANTOPEN: "unreadable",
    sqlite3.SQLITE_IOERR: "unreadable",
    sqlite3.SQLITE_NOMEM: "unreadable",
    sqlite3.SQLITE_PROTOCOL: "busy",
    sqlite3.SQLITE_NOLFS: "full",
    sqlite3.SQLITE_AUTH: "read_only",
}


def fault_kind(error: Exception) -> FaultKind:
    """Tell whose fault one of `DATABASE_ERRORS` is; one without a code of SQLite's is ours."""
    if isinstance(error, UnicodeDecodeError):
        return "damaged"
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "bug"
    return _KINDS.get(code & 0xFF, "bug")
