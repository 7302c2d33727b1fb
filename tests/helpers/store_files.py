"""Stores for tests: a conversation with branches, and figures taken from outside the program."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.data.conversations import ConversationStore
from inspector.records import TurnStats

STATS = TurnStats(
    n_ctx=2048,
    prompt_tokens=100,
    reused_tokens=60,
    evaluated_tokens=40,
    reply_tokens=12,
    prefill_s=0.25,
    decode_s=0.5,
)


@dataclass(frozen=True)
class Chat:
    """Ids of a small conversation: question, two replies, and a follow-up of the second."""

    id: str
    question: str
    first_reply: str
    second_reply: str
    follow_up: str


def make_chat(store: ConversationStore, text: str = "What is a load line?") -> Chat:
    """Add a conversation with a fork to a store."""
    chat = store.create()
    question = store.add_message(chat.id, None, "user", text)
    first = store.start_reply(chat.id, question.id, model_name="tiny")
    store.save_reply(first.id, "A mark on a hull.", "hm", "complete", "end_of_turn", STATS)
    second = store.start_reply(chat.id, question.id, model_name="tiny")
    store.save_reply(second.id, "A limit.", "", "stopped", "stopped", STATS)
    follow = store.add_message(chat.id, second.id, "user", "Who invented it?")
    return Chat(chat.id, question.id, first.id, second.id, follow.id)


def rows_hash(path: Path, conversation_id: str) -> str:
    """Hash of every stored byte of a conversation, read past the program from the disk."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(path)) as db:
        for query in (
            "SELECT * FROM conversations WHERE id = ?",
            "SELECT * FROM messages WHERE conversation_id = ? ORDER BY seq",
            "SELECT * FROM context_events WHERE conversation_id = ? ORDER BY seq",
        ):
            for row in db.execute(query, (conversation_id,)):
                digest.update(repr(row).encode())
    return digest.hexdigest()
