"""From stored messages to what the engine is asked; no Qt here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from app.data.records import Attachment, Message
from app.engine.protocol import ChatMessage, ChatPrompt, SamplingOptions
from app.settings import by_scope
from app.ui.give_way import giving_way

__all__ = [
    "SYSTEM_ID",
    "Asked",
    "asked_messages",
    "chat_prompt",
    "message_content",
    "sampling_options",
]

SYSTEM_ID = "system"

Asked: TypeAlias = Mapping[str, tuple[Message, ChatMessage]]
"""Messages as the engine takes them, by id, each with what it was made of."""


def message_content(text: str, attachments: Sequence[Attachment]) -> str:
    """Return a user's message with its files in front, fenced so that models tell them apart."""
    parts = []
    for attachment in attachments:
        fence = "```"
        while fence in attachment.text:
            fence += "`"
        parts.append(f"File {attachment.name}:\n{fence}\n{attachment.text.rstrip()}\n{fence}")
    if text or not parts:
        parts.append(text)
    return "\n\n".join(parts)


def _asked(message: Message, *, is_open: bool = False) -> ChatMessage | None:
    """Return a message as the engine takes it, None where nothing was said."""
    if message.role == "user":
        content = message_content(message.text, message.attachments)
    elif message.text or is_open:
        content = message.text
    else:
        return None
    return ChatMessage(
        id=message.id, role=message.role, content=content, reasoning=message.reasoning or None
    )


def asked_messages(path: Sequence[Message], before: Asked) -> Asked:
    """Return a branch as the engine takes it; what ``before`` has of the same is not made again.

    Any thread may call this.
    """
    made: dict[str, tuple[Message, ChatMessage]] = {}
    for message in giving_way(path):
        old = before.get(message.id)
        if old is not None and old[0] is message:
            made[message.id] = old
        elif (new := _asked(message)) is not None:
            made[message.id] = message, new
    return made


def chat_prompt(
    messages: Sequence[Message],
    *,
    system: str,
    keep_from: str | None,
    now: str | None,
    trim: bool = True,
    continue_reply: bool = False,
    asked: Asked | None = None,
) -> ChatPrompt:
    """Return the conversation as the engine takes it; empty replies are left out.

    ``asked`` has messages that were made before.
    """
    asked = asked or {}
    chat = [ChatMessage(id=SYSTEM_ID, role="system", content=system)] if system.strip() else []
    last = len(messages) - 1
    for index, message in enumerate(messages):
        old = asked.get(message.id)
        if old is not None and old[0] is message:
            chat.append(old[1])
        elif new := _asked(message, is_open=continue_reply and index == last):
            chat.append(new)
    return ChatPrompt(
        messages=tuple(chat),
        keep_from=keep_from,
        trim=trim,
        continue_reply=continue_reply,
        now=now,
    )


def sampling_options(changed: Mapping[str, Any]) -> SamplingOptions:
    """Return sampling options: a chat's own values over defaults; unknown names are left out."""
    known = {setting.key for setting in by_scope("sampling")}
    return SamplingOptions(**{key: value for key, value in changed.items() if key in known})
