"""Arranges a conversation so that a template accepts it. The stored conversation is not touched.

Templates differ in what they take: some know no system role, many insist on turns that alternate
and start with the user. Conversations of real people break all of that: a reply was stopped before
its first word, a message was deleted, two questions were sent in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.engine.protocol import ChatMessage

__all__ = ["Manners", "Turn", "arrange", "as_values"]

_SEPARATOR: Final = "\n\n"
_OPENING: Final = "Hello."  # stands before a conversation that the assistant begins


@dataclass(frozen=True, slots=True)
class Manners:
    """What a template takes.

    Attributes:
        system: a system message at the start.
        system_anywhere: a system message further on, too.
        assistant_first: a conversation that starts with the assistant.
        typed_content: content as a list of typed parts rather than text.
        reasoning_keys: names under which it looks for the reasoning of a reply.
        thinking: it changes with a switch for reasoning.
        tools: it takes "no tools" for none; else it wants an empty list.
    """

    system: bool = True
    system_anywhere: bool = True
    assistant_first: bool = True
    typed_content: bool = False
    reasoning_keys: tuple[str, ...] = ()
    thinking: bool = False
    tools: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as the template gets it."""

    role: str
    content: str
    reasoning: str | None = None


def arrange(messages: Iterable[ChatMessage], manners: Manners) -> list[Turn]:
    """Return turns that a template with these manners accepts.

    Empty replies are left out, neighbours of one role are joined, and system messages that can't
    stand where they are move into the user message after them.
    """
    turns: list[Turn] = []
    waiting: list[str] = []  # system texts for the next user message
    for message in messages:
        turn = Turn(message.role, message.content or "", message.reasoning or None)
        if turn.role != "user" and not turn.content.strip():
            continue
        if turn.role == "system" and not _system_may_stand(turns, manners):
            waiting.append(turn.content)
            continue
        if turn.role == "user" and waiting:
            turn = replace(turn, content=_joined((*waiting, turn.content)))
            waiting = []
        _append(turns, turn)
    if waiting:
        _append(turns, Turn("user", _joined(waiting)))
    if not manners.assistant_first:
        _let_user_begin(turns)
    return turns


def as_values(turns: Sequence[Turn], manners: Manners) -> list[dict[str, object]]:
    """Return turns as the variables of a template."""
    values: list[dict[str, object]] = []
    for turn in turns:
        content: object = turn.content
        if manners.typed_content:
            content = [{"type": "text", "text": turn.content}]
        value: dict[str, object] = {"role": turn.role, "content": content}
        if turn.role == "assistant" and turn.reasoning:
            value.update(dict.fromkeys(manners.reasoning_keys, turn.reasoning))
        values.append(value)
    return values


def _system_may_stand(turns: Sequence[Turn], manners: Manners) -> bool:
    if all(turn.role == "system" for turn in turns):
        return manners.system
    return manners.system_anywhere


def _append(turns: list[Turn], turn: Turn) -> None:
    if turns and turns[-1].role == turn.role:
        last = turns[-1]
        reasoning = _joined(r for r in (last.reasoning, turn.reasoning) if r) or None
        turns[-1] = Turn(turn.role, _joined((last.content, turn.content)), reasoning)
    else:
        turns.append(turn)


def _joined(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(text for text in texts if text)


def _let_user_begin(turns: list[Turn]) -> None:
    first = next((i for i, turn in enumerate(turns) if turn.role != "system"), None)
    if first is not None and turns[first].role == "assistant":
        turns.insert(first, Turn("user", _OPENING))
