"""The messages of conversations: written as they arrive, never erased by an edit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.data import rows, search
from app.data.errors import UnknownId
from app.data.records import (
    Attachment,
    ContextEvent,
    Deletion,
    Message,
    MessageState,
    Role,
    Siblings,
)
from app.data.store_base import StoreBase, conversation_row, new_id, seq_of, tree_of
from app.data.titles import title_from
from inspector.records import TurnStats

__all__ = ["MessageStore"]

_MESSAGE = ", ".join(rows.MESSAGE_COLUMNS)
_EVENT = ", ".join(rows.EVENT_COLUMNS)
_PATH = f"""
WITH RECURSIVE up (seq, parent_id, height) AS (
    SELECT seq, parent_id, 0 FROM messages WHERE id = :leaf
    UNION ALL
    SELECT m.seq, m.parent_id, up.height + 1 FROM up JOIN messages m ON m.id = up.parent_id
    WHERE up.height < :most
)
SELECT {", ".join("m." + column for column in rows.MESSAGE_COLUMNS)}
FROM up JOIN messages m ON m.seq = up.seq WHERE m.deleted_ms IS NULL ORDER BY up.height DESC
"""


class MessageStore(StoreBase):
    """What is done with messages; each method names the message or conversation it means."""

    # --- reading ----------------------------------------------------------------------------

    def path(self, conversation_id: str) -> list[Message]:
        """Return the branch that is shown, from the first message to the last."""
        return self._read(lambda db: _path(db, conversation_id))

    def messages(self, conversation_id: str) -> list[Message]:
        """Return the messages of all branches, parents first; deleted ones are passed over."""

        def work(db: sqlite3.Connection) -> list[Message]:
            tree = tree_of(db, conversation_id)
            found = db.execute(
                f"SELECT {_MESSAGE} FROM messages WHERE conversation_id = ?"
                " AND deleted_ms IS NULL ORDER BY seq",
                (conversation_id,),
            )
            return [
                replace(message, parent_id=tree.living_parent(message.id))
                for message in map(rows.message_of, found)
            ]

        return self._read(work)

    def message(self, message_id: str) -> Message | None:
        """Return a message, None if unknown."""
        return self._read(lambda db: _message(db, message_id))

    def siblings(self, message_id: str) -> Siblings:
        """Return the versions at a message's place, oldest first, itself among them."""

        def work(db: sqlite3.Connection) -> Siblings:
            return tree_of(db, _known(db, message_id).conversation_id).siblings(message_id)

        return self._read(work)

    def forks(self, conversation_id: str) -> dict[str, Siblings]:
        """Return, for the branch that is shown, the siblings of each message that has some.

        One pass for a whole transcript, in place of `siblings` for each message.
        """

        def work(db: sqlite3.Connection) -> dict[str, Siblings]:
            leaf = _leaf(db, conversation_id)
            return tree_of(db, conversation_id).forks(leaf)

        return self._read(work)

    def context_events(self, conversation_id: str) -> list[ContextEvent]:
        """Return when messages left the context window, oldest first."""
        return self._read(
            lambda db: [
                rows.event_of(row)
                for row in db.execute(
                    f"SELECT {_EVENT} FROM context_events WHERE conversation_id = ? ORDER BY seq",
                    (conversation_id,),
                )
            ]
        )

    # --- writing ----------------------------------------------------------------------------

    def add_message(
        self,
        conversation_id: str,
        parent_id: str | None,
        role: Role,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        reasoning: str = "",
        state: MessageState = "complete",
        stop_reason: str | None = None,
        model_name: str | None = None,
        keeps_draft: bool = False,
    ) -> Message:
        """Add a message below another (None: at the top) and show its branch.

        A user's message empties the conversation's draft in the same step, with the files that
        were to go with it (unless it ``keeps_draft``, being something else), and the first one
        gives a conversation without a title its title.

        Raises:
            UnknownId: no such conversation, or the parent is a message of another one.
        """
        now = self._now()
        message = Message(
            id=new_id(),
            conversation_id=conversation_id,
            parent_id=parent_id,
            role=role,
            text=rows.clean_text(text),
            reasoning=rows.clean_text(reasoning),
            state=state,
            stop_reason=stop_reason,
            model_name=model_name,
            created_ms=now,
            updated_ms=now,
            attachments=tuple(attachments),
        )
        self._write(lambda db: _insert(db, message, keeps_draft=keeps_draft), durable=True)
        return message

    def start_reply(
        self, conversation_id: str, parent_id: str | None, *, model_name: str | None = None
    ) -> Message:
        """Add an empty reply that `save_reply` will fill; another one of the same parent stays."""
        return self.add_message(
            conversation_id,
            parent_id,
            "assistant",
            "",
            state="streaming",
            model_name=model_name,
        )

    def save_reply(
        self,
        message_id: str,
        text: str,
        reasoning: str = "",
        state: MessageState = "streaming",
        stop_reason: str | None = None,
        stats: TurnStats | None = None,
    ) -> bool:
        """Store a reply as far as it has come; cheap enough for several times a second.

        With any state but ``streaming`` it is waited for until the disk has it, and searches find
        it. A reply that is continued goes back to ``streaming`` the same way. Returns False if
        the message was purged meanwhile.
        """
        now = self._now()
        text = rows.clean_text(text)
        values = (text, rows.clean_text(reasoning), state, stop_reason, rows.stats_json(stats), now)
        final = state != "streaming"

        def work(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "UPDATE messages SET text = ?, reasoning = ?, state = ?, stop_reason = ?,"
                " stats = ?, updated_ms = ? WHERE id = ? RETURNING seq, conversation_id",
                (*values, message_id),
            ).fetchall()
            for seq, conversation_id in changed if final else ():
                search.index_message(db, seq, text)
                db.execute(
                    "UPDATE conversations SET updated_ms = ? WHERE id = ?", (now, conversation_id)
                )
            return bool(changed)

        return self._write(work, durable=final)

    def edit(
        self, message_id: str, text: str, *, attachments: Sequence[Attachment] | None = None
    ) -> Message:
        """Add a changed version beside a message and show it; the old one and all below it stay.

        A draft stays, too: it is something else that is being written.
        ``attachments`` None keeps those of the old version. Of a reply it is kept that a person
        wrote it: its stop reason is "edited".
        """
        old = self._read(lambda db: _known(db, message_id))
        return self.add_message(
            old.conversation_id,
            old.parent_id,
            old.role,
            text,
            attachments=old.attachments if attachments is None else attachments,
            reasoning=old.reasoning,
            stop_reason="edited" if old.role == "assistant" else None,
            model_name=old.model_name,
            keeps_draft=True,
        )

    def select_branch(self, message_id: str) -> str:
        """Show the branch of a message, down to its newest descendant; return that one's id."""

        def work(db: sqlite3.Connection) -> str:
            conversation_id = _known(db, message_id).conversation_id
            leaf = tree_of(db, conversation_id).newest_leaf(message_id)
            _set_leaf(db, conversation_id, leaf)
            return leaf

        return self._write(work)

    def delete_message(self, message_id: str, *, with_replies: bool = False) -> Deletion:
        """Hide a message; what followed it follows what came before, or is hidden as well.

        Returns what `undo_delete_message` takes to bring it back.
        """
        now = self._now()

        def work(db: sqlite3.Connection) -> Deletion:
            conversation_id = _known(db, message_id).conversation_id
            tree = tree_of(db, conversation_id)
            before = _leaf(db, conversation_id)
            below = tree.descendants(message_id)
            hidden = tuple(
                place
                for place in (below if with_replies else [message_id])
                if not tree.is_deleted(place)
            )
            db.executemany(
                "UPDATE messages SET deleted_ms = ? WHERE id = ?", [(now, h) for h in hidden]
            )
            if before in hidden:
                _set_leaf(db, conversation_id, tree.leaf_without(message_id, set(hidden)))
            return Deletion(conversation_id, hidden, before)

        return self._write(work)

    def undo_delete_message(self, deletion: Deletion) -> None:
        """Bring back what `delete_message` hid, and the branch that was shown then."""

        def work(db: sqlite3.Connection) -> None:
            db.executemany(
                "UPDATE messages SET deleted_ms = NULL WHERE id = ?",
                [(message_id,) for message_id in deletion.message_ids],
            )
            if deletion.leaf_before in deletion.message_ids:
                _set_leaf(db, deletion.conversation_id, deletion.leaf_before)

        self._write(work)

    def add_context_event(
        self,
        conversation_id: str,
        message_id: str,
        *,
        dropped: Iterable[str],
        dropped_tokens: int,
        n_ctx: int,
        keep_from: str | None,
    ) -> ContextEvent:
        """Record that messages left the window at a message, and what the trim kept."""
        event = ContextEvent(
            id=new_id(),
            conversation_id=conversation_id,
            message_id=message_id,
            created_ms=self._now(),
            dropped=tuple(dropped),
            dropped_tokens=dropped_tokens,
            n_ctx=n_ctx,
        )

        def work(db: sqlite3.Connection) -> None:
            seq = seq_of(db, conversation_id)
            rows.insert(db, "context_events", rows.EVENT_COLUMNS, rows.event_values(event))
            db.execute("UPDATE conversations SET keep_from = ? WHERE seq = ?", (keep_from, seq))

        self._write(work)
        return event

    def close_interrupted(self) -> int:
        """Mark replies that a killed program left half written; return how many there were.

        To be called once at start, before any reply begins.
        """

        def work(db: sqlite3.Connection) -> int:
            left = db.execute(
                "UPDATE messages SET state = 'interrupted' WHERE state = 'streaming'"
                " RETURNING seq, text"
            ).fetchall()
            for seq, text in left:
                search.index_message(db, seq, text)
            return len(left)

        return self._write(work)


