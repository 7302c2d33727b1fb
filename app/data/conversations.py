"""Conversations: what the window and the command line do with them.

Nothing here is ever erased by an edit: a changed message or another reply is a new message beside
the old one, and ``leaf_id`` says which branch is shown. Deleting marks; only a purge removes.
A user's message is on the disk when `ConversationStore.add_message` returns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from app.data import rows, search
from app.data.draft_files import DraftFileStore
from app.data.errors import UnknownId
from app.data.records import (
    ContextEvent,
    Conversation,
    ConversationFields,
    Message,
    SearchHit,
)
from app.data.store_base import conversation_row, new_id, seq_of
from app.data.titles import clean_title, title_from

__all__ = ["ConversationStore", "WholeConversation"]

_CONVERSATION = ", ".join(rows.CONVERSATION_COLUMNS)
_END_OF_TIME_MS = 2**62


@dataclass(frozen=True, slots=True)
class WholeConversation:
    """A conversation with all its branches, parents before children; what transfers carry."""

    conversation: Conversation
    messages: Sequence[Message]
    events: Sequence[ContextEvent] = ()


class ConversationStore(DraftFileStore):
    """All conversations. To be used from one thread; `app.data.writer.StoreThread` gives it one.

    Methods that take an id raise `UnknownId` if there is none; those that write raise
    `StoreUnavailable` in a read-only store. A disk that fails raises nothing: see
    `app.data.database`.
    """

    def create(self, title: str = "", **fields: Unpack[ConversationFields]) -> Conversation:
        """Make an empty conversation; without a title the first message gives it one."""
        now = self._now()
        title = clean_title(rows.clean_text(title))
        made = Conversation(
            id=new_id(),
            title=title,
            title_is_auto=not title,
            created_ms=now,
            updated_ms=now,
            **fields,
        )

        def work(db: sqlite3.Connection) -> None:
            seq = rows.insert(
                db, "conversations", rows.CONVERSATION_COLUMNS, rows.conversation_values(made)
            )
            search.index_title(db, seq, title)

        self._write(work)
        return made

    def get(self, conversation_id: str) -> Conversation | None:
        """Return a conversation, also one that is deleted but not purged; None if unknown."""
        return self._read(lambda db: conversation_row(db, conversation_id))

    def list_all(self, *, deleted: bool = False) -> list[Conversation]:
        """Return conversations, pinned ones first, then by last activity, newest first."""
        return self._read(
            lambda db: [
                rows.conversation_of(row)
                for row in db.execute(
                    f"SELECT {_CONVERSATION} FROM conversations"
                    f" WHERE deleted_ms IS {'NOT ' if deleted else ''}NULL"
                    " ORDER BY pinned DESC, updated_ms DESC, seq DESC"
                )
            ]
        )

    def update(self, conversation_id: str, **fields: Unpack[ConversationFields]) -> None:
        """Change what a conversation is held with (not its place in the list)."""
        values: dict[str, Any] = {
            key: rows.clean_text(value) if isinstance(value, str) else value
            for key, value in fields.items()
        }
        if "sampling" in values:
            values["sampling"] = rows.sampling_json(values["sampling"])
        self._set(conversation_id, values)

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a title of the user's; an empty one goes back to that of the first message."""
        title = clean_title(rows.clean_text(title))

        def work(db: sqlite3.Connection) -> None:
            seq = seq_of(db, conversation_id)
            shown = title or _first_title(db, conversation_id)
            db.execute(
                "UPDATE conversations SET title = ?, title_is_auto = ? WHERE seq = ?",
                (shown, not title, seq),
            )
            search.index_title(db, seq, shown)

        self._write(work)

    def pin(self, conversation_id: str, pinned: bool = True) -> None:
        """Keep a conversation at the top of the list, or no longer."""
        self._set(conversation_id, {"pinned": pinned})

    def delete(self, conversation_id: str) -> None:
        """Take a conversation out of the list; `undelete` brings it back until it is purged."""
        self._set(conversation_id, {"deleted_ms": self._now()})

    def undelete(self, conversation_id: str) -> None:
        """Undo `delete`."""
        self._set(conversation_id, {"deleted_ms": None})

    def purge(self, conversation_id: str) -> None:
        """Remove a conversation for good; an unknown one is gone already."""
        self._write(lambda db: _purge(db, [conversation_id]))

    def purge_deleted(self, before_ms: int) -> int:
        """Purge what was deleted before a time; return how many conversations that were."""

        def work(db: sqlite3.Connection) -> int:
            old = db.execute("SELECT id FROM conversations WHERE deleted_ms < ?", (before_ms,))
            return _purge(db, [row[0] for row in old.fetchall()])

        return self._write(work)

    def settle_last_run(self) -> None:
        """Put in order what a run that was killed left: once, before anything else is done.

        Replies that nobody writes any more count as interrupted. Chats that were deleted are
        purged: the offer to undo that went with the window.
        """
        self.close_interrupted()
        self.purge_deleted(_END_OF_TIME_MS)

    def search(self, query: str, limit: int = 100) -> list[SearchHit]:
        """Return where all words of a query occur (their beginnings are enough), newest first.

        Case and accents don't matter; in scripts without spaces any substring is found.
        """
        return self._read(lambda db: search.find(db, query, limit))

    # --- copies -----------------------------------------------------------------------------

    def whole(self, conversation_id: str) -> WholeConversation:
        """Return a conversation with all its branches."""
        conversation = self.get(conversation_id)
        if conversation is None:
            raise UnknownId(f"no conversation {conversation_id}")
        return WholeConversation(
            conversation, self.messages(conversation_id), self.context_events(conversation_id)
        )

    def duplicate(
        self, conversation_id: str, *, title: str | None = None, until: str | None = None
    ) -> Conversation:
        """Copy a conversation with all its branches, or only the way to the message ``until``."""
        source = self.whole(conversation_id)
        messages = list(source.messages)
        leaf = source.conversation.leaf_id
        if until is not None:
            messages, leaf = _way_to(messages, until), until
        named = replace(
            source.conversation,
            title=source.conversation.title if title is None else clean_title(title),
            leaf_id=leaf,
            pinned=False,
            deleted_ms=None,
            draft="",
        )
        now = self._now()
        kept = {message.id for message in messages}
        events = [event for event in source.events if event.message_id in kept]
        copy = _with_new_ids(WholeConversation(named, messages, events))
        copy = replace(
            copy, conversation=replace(copy.conversation, created_ms=now, updated_ms=now)
        )
        self._write(lambda db: _insert_whole(db, copy), durable=True)
        return copy.conversation

    def add_whole(self, conversations: Iterable[WholeConversation]) -> tuple[int, int]:
        """Add conversations from elsewhere, all or none; return how many were new and known.

        One that is here already and has not changed since is left alone; one that has is added
        as a copy under new ids. Parents have to come before their children.
        """

        def work(db: sqlite3.Connection) -> tuple[int, int]:
            new = known = 0
            for whole in conversations:
                there = conversation_row(db, whole.conversation.id)
                if there and there.updated_ms == whole.conversation.updated_ms:
                    known += 1
                    db.execute(
                        "UPDATE conversations SET deleted_ms = NULL WHERE id = ?", (there.id,)
                    )
                    continue
                new += 1
                _insert_whole(db, _with_new_ids(whole) if _ids_taken(db, whole) else whole)
            return new, known

        return self._write(work, durable=True)


