"""What every part of the store does alike: open, close, read, write, tell the time."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from app.data import rows
from app.data.database import Database, Work
from app.data.errors import UnknownId
from app.data.records import Conversation
from app.data.store_notice import StoreNotice
from app.data.tree import MessageTree, Node

__all__ = ["StoreBase", "conversation_row", "new_id", "seq_of", "tree_of"]

T = TypeVar("T")
_CONVERSATION = ", ".join(rows.CONVERSATION_COLUMNS)


class StoreBase:
    """A store that is open in one thread, and one conversation's own columns."""

    def __init__(
        self, path: Path | None, *, read_only: bool = False, lock_wait_s: float = 0.0
    ) -> None:
        """Open or make the store at ``path``; None keeps it in memory.

        ``lock_wait_s``: how long to wait for another process that writes it; after that the store
        is read-only here and `notice` says so. ``read_only`` never waits.

        Raises:
            StoreUnavailable: only with ``read_only``, where nothing could be read.
        """
        self._database = Database(path, read_only=read_only, lock_wait_s=lock_wait_s)
        self._last_ms = 0

    @property
    def in_memory(self) -> bool:
        """Whether what is written now is lost when the program ends."""
        return self._database.in_memory

    @property
    def read_only(self) -> bool:
        """Whether another process is the writer."""
        return self._database.read_only

    @property
    def notice(self) -> StoreNotice | None:
        """What the user must know about the store, None if all is well."""
        return self._database.notice

    def retry(self) -> bool:
        """Write what is only in memory, if the disk takes it again; True if all is on the disk."""
        return self._database.retry()

    def close(self) -> None:
        """Give the store back to other processes."""
        self._database.close()

    def _read(self, work: Work[T]) -> T:
        return self._database.read(work)

    def _write(self, work: Work[T], *, durable: bool = False) -> T:
        return self._database.write(work, durable=durable)

    def _now(self) -> int:
        """Milliseconds since 1970, never the same twice, so that times also give an order."""
        self._last_ms = max(time.time_ns() // 1_000_000, self._last_ms + 1)
        return self._last_ms

    def _set(self, conversation_id: str, values: Mapping[str, Any]) -> None:
        if not values:
            return
        pairs = ", ".join(f"{column} = ?" for column in values)

        def work(db: sqlite3.Connection) -> None:
            changed = db.execute(
                f"UPDATE conversations SET {pairs} WHERE id = ?",
                (*values.values(), conversation_id),
            ).rowcount
            if not changed:
                raise UnknownId(f"no conversation {conversation_id}")

        self._write(work)


def new_id() -> str:
    """Return an id that no other row has."""
    return uuid.uuid4().hex


def conversation_row(db: sqlite3.Connection, conversation_id: str) -> Conversation | None:
    """Return a conversation, None if there is none of this id."""
    row = db.execute(
        f"SELECT {_CONVERSATION} FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    return rows.conversation_of(row) if row else None


def seq_of(db: sqlite3.Connection, conversation_id: str) -> int:
    """Return a conversation's ``seq``.

    Raises:
        UnknownId: there is none of this id.
    """
    row = db.execute("SELECT seq FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
    if row is None:
        raise UnknownId(f"no conversation {conversation_id}")
    seq: int = row[0]
    return seq


def tree_of(db: sqlite3.Connection, conversation_id: str) -> MessageTree:
    """Return the shape of a conversation, without its texts."""
    found = db.execute(
        "SELECT seq, id, parent_id, deleted_ms FROM messages WHERE conversation_id = ?"
        " ORDER BY seq",
        (conversation_id,),
    )
    return MessageTree(
        Node(seq, message_id, parent_id, deleted_ms is not None)
        for seq, message_id, parent_id, deleted_ms in found
    )
