"""Getting out of a damaged store what can still be read.

First as a database, table by table until the damage stops it; then, for what that did not reach,
by reading the pages of the file themselves. The file is only read, never changed.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.data import carve, files, rows, search
from app.data.connection import reading
from app.data.errors import DATABASE_ERRORS
from app.data.records import MESSAGE_STATES
from app.small_files import require_plain

__all__ = ["Recovery", "Salvage", "load", "salvage"]

log = logging.getLogger(__name__)

_TABLES = {
    "conversations": rows.CONVERSATION_COLUMNS,
    "messages": rows.MESSAGE_COLUMNS,
    "context_events": rows.EVENT_COLUMNS,
    "draft_files": rows.DRAFT_FILE_COLUMNS,
}
_MAY_BE_OF_NO_CHAT = {"conversations", "draft_files"}
# What a row gets for a value that is missing or of the wrong type; None means that it may be null.
_DEFAULTS: dict[str, Any] = {
    "title": "", "title_is_auto": 1, "created_ms": 0, "updated_ms": 0, "pinned": 0,
    "sampling": "{}", "draft": "", "text": "", "reasoning": "", "state": "complete",
    "attachments": "[]", "dropped": "[]", "dropped_tokens": 0, "n_ctx": 0, "message_id": "",
    "kept_ms": 0, "name": "",
}  # fmt: skip
_NUMBERS = {
    "title_is_auto", "created_ms", "updated_ms", "pinned", "deleted_ms", "dropped_tokens", "n_ctx",
    "kept_ms",
}  # fmt: skip


@dataclass(slots=True)
class Salvage:
    """Rows by table and id, each with its ``seq``, as (seq, values by column)."""

    tables: dict[str, dict[str, tuple[int, dict[str, Any]]]] = field(
        default_factory=lambda: {name: {} for name in _TABLES}
    )

    def add(self, table: str, seq: int, values: dict[str, Any]) -> None:
        """Keep a row, unless a newer state of it is there already."""
        found = self.tables[table]
        known = found.get(values["id"])
        if known is None or known[1].get("updated_ms", 0) < values.get("updated_ms", 0):
            found[values["id"]] = (seq, values)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What came out of a damaged store."""

    moved_to: Path
    conversations: int
    messages: int

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        kept = f"The file with your chats was damaged and is kept as {self.moved_to.name}"
        if not self.conversations:
            return f"{kept}; nothing in it could be read, so Plimsoll starts with an empty list."
        chats = "1 chat" if self.conversations == 1 else f"{self.conversations} chats"
        messages = "1 message" if self.messages == 1 else f"{self.messages} messages"
        return f"{kept}; {chats} with {messages} were recovered from it."


def salvage(path: Path) -> Salvage:
    """Return what can be read of a store, without changing it; never raises for its content."""
    found = Salvage()
    try:
        require_plain(path)
    except OSError:
        return found  # a device has no end, and a pipe is never written to
    if not _read_tables(path, found):
        for table, seq, values in carve.rows_of(path):
            clean = _clean(table, values)
            if clean is not None:
                found.add(table, seq, clean)
    return found


def _read_tables(path: Path, found: Salvage) -> bool:
    """Read as a database; True if that reached every row."""
    try:
        db = files.open_reader(path)
    except DATABASE_ERRORS:
        return False
    complete = True
    with reading(db, path):
        for table, columns in _TABLES.items():
            if table == "draft_files" and _is_older(db):
                continue
            try:
                for seq, *values in db.execute(
                    f"SELECT seq, {', '.join(columns)} FROM {table} NOT INDEXED ORDER BY seq"
                ):
                    clean = _clean(table, dict(zip(columns, values, strict=True)))
                    if clean is not None:
                        found.add(table, seq, clean)
            except DATABASE_ERRORS as error:
                log.warning("%s: reading %s stopped: %s", path.name, table, error)
                complete = False
        if complete:
            complete = _whole(db)
    return complete


def _is_older(db: sqlite3.Connection) -> bool:
    """Tell whether a store is of a version that kept no files of drafts."""
    try:
        query = "SELECT 1 FROM sqlite_schema WHERE name = 'draft_files'"
        return db.execute(query).fetchone() is None
    except DATABASE_ERRORS:
        return False


def _whole(db: sqlite3.Connection) -> bool:
    # A page that was zeroed reads as an empty one, without any error.
    try:
        answer: str = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except DATABASE_ERRORS:
        return False
    return answer == "ok"


def _clean(table: str, values: dict[str, Any]) -> dict[str, Any] | None:
    """Return a row whose values have the right types; None if it is none of the table."""
    row: dict[str, Any] = {}
    for column in _TABLES[table]:
        value = values.get(column)
        wanted = int if column in _NUMBERS else str
        row[column] = value if isinstance(value, wanted) else _DEFAULTS.get(column)
    if not row["id"] or (table not in _MAY_BE_OF_NO_CHAT and not row["conversation_id"]):
        return None
    if table == "messages":
        if row["role"] not in {"user", "assistant"}:
            return None
        if row["state"] not in MESSAGE_STATES:
            row["state"] = "complete"
    return row


def load(db: sqlite3.Connection, salvaged: Salvage, source: Path) -> Recovery:
    """Put salvaged rows into an empty store, mended where rows between them are missing.

    A message without its conversation gets one; one whose parent is missing hangs on the message
    before it. A conversation whose last message is missing shows the newest there is.
    """
    conversations = salvaged.tables["conversations"]
    messages = sorted(salvaged.tables["messages"].values(), key=lambda item: item[0])
    for _, message in messages:
        if message["conversation_id"] not in conversations:
            conversations[message["conversation_id"]] = (0, _stand_in(message))
    last: dict[str, str] = {}
    placed: set[str] = set()
    for _, message in messages:
        conversation_id = message["conversation_id"]
        if message["parent_id"] not in placed:
            message["parent_id"] = (
                last.get(conversation_id) if message["parent_id"] is not None else None
            )
        placed.add(message["id"])
        last[conversation_id] = message["id"]
    for _, conversation in sorted(conversations.values(), key=lambda item: item[0]):
        if conversation["leaf_id"] not in placed:
            conversation["leaf_id"] = last.get(conversation["id"])
        seq = _insert(db, "conversations", conversation)
        search.index_title(db, seq, conversation["title"])
    for _, message in messages:
        seq = _insert(db, "messages", message)
        if message["state"] != "streaming":
            search.index_message(db, seq, message["text"])
    for _, event in sorted(salvaged.tables["context_events"].values(), key=lambda item: item[0]):
        if event["conversation_id"] in conversations:
            _insert(db, "context_events", event)
    for _, file in sorted(salvaged.tables["draft_files"].values(), key=lambda item: item[0]):
        if file["conversation_id"] is None or file["conversation_id"] in conversations:
            _insert(db, "draft_files", file)
    return Recovery(source, len(conversations), len(messages))


def _stand_in(message: dict[str, Any]) -> dict[str, Any]:
    now = time.time_ns() // 1_000_000
    row = {column: _DEFAULTS.get(column) for column in rows.CONVERSATION_COLUMNS}
    row |= {"id": message["conversation_id"], "title": "Recovered chat", "title_is_auto": 0}
    row |= {"created_ms": message["created_ms"] or now, "updated_ms": message["updated_ms"] or now}
    return row


def _insert(db: sqlite3.Connection, table: str, values: dict[str, Any]) -> int:
    return rows.insert(db, table, tuple(values), values.values())