def _purge(db: sqlite3.Connection, conversation_ids: list[str]) -> int:
    purged = 0
    for conversation_id in conversation_ids:
        row = db.execute(
            "SELECT seq FROM conversations WHERE id = ?", (conversation_id,)
        ).fetchone()
        if row is not None:
            search.remove(db, row[0], conversation_id)
            db.execute("DELETE FROM conversations WHERE seq = ?", row)
            purged += 1
    if purged:
        search.forget_removed(db)
    return purged


def _first_title(db: sqlite3.Connection, conversation_id: str) -> str:
    row = db.execute(
        "SELECT text FROM messages WHERE conversation_id = ? AND role = 'user'"
        " AND deleted_ms IS NULL ORDER BY seq LIMIT 1",
        (conversation_id,),
    ).fetchone()
    return title_from(row[0]) if row else ""


def _way_to(messages: list[Message], until: str) -> list[Message]:
    by_id = {message.id: message for message in messages}
    way: list[Message] = []
    place: str | None = until
    while place is not None:
        if place not in by_id:
            raise UnknownId(f"no message {place}")
        way.append(by_id[place])
        place = by_id[place].parent_id
    return way[::-1]


def _with_new_ids(whole: WholeConversation) -> WholeConversation:
    ids = {message.id: new_id() for message in whole.messages}
    conversation = replace(
        whole.conversation,
        id=new_id(),
        leaf_id=ids.get(whole.conversation.leaf_id or ""),
        keep_from=ids.get(whole.conversation.keep_from or ""),
    )
    messages = [
        replace(
            message,
            id=ids[message.id],
            conversation_id=conversation.id,
            parent_id=ids.get(message.parent_id or ""),
        )
        for message in whole.messages
    ]
    events = [
        replace(
            event,
            id=new_id(),
            conversation_id=conversation.id,
            message_id=ids.get(event.message_id, event.message_id),
            dropped=tuple(ids.get(dropped, dropped) for dropped in event.dropped),
        )
        for event in whole.events
    ]
    return WholeConversation(conversation, messages, events)


def _ids_taken(db: sqlite3.Connection, whole: WholeConversation) -> bool:
    tables = (
        ("conversations", [whole.conversation.id]),
        ("messages", [message.id for message in whole.messages]),
        ("context_events", [event.id for event in whole.events]),
    )
    return any(
        db.execute(f"SELECT 1 FROM {table} WHERE id = ?", (row_id,)).fetchone()
        for table, row_ids in tables
        for row_id in row_ids
    )


def _insert_whole(db: sqlite3.Connection, whole: WholeConversation) -> None:
    conversation = whole.conversation
    seq = rows.insert(
        db, "conversations", rows.CONVERSATION_COLUMNS, rows.conversation_values(conversation)
    )
    search.index_title(db, seq, conversation.title)
    for message in whole.messages:
        seq = rows.insert(db, "messages", rows.MESSAGE_COLUMNS, rows.message_values(message))
        if message.state != "streaming":
            search.index_message(db, seq, message.text)
    for event in whole.events:
        rows.insert(db, "context_events", rows.EVENT_COLUMNS, rows.event_values(event))
