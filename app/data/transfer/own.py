"""Plimsoll's own JSON: all that is kept of conversations, so that nothing is lost on the way.

``format`` and ``version`` come first. A later version may add keys, which an older program leaves
aside; one that changes the meaning of a key raises ``version``, and an older program refuses it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from app.data.conversations import WholeConversation
from app.data.records import ContextEvent, Conversation, Message
from app.data.transfer.common import (
    Imported,
    TransferError,
    as_dict,
    as_list,
    as_text,
    finished,
    milliseconds,
    same_id,
    valid_sampling,
)

__all__ = ["FORMAT", "VERSION", "looks_like", "read", "render"]

FORMAT = "plimsoll-conversations"
VERSION = 1
_MOST = 1 << 53
# Not part of a conversation as such: it comes from the place where it lies.
_LEFT_OUT = ("deleted_ms",)


def render(conversations: Iterable[WholeConversation], now: datetime) -> str:
    """Return conversations with all branches as JSON."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "exported": now.isoformat(timespec="seconds"),
        "conversations": [_plain(whole) for whole in conversations],
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"


def _plain(whole: WholeConversation) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(whole.conversation)
    plain["messages"] = [msgspec.to_builtins(message) for message in whole.messages]
    plain["context_events"] = [msgspec.to_builtins(event) for event in whole.events]
    for key in _LEFT_OUT:
        for item in (plain, *plain["messages"]):
            item.pop(key)
    for item in (*plain["messages"], *plain["context_events"]):
        item.pop("conversation_id")
    return plain


def looks_like(data: object) -> bool:
    """Tell whether decoded JSON is of this kind."""
    return as_dict(data).get("format") == FORMAT


def read(data: object) -> Imported:
    """Return the conversations of decoded JSON.

    Raises:
        TransferError: it was written by a newer Plimsoll.
    """
    version = as_dict(data).get("version")
    if version != VERSION:
        raise TransferError(
            f"The file has version {reprlib.repr(version)} of Plimsoll's format, and this program"
            f" knows version {VERSION}: update Plimsoll to import it."
        )
    into = Imported("Plimsoll")
    for item in as_list(as_dict(data).get("conversations")):
        try:
            _conversation(as_dict(item), into)
        except msgspec.ValidationError:
            into.skip("chats with a value of the wrong type")
    return into


def _conversation(item: dict[str, Any], into: Imported) -> None:
    chat_id = same_id(item.get("id"))
    plain = item | {"id": chat_id, "sampling": valid_sampling(item.get("sampling"))}
    conversation = msgspec.convert(plain, Conversation)
    conversation = replace(
        conversation,
        created_ms=milliseconds(conversation.created_ms),
        updated_ms=milliseconds(conversation.updated_ms),
        deleted_ms=None,
    )
    ids: dict[object, str] = {}
    messages: list[Message] = []
    for entry in map(as_dict, as_list(item.get("messages"))):
        message = msgspec.convert(entry | {"conversation_id": chat_id}, Message)
        parent = message.parent_id
        messages.append(
            replace(
                message,
                id=ids.setdefault(message.id, same_id(message.id)),
                parent_id=None if parent is None else ids.setdefault(parent, same_id(parent)),
                state="interrupted" if message.state == "streaming" else message.state,
                created_ms=milliseconds(message.created_ms),
                updated_ms=milliseconds(message.updated_ms),
                deleted_ms=None,
            )
        )
    before = len(into.conversations)
    leaf, keep_from = ids.get(conversation.leaf_id), ids.get(conversation.keep_from)
    finished(replace(conversation, leaf_id=leaf, keep_from=keep_from), messages, into)
    if len(into.conversations) > before:
        whole = into.conversations[-1]
        events = _events(item, chat_id, ids)
        into.conversations[-1] = replace(
            whole,
            conversation=replace(whole.conversation, title_is_auto=conversation.title_is_auto),
            events=events,
        )


def _events(item: dict[str, Any], chat_id: str, ids: dict[object, str]) -> list[ContextEvent]:
    events = []
    for entry in map(as_dict, as_list(item.get("context_events"))):
        event = msgspec.convert(entry | {"conversation_id": chat_id}, ContextEvent)
        events.append(
            replace(
                event,
                id=same_id(event.id),
                message_id=ids.get(event.message_id, as_text(event.message_id)),
                created_ms=milliseconds(event.created_ms),
                dropped=tuple(ids.get(dropped, dropped) for dropped in event.dropped),
                dropped_tokens=min(max(event.dropped_tokens, 0), _MOST),
                n_ctx=min(max(event.n_ctx, 0), _MOST),
            )
        )
    return events
