"""LM Studio's conversation files: a list of places, each with versions of which one is shown.

What follows a place belongs to the version that is shown; the other versions end there. A version
is one step (a user's message) or several (a reply with thinking, tool calls, notes). Their names
have changed between versions of the program, so everything is looked for and nothing is missed.
"""

from __future__ import annotations

from typing import Any

from app.data.records import Attachment, Conversation, Message, Role
from app.data.transfer.common import (
    MAX_MESSAGES,
    Imported,
    as_dict,
    as_list,
    as_text,
    field_values,
    finished,
    milliseconds,
    same_id,
    valid_sampling,
)

__all__ = ["looks_like", "read"]

_SAMPLING = {
    "llm.prediction.temperature": "temperature",
    "llm.prediction.topKSampling": "top_k",
    "llm.prediction.topPSampling": "top_p",
    "llm.prediction.minPSampling": "min_p",
    "llm.prediction.repeatPenalty": "repeat_penalty",
    "llm.prediction.maxPredictedTokens": "max_tokens",
}


def looks_like(data: object) -> bool:
    """Tell whether decoded JSON is of this kind."""
    messages = as_list(as_dict(data).get("messages"))
    return any("versions" in as_dict(m) or "role" in as_dict(m) for m in messages[:100])


def read(data: object, name: str) -> Imported:
    """Return the conversation of decoded JSON; ``name`` is the file's and gives it its id."""
    into = Imported("LM Studio")
    item = as_dict(data)
    places = as_list(item.get("messages"))
    if len(places) > MAX_MESSAGES:
        into.skip(f"chats with more than {MAX_MESSAGES:,} messages")
        return into
    created = milliseconds(item.get("createdAt"))
    conversation_id = same_id(f"lm-studio/{name}/{created}")
    config = field_values(as_dict(item.get("perChatPredictionConfig")).get("fields"))
    system = as_text(item.get("systemPrompt"))
    system = system or as_text(config.get("llm.prediction.systemPrompt"))
    messages: list[Message] = []
    shown: str | None = None
    for number, place in enumerate(map(as_dict, places)):
        versions = [as_dict(version) for version in as_list(place.get("versions"))] or [place]
        system = system or next((_text(v) for v in versions if v.get("role") == "system"), "")
        made = {
            index: message
            for index, version in enumerate(versions[:MAX_MESSAGES])
            if version.get("role") != "system"
            and (
                message := _message(version, f"{conversation_id}/{number}/{index}", shown, created)
            )
        }
        into.skip("messages without text", not made and versions[0].get("role") != "system")
        messages.extend(made.values())
        if made:
            selected = place.get("currentlySelected")
            index = selected if isinstance(selected, int) and selected in made else min(made)
            shown = made[index].id
    finished(
        Conversation(
            id=conversation_id,
            title=as_text(item.get("name")),
            title_is_auto=False,
            created_ms=created,
            updated_ms=milliseconds(item.get("userLastMessagedAt")) or created,
            pinned=item.get("pinned") is True,
            model_name=_last_model(item),
            system_prompt=system or None,
            sampling=_sampling(config),
            leaf_id=shown,
            draft=as_text(item.get("clientInput")),
        ),
        messages,
        into,
    )
    return into


def _message(
    version: dict[str, Any], source: str, parent: str | None, created: int
) -> Message | None:
    role: Role = "user" if as_text(version.get("role")) == "user" else "assistant"
    text, reasoning, model = _text(version), "", ""
    if not text:
        text, reasoning, model = _steps(as_list(version.get("steps")))
    files = tuple(
        Attachment(as_text(file.get("fileIdentifier") or file.get("name")) or "file", "")
        for file in map(as_dict, as_list(version.get("content")))
        if as_text(file.get("type")) == "file"
    )
    if not text and not reasoning and not files:
        return None
    sender = as_text(as_dict(version.get("senderInfo")).get("senderName"))
    return Message(
        id=same_id(source),
        conversation_id="",
        parent_id=parent,
        role=role,
        text=text,
        reasoning=reasoning,
        state="complete",
        stop_reason=None,
        model_name=(model or sender or None) if role == "assistant" else None,
        created_ms=created,
        updated_ms=created,
        attachments=files,
    )


def _text(version: dict[str, Any]) -> str:
    content = version.get("content")
    if isinstance(content, str):
        return content
    blocks = (as_dict(block) for block in as_list(content))
    return "".join(as_text(b.get("text")) for b in blocks if as_text(b.get("type")) == "text")


def _steps(steps: list[Any]) -> tuple[str, str, str]:
    """Return (text, reasoning, model) of a reply made of steps."""
    texts: list[str] = []
    thoughts: list[str] = []
    model = ""
    for step in map(as_dict, steps):
        text = _text(step)
        is_thinking = as_text(as_dict(step.get("style")).get("type")) == "thinking"
        if text and as_text(step.get("type")) in {"contentBlock", ""}:
            (thoughts if is_thinking else texts).append(text)
        model = model or as_text(as_dict(step.get("genInfo")).get("indexedModelIdentifier"))
    return "\n\n".join(texts).strip(), "\n\n".join(thoughts).strip(), model


def _last_model(item: dict[str, Any]) -> str | None:
    used = as_dict(item.get("lastUsedModel"))
    return as_text(used.get("identifier") or used.get("indexedModelIdentifier")) or None


def _sampling(config: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for theirs, ours in _SAMPLING.items():
        value = config.get(theirs)
        if isinstance(value, dict):  # {"checked": true, "value": 40}
            value = value.get("value") if value.get("checked") is True else None
        if value is not None:
            found[ours] = value
    return valid_sampling(found)
