"""What every importer does alike with a file that nobody vouches for.

A file may hold other types than it should, ids twice, a message that is its own ancestor, or a
million nodes. Each importer only says what a message is; the order, the parents and the limits
are settled here, without recursion.
"""

from __future__ import annotations

import heapq
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app import settings
from app.data.conversations import WholeConversation
from app.data.records import Conversation, Message
from app.data.titles import clean_title, title_from

__all__ = [
    "MAX_MESSAGES",
    "Imported",
    "TransferError",
    "arranged",
    "as_dict",
    "as_list",
    "as_text",
    "field_values",
    "finished",
    "milliseconds",
    "same_id",
    "valid_sampling",
]

MAX_MESSAGES = 100_000  # in one conversation; a person's longest have a few thousand
_LATEST_MS = 253_402_300_799_000  # end of the year 9999, past which no date can be shown
_HEX_ID = re.compile(r"[0-9a-f]{32}")


class TransferError(Exception):
    """A file that can't be imported; the text is one clear sentence."""


@dataclass(slots=True)
class Imported:
    """What a file gave: conversations, and reasons with how often each left something out."""

    source: str
    conversations: list[WholeConversation] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count what was left out; ``reason`` is a plural: "messages without text"."""
        if count:
            self.skipped[reason] += count


def as_dict(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def milliseconds(value: object, scale: float = 1.0) -> int:
    """Return a time as milliseconds since 1970, 0 if it is none; ``scale`` 1000 for seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    scaled = value * scale
    return int(scaled) if 0 <= scaled <= _LATEST_MS else 0


def same_id(value: object) -> str:
    """Return an id for one of another program, always the same for the same; new if it has none."""
    text = as_text(value).replace("-", "").lower()
    if _HEX_ID.fullmatch(text):
        return text
    if not text:
        return uuid.uuid4().hex
    return uuid.uuid5(
        uuid.NAMESPACE_OID, as_text(value)[:1000].encode("utf-8", "replace").hex()
    ).hex


def valid_sampling(values: object) -> dict[str, Any]:
    """Return the sampling values that this program knows and takes."""
    kept: dict[str, Any] = {}
    for key, value in as_dict(values).items():
        try:
            kept[key] = settings.declared("sampling", key).check(value)
        except (KeyError, settings.SettingError, OverflowError):
            continue
    return kept


def arranged(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Return messages with parents before children, and how many could not be placed.

    Otherwise the order is that of ``created_ms``. A parent that isn't there makes a message a
    first one; of messages with the same id the first counts; a circle of parents is left out.
    """
    by_id: dict[str, Message] = {}
    for message in messages:
        by_id.setdefault(message.id, message)
    children: dict[str | None, list[tuple[int, int, str]]] = {}
    for order, message in enumerate(by_id.values()):
        parent = message.parent_id if message.parent_id in by_id else None
        children.setdefault(parent, []).append((message.created_ms, order, message.id))
    ready = list(children.get(None, ()))
    heapq.heapify(ready)
    placed: list[Message] = []
    while ready:
        _, _, message_id = heapq.heappop(ready)
        message = by_id[message_id]
        placed.append(message if message.parent_id in by_id else replace(message, parent_id=None))
        for child in children.get(message_id, ()):
            heapq.heappush(ready, child)
    return placed, len(messages) - len(placed)


def finished(
    conversation: Conversation, messages: Sequence[Message], into: Imported, *, what: str = "chats"
) -> None:
    """Put a conversation into what was imported: messages arranged, gaps filled, limits kept."""
    if len(messages) > MAX_MESSAGES:
        into.skip(f"{what} with more than {MAX_MESSAGES:,} messages")
        return
    placed, lost = arranged(messages)
    into.skip("messages that could not be placed in their chat", lost)
    if not placed:
        into.skip(f"{what} without a message")
        return
    ids = {message.id for message in placed}
    leaf = conversation.leaf_id if conversation.leaf_id in ids else placed[-1].id
    title = clean_title(conversation.title)
    if not title:
        title = next((t for m in placed if m.role == "user" and (t := title_from(m.text))), "")
    created = conversation.created_ms or placed[0].created_ms
    updated = conversation.updated_ms or max(message.updated_ms for message in placed) or created
    whole = replace(conversation, title=title, leaf_id=leaf, created_ms=created, updated_ms=updated)
    into.conversations.append(
        WholeConversation(whole, [replace(message, conversation_id=whole.id) for message in placed])
    )


def field_values(fields: object) -> Mapping[str, Any]:
    """Return a list of ``{"key": …, "value": …}`` as a mapping."""
    pairs = (as_dict(item) for item in as_list(fields))
    return {as_text(pair.get("key")): pair.get("value") for pair in pairs}
