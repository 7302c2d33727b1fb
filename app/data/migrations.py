"""The store's schema, as a list of steps to which only ever something is appended.

`PRAGMA user_version` holds ``major * 1000 + minor``. A minor step adds something that an older
Plimsoll can ignore, so an older program may still open the file; a major step may not be opened
by an older one, which refuses in a sentence. A step that has been released is never edited:
tests open files kept from every version.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from app.data import search

__all__ = ["MIGRATIONS", "Migration", "current_version", "migrate", "version_text"]


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: the version it leads to and what it does inside the caller's transaction."""

    version: int
    apply: Callable[[sqlite3.Connection], None]


_CORE = """
CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    title_is_auto INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    deleted_ms INTEGER,
    model_path TEXT,
    model_name TEXT,
    system_prompt TEXT,
    preset TEXT,
    sampling TEXT NOT NULL DEFAULT '{}',
    leaf_id TEXT,
    keep_from TEXT,
    pinned_now TEXT,
    draft TEXT NOT NULL DEFAULT ''
);
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    parent_id TEXT,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    stop_reason TEXT,
    model_name TEXT,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    attachments TEXT NOT NULL DEFAULT '[]',
    stats TEXT,
    deleted_ms INTEGER
);
CREATE INDEX messages_of_conversation ON messages (conversation_id, seq);
CREATE INDEX messages_streaming ON messages (state) WHERE state = 'streaming';
CREATE TABLE context_events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    dropped TEXT NOT NULL,
    dropped_tokens INTEGER NOT NULL,
    n_ctx INTEGER NOT NULL
);
CREATE INDEX context_events_of_conversation ON context_events (conversation_id, seq);
"""


def _core(db: sqlite3.Connection) -> None:
    _run(db, _CORE)


def _run(db: sqlite3.Connection, script: str) -> None:
    # Statement by statement: executescript would commit the caller's transaction.
    for statement in script.split(";\n"):
        if statement.strip():
            db.execute(statement)


# No index over conversations: there are as many rows as files that wait to be sent.
_DRAFT_FILES = """
CREATE TABLE draft_files (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT REFERENCES conversations (id) ON DELETE CASCADE,
    kept_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    path TEXT,
    note TEXT
);
"""


def _draft_files(db: sqlite3.Connection) -> None:
    _run(db, _DRAFT_FILES)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1000, _core),
    Migration(1001, search.create),  # full-text search, filled from the rows there are
    Migration(1002, _draft_files),  # files of drafts; an older program leaves them alone
)


def current_version() -> int:
    """Return the version that this program writes."""
    return MIGRATIONS[-1].version


def version_text(version: int) -> str:
    """Return a version as people read it, for example ``1.1``."""
    return f"{version // 1000}.{version % 1000}"


def migrate(db: sqlite3.Connection) -> None:
    """Bring an open store to the current version, in one transaction.

    A store that is already there, or newer by minor steps, is left as it is.

    Raises:
        sqlite3.Error: nothing was changed.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    steps = [step for step in MIGRATIONS if step.version > version]
    if not steps:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in steps:
            step.apply(db)
        db.execute(f"PRAGMA user_version = {steps[-1].version}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
