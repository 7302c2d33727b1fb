"""Which rows changed while the store lived in memory, and how they reach the disk afterwards.

Triggers note the id of each row that changes, so no caller has to remember it. Rows go back by
id and not by ``seq``, which the disk's own rows may have taken meanwhile.
"""

from __future__ import annotations

import sqlite3

from app.data import files, search
from app.data.rows import CONVERSATION_COLUMNS, DRAFT_FILE_COLUMNS, EVENT_COLUMNS, MESSAGE_COLUMNS

__all__ = ["watch", "write_back"]

# Parents before children, as the foreign keys ask for.
_TABLES = (
    ("conversations", CONVERSATION_COLUMNS),
    ("messages", MESSAGE_COLUMNS),
    ("context_events", EVENT_COLUMNS),
    ("draft_files", DRAFT_FILE_COLUMNS),
)


def watch(memory: sqlite3.Connection) -> None:
    """Note every change from now on."""
    memory.execute("CREATE TEMP TABLE changed (name TEXT, id TEXT, PRIMARY KEY (name, id))")
    for table, _ in _TABLES:
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            memory.execute(
                f"CREATE TEMP TRIGGER changed_{table}_{event.lower()} AFTER {event} ON main.{table}"
                f" BEGIN INSERT OR IGNORE INTO changed VALUES ('{table}', {row}.id); END"
            )


def write_back(memory: sqlite3.Connection, disk: sqlite3.Connection) -> None:
    """Bring every noted row to the disk, in one transaction.

    Raises:
        sqlite3.Error: nothing was written.
    """
    with files.transaction(disk, durable=True):
        for table, columns in _TABLES:
            _write_table(memory, disk, table, columns)


def _write_table(
    memory: sqlite3.Connection, disk: sqlite3.Connection, table: str, columns: tuple[str, ...]
) -> None:
    names = ", ".join(columns)
    rows = memory.execute(
        f"SELECT t.seq, {', '.join('t.' + column for column in columns)} FROM changed c"
        f" JOIN main.{table} t ON t.id = c.id WHERE c.name = ? ORDER BY t.seq",
        (table,),
    )
    updates = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    for _, *values in rows:
        disk.execute(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
            f" ON CONFLICT (id) DO UPDATE SET {updates}",
            values,
        )
        _index(disk, table, values[0])
    gone = memory.execute(
        f"SELECT c.id FROM changed c LEFT JOIN main.{table} t ON t.id = c.id"
        " WHERE c.name = ? AND t.id IS NULL",
        (table,),
    )
    removed = gone.fetchall()
    for (row_id,) in removed:
        if table == "conversations":
            for (seq,) in disk.execute("SELECT seq FROM conversations WHERE id = ?", (row_id,)):
                search.remove(disk, seq, row_id)
        disk.execute(f"DELETE FROM {table} WHERE id = ?", (row_id,))
    if removed:
        search.forget_removed(disk)


def _index(disk: sqlite3.Connection, table: str, row_id: str) -> None:
    if table == "conversations":
        found = disk.execute("SELECT seq, title FROM conversations WHERE id = ?", (row_id,))
        search.index_title(disk, *found.fetchone())
    elif table == "messages":
        found = disk.execute("SELECT seq, text FROM messages WHERE id = ?", (row_id,))
        search.index_message(disk, *found.fetchone())
