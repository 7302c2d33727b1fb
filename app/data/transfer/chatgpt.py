"""ChatGPT's ``conversations.json``: a list of trees of nodes.

A node may hold no message, a message of the system or of a tool, one that only carries thoughts,
or one that is kept out of the conversation by its weight. Those are passed over; what followed
them follows what came before.
"""

from __future__ import annotations

from typing import Any

from app.data.records import Conversation, Message, Role
from app.data.transfer.common import (
    MAX_MESSAGES,
    Imported,
    arranged,
    as_dict,
    as_list,
    as_text,
    finished,
    milliseconds,
    same_id,
)

__all__ = ["looks_like", "read"]

_TEXTS = {"text", "multimodal_text", "code"}
_NOT_TEXT = {
    "image_asset_pointer": "[image]",
    "audio_asset_pointer": "[audio]",
    "real_time_user_audio_video_asset_pointer": "[audio]",
}


def looks_like(data: object) -> bool:
    """Tell whether decoded JSON is of this kind."""
    items = data if isinstance(data, list) else [data]
    return any(isinstance(item, dict) and "mapping" in item for item in items[:100])


def read(data: object) -> Imported:
    """Return the conversations of decoded JSON."""
    into = Imported("ChatGPT")
    for item in data if isinstance(data, list) else [data]:
        mapping = as_dict(item).get("mapping")
        if not isinstance(mapping, dict):
            into.skip("entries that are not chats")
        elif len(mapping) > 2 * MAX_MESSAGES:
            into.skip(f"chats with more than {MAX_MESSAGES:,} messages")
        else:
            _conversation(as_dict(item), mapping, into)
    return into


def _conversation(item: dict[str, Any], mapping: dict[str, Any], into: Imported) -> None:
    nodes, lost = arranged([_node(key, as_dict(node)) for key, node in mapping.items()])
    into.skip("messages that could not be placed in their chat", lost)
    # For each node: the message that stands for it, the thoughts not yet given to a reply.
    stands: dict[str, str | None] = {}
    thoughts: dict[str, str] = {}
    kept: list[Message] = []
    system = ""
    prefix = same_id(as_text(item.get("conversation_id")) or as_text(item.get("id")))
    for node in nodes:
        message = as_dict(as_dict(mapping[node.id]).get("message"))
        parent = stands.get(node.parent_id) if node.parent_id else None
        thinking = thoughts.get(node.parent_id, "") if node.parent_id else ""
        stands[node.id] = parent
        role = as_text(as_dict(message.get("author")).get("role"))
        text = _text(as_dict(message.get("content")))
        if role == "system":
            system = system or text
        elif role == "assistant" and (thought := _thoughts(as_dict(message.get("content")))):
            thoughts[node.id] = f"{thinking}\n\n{thought}" if thinking else thought
        elif role in {"user", "assistant"} and text and _is_shown(message):
            made = _message(prefix, node, message, parent, text, thinking)
            kept.append(made)
            stands[node.id] = made.id
        else:
            thoughts[node.id] = thinking
            into.skip("messages of tools", role == "tool" or _is_to_a_tool(message))
    current = stands.get(as_text(item.get("current_node")))
    finished(
        Conversation(
            id=prefix,
            title=as_text(item.get("title")),
            title_is_auto=False,
            created_ms=milliseconds(item.get("create_time"), 1000),
            updated_ms=milliseconds(item.get("update_time"), 1000),
            system_prompt=system or None,
            leaf_id=current,
        ),
        kept,
        into,
    )


def _node(key: str, node: dict[str, Any]) -> Message:
    """Return a node's place in the tree; its content is looked at later."""
    created = milliseconds(as_dict(node.get("message")).get("create_time"), 1000)
    return Message(
        id=key,
        conversation_id="",
        parent_id=as_text(node.get("parent")) or None,
        role="user",
        text="",
        reasoning="",
        state="complete",
        stop_reason=None,
        model_name=None,
        created_ms=created,
        updated_ms=created,
    )


def _message(
    prefix: str,
    node: Message,
    message: dict[str, Any],
    parent: str | None,
    text: str,
    thinking: str,
) -> Message:
    role: Role = "user" if as_dict(message.get("author")).get("role") == "user" else "assistant"
    model = as_text(as_dict(message.get("metadata")).get("model_slug"))
    unfinished = as_text(message.get("status")) == "in_progress"
    return Message(
        # The same export read twice gives the same ids, and two chats never share one.
        id=same_id(f"{prefix}/{node.id}"),
        conversation_id="",
        parent_id=parent,
        role=role,
        text=text,
        reasoning=thinking if role == "assistant" else "",
        state="interrupted" if unfinished else "complete",
        stop_reason=None,
        model_name=model or None,
        created_ms=node.created_ms,
        updated_ms=milliseconds(message.get("update_time"), 1000) or node.created_ms,
    )


def _is_shown(message: dict[str, Any]) -> bool:
    hidden = as_dict(message.get("metadata")).get("is_visually_hidden_from_conversation")
    return message.get("weight") != 0 and hidden is not True and not _is_to_a_tool(message)


def _is_to_a_tool(message: dict[str, Any]) -> bool:
    return as_text(message.get("recipient")) not in {"", "all"}


def _text(content: dict[str, Any]) -> str:
    if as_text(content.get("content_type")) not in _TEXTS:
        return ""
    parts = [_part(part) for part in as_list(content.get("parts"))]
    return "\n\n".join(part for part in (*parts, as_text(content.get("text"))) if part)


def _part(part: object) -> str:
    if isinstance(part, dict):
        kind = as_text(part.get("content_type"))
        return as_text(part.get("text")) or _NOT_TEXT.get(kind, "")
    return as_text(part)


def _thoughts(content: dict[str, Any]) -> str:
    if as_text(content.get("content_type")) != "thoughts":
        return ""
    found = (as_dict(thought) for thought in as_list(content.get("thoughts")))
    return "\n\n".join(text for t in found if (text := as_text(t.get("content"))))