def _path(db: sqlite3.Connection, conversation_id: str) -> list[Message]:
    leaf = _leaf(db, conversation_id)
    if leaf is None:
        return []
    # A bound, so that even a cycle in a repaired store comes to an end.
    most = db.execute(
        "SELECT count(*) FROM messages WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()[0]
    found = db.execute(_PATH, {"leaf": leaf, "most": most})
    return [rows.message_of(row) for row in found]


def _message(db: sqlite3.Connection, message_id: str) -> Message | None:
    row = db.execute(f"SELECT {_MESSAGE} FROM messages WHERE id = ?", (message_id,)).fetchone()
    return rows.message_of(row) if row else None


def _known(db: sqlite3.Connection, message_id: str) -> Message:
    message = _message(db, message_id)
    if message is None:
        raise UnknownId(f"no message {message_id}")
    return message


def _leaf(db: sqlite3.Connection, conversation_id: str) -> str | None:
    conversation = conversation_row(db, conversation_id)
    if conversation is None:
        raise UnknownId(f"no conversation {conversation_id}")
    return conversation.leaf_id


def _set_leaf(db: sqlite3.Connection, conversation_id: str, leaf: str | None) -> None:
    db.execute("UPDATE conversations SET leaf_id = ? WHERE id = ?", (leaf, conversation_id))


def _insert(db: sqlite3.Connection, message: Message, *, keeps_draft: bool) -> None:
    conversation = conversation_row(db, message.conversation_id)
    if conversation is None:
        raise UnknownId(f"no conversation {message.conversation_id}")
    if message.parent_id is not None:
        parent = _known(db, message.parent_id)
        if parent.conversation_id != message.conversation_id:
            raise UnknownId(f"message {message.parent_id} is of another conversation")
    seq = rows.insert(db, "messages", rows.MESSAGE_COLUMNS, rows.message_values(message))
    if message.state != "streaming":
        search.index_message(db, seq, message.text)
    title, draft = conversation.title, conversation.draft
    if message.role == "user":
        if not keeps_draft:
            draft = ""
            db.execute("DELETE FROM draft_files WHERE conversation_id = ?", (conversation.id,))
        if conversation.title_is_auto and not title:
            title = title_from(message.text) or next((a.name for a in message.attachments), "")
            search.index_title(db, seq_of(db, conversation.id), title)
    db.execute(
        "UPDATE conversations SET leaf_id = ?, updated_ms = ?, title = ?, draft = ? WHERE id = ?",
        (message.id, message.created_ms, title, draft, conversation.id),
    )
