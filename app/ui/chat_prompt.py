"""From stored messages to what the engine is asked; no Qt here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.data.records import Attachment, Message
from app.engine.protocol import ChatMessage, ChatPrompt, SamplingOptions
from app.settings import by_scope

__all__ = ["SYSTEM_ID", "chat_prompt", "message_content", "sampling_options"]

SYSTEM_ID = "system"


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


def chat_prompt(
    messages: Sequence[Message],
    *,
    system: str,
    keep_from: str | None,
    now: str | None,
    trim: bool = True,
    continue_reply: bool = False,
) -> ChatPrompt:
    """Return the conversation as the engine takes it; empty replies are left out."""
    chat = [ChatMessage(id=SYSTEM_ID, role="system", content=system)] if system.strip() else []
    last = len(messages) - 1
    for index, message in enumerate(messages):
        if message.role == "user":
            content = message_content(message.text, message.attachments)
        elif message.text or (continue_reply and index == last):
            content = message.text
        else:
            continue
        chat.append(
            ChatMessage(
                id=message.id,
                role=message.role,
                content=content,
                reasoning=message.reasoning or None,
            )
        )
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
