"""A conversation as a Markdown document: the branch that is shown, to read and to pass on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from app.data.records import Attachment, Conversation, Message
from gguf_tools.units import counted

__all__ = ["render", "render_all"]

_STATES = {
    "streaming": "still being written",
    "interrupted": "interrupted",
    "stopped": "stopped",
    "failed": "failed",
}


def render_all(conversations: Iterable[tuple[Conversation, Sequence[Message]]]) -> str:
    """Return several conversations as one document."""
    return "\n---\n\n".join(render(conversation, path) for conversation, path in conversations)


def render(conversation: Conversation, path: Sequence[Message]) -> str:
    """Return a conversation: title, facts, system prompt, then turn by turn."""
    models = dict.fromkeys(m.model_name for m in path if m.model_name)
    if not models and conversation.model_name:
        models = {conversation.model_name: None}
    parts = [f"# {_line(conversation.title) or 'Untitled chat'}"]
    facts = [f"- Begun: {_time(conversation.created_ms)}"]
    if models:
        facts.append(f"- Model: {_line(', '.join(models))}")
    if conversation.sampling:
        values = ", ".join(f"{key} {value}" for key, value in conversation.sampling.items())
        facts.append(f"- Sampling: {_line(values)}")
    parts.append("\n".join(facts))
    if conversation.system_prompt:
        parts += ["## System prompt", conversation.system_prompt.strip("\n")]
    for message in path:
        parts += _turn(message)
    return "\n\n".join(parts) + "\n"


def _turn(message: Message) -> list[str]:
    name = "You" if message.role == "user" else _line(message.model_name or "Assistant")
    state = _STATES.get(message.state)
    parts = [f"## {name}" + (f" ({state})" if state else "")]
    parts += [_attachment(attachment) for attachment in message.attachments]
    if message.reasoning.strip():
        # Blank lines inside, so that the reasoning is read as Markdown within the HTML block.
        parts += ["<details>\n<summary>Reasoning</summary>", message.reasoning.strip("\n")]
        parts.append("</details>")
    if message.text.strip():
        parts.append(message.text.strip("\n"))
    figures = _figures(message)
    return [*parts, f"*{figures}*"] if figures else parts


def _attachment(attachment: Attachment) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", attachment.text)), default=2)
    fence = "`" * max(3, longest + 1)
    body = attachment.text if attachment.text.endswith("\n") else f"{attachment.text}\n"
    return f"Attached: {_line(attachment.name)}\n\n{fence}\n{body}{fence}"


def _figures(message: Message) -> str:
    stats = message.stats
    if stats is None:
        return ""
    tokens = stats.whole_reply_tokens
    known = tokens or not (message.text or message.reasoning)
    figures = [counted(tokens, "token") if known else "tokens unknown"]
    if stats.decode_per_s is not None:
        figures.append(f"{stats.decode_per_s:.1f} tok/s")
    figures.append(
        f"prompt {counted(stats.prompt_tokens, 'token')}, {stats.reused_tokens} of them reused"
    )
    return " · ".join(figures)


def _line(text: str) -> str:
    return " ".join(text.split())


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
