"""What has to be in a store: everything that was asked, once, in order, with its answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.faults.outcome import check

__all__ = ["Ledger"]


@dataclass(slots=True)
class _Entry:
    """A chat of one question. ``least`` is what of the reply was known to be stored."""

    question: str
    expected: str
    least: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    conversation: int
    role: str
    text: str
    state: str


class Ledger:
    """Keeps account of chats across rounds and holds the store against it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, _Entry] = {}
        self._since = 0  # chats up to here are what was left by damage to the store

    def asked(self, question: str, expected: str) -> None:
        """Note a question that was sent, and the reply it gets at most."""
        self._entries[question] = _Entry(question, expected)

    def seen(self, question: str, reply: str) -> None:
        """Note what was read of a reply from the store: it must never be less again."""
        entry = self._entries.get(question)
        if entry is not None and len(reply) > len(entry.least):
            entry.least = reply

    def lost(self, question: str) -> None:
        """Note that a question can't be in the store, because nothing could be written."""
        self._entries.pop(question, None)

    def start_again(self) -> None:
        """Take what the store holds now as what it has to hold (after damage to it)."""
        self._entries = {}
        self._since = max((row.conversation for row in self._rows()), default=0)

    def chat_of(self, question: str) -> str | None:
        """Return the id of the chat that holds a question, None if there is none."""
        with closing(self._open()) as db:
            row = db.execute(
                "SELECT conversation_id FROM messages WHERE text = ? AND role = 'user'",
                (question,),
            ).fetchone()
        return None if row is None else str(row[0])

    def audit(self, *, running: str | None = None) -> None:
        """Hold the store against the account.

        ``running`` is a question whose reply may still be written. The store may be open in a
        window meanwhile.

        Raises:
            Wrong: a message is missing, there twice, in the wrong place, or is another.
        """
        chats: dict[int, list[_Row]] = {}
        for row in self._rows():
            if row.conversation > self._since:
                chats.setdefault(row.conversation, []).append(row)
        places: dict[str, int] = {}
        for number, rows in chats.items():
            first = rows[0]
            check(first.role == "user", f"a chat begins with {first.role}: {first.text[:60]!r}")
            check(first.text not in places, f"{first.text[:60]!r} is there twice")
            places[first.text] = number
            users = [row.text for row in rows if row.role == "user"]
            check(len(set(users)) == len(users), f"a message is there twice: {users}")
        for question, entry in self._entries.items():
            check(question in places, f"{question[:60]!r} is lost")
            replies = [row for row in chats[places[question]][1:] if row.role == "assistant"]
            check(len(replies) == 1, f"{question[:60]!r} has {len(replies)} replies")
            (reply,) = replies
            check(entry.expected.startswith(reply.text), f"a reply became {reply.text[-80:]!r}")
            check(
                reply.text.startswith(entry.least),
                f"a reply of {len(entry.least)} characters has {len(reply.text)} now",
            )
            check(
                reply.state != "streaming" or question == running,
                f"a reply is still {reply.state}: {question[:60]!r}",
            )
        order = [question for question in self._entries if question in places]
        check(order == sorted(order, key=lambda text: places[text]), "chats are in another order")

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)
        # A spoiled byte may stand in a text, which the program shows with a mark.
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return db

    def _rows(self) -> list[_Row]:
        with closing(self._open()) as db:
            found = db.execute(
                "SELECT c.seq, m.role, m.text, m.state FROM messages m"
                " JOIN conversations c ON c.id = m.conversation_id"
                " WHERE m.deleted_ms IS NULL AND c.deleted_ms IS NULL ORDER BY c.seq, m.seq"
            ).fetchall()
        return [_Row(*row) for row in found]
