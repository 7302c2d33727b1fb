"""Finding the chat that a word means, and writing chats as text."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from app.data.conversations import ConversationStore
from app.data.records import Conversation
from app.data.transfer import markdown, own
from app.data.transfer.common import TransferError

__all__ = ["Format", "export_text", "find_chat"]

Format: TypeAlias = Literal["markdown", "json"]
_SHORTEST_PREFIX = 4


def find_chat(store: ConversationStore, word: str) -> Conversation:
    """Return the chat with this id, this beginning of an id, or exactly this title.

    Raises:
        TransferError: there is none, or more than one.
    """
    chats = store.list_all()
    for chat in chats:
        if chat.id == word:
            return chat
    titled = [chat for chat in chats if chat.title == word]
    begun = [chat for chat in chats if chat.id.startswith(word.lower())]
    found = titled or (begun if len(word) >= _SHORTEST_PREFIX else [])
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(chat.id[:12] for chat in found[:5])
        raise TransferError(f"{len(found)} chats match {word!r}: name one by its id ({ids}).")
    raise TransferError(f"No chat has the id or title {word!r}; 'plimsoll export' lists them.")


def export_text(
    store: ConversationStore, chats: list[Conversation], kind: Format, now: datetime
) -> str:
    """Return chats as one document: JSON with all branches, Markdown with those that are shown."""
    if kind == "json":
        return own.render((store.whole(chat.id) for chat in chats), now)
    return markdown.render_all((chat, store.path(chat.id)) for chat in chats)
