"""Learns by trying what a template takes and how it marks turns.

Reading a template can't tell: a system message may raise, or be left out without a word. So short
conversations of unmistakable words are rendered and looked for in the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from app.engine.templates.errors import TemplateError
from app.engine.templates.turns import Manners, Turn
from app.engine.text.stops import TAG

__all__ = ["Marks", "RenderTurns", "learn_manners", "learn_marks"]

# words that no trimming, escaping or rewording touches
_SYSTEM: Final = Turn("system", "plimsollsystem")
_USER: Final = Turn("user", "plimsolluser")
_REPLY: Final = Turn("assistant", "plimsollreply")
_SYSTEM_AGAIN: Final = Turn("system", "plimsollrule")
_USER_AGAIN: Final = Turn("user", "plimsollagain")
_REASONING: Final = "plimsollreasoning"

_MIN_MARKER_CHARS: Final = 3
_MAX_MARKER_CHARS: Final = 60
# closes a reply that is not the last one where the last one is closed otherwise
_OTHER_ENDS: Final = ("<|end|>",)
_OPEN_TAG: Final = re.compile(r"(?:<[^<>\s]*|\[/?[A-Z_]*)\Z")
_PUNCTUATION: Final = re.compile(r"[^\w\s]")
# how templates name the reasoning of an earlier reply: message.thinking, message['reasoning'], …
_REASONING_KEYS: Final = {
    "reasoning_content": re.compile(r"reasoning_content"),
    "reasoning": re.compile(r"""(?:\.|\[['"]|\.get\(['"])reasoning\b"""),
    "thinking": re.compile(r"""(?:\.|\[['"]|\.get\(['"])thinking\b"""),
}


class RenderTurns(Protocol):
    """Renders turns with the template that is looked into."""

    def __call__(
        self,
        turns: Sequence[Turn],
        manners: Manners,
        *,
        add_generation_prompt: bool,
        thinking: bool | None = None,
    ) -> str:
        """Return the text, or raise `TemplateError`."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Texts around turns.

    Attributes:
        turn_end: what closes a reply, without white space; empty if nothing does.
        roles: what opens a user's or a system's turn.
        reasoning: what stands before and after the reasoning of a reply, if it takes any.
    """

    turn_end: str = ""
    roles: tuple[str, ...] = ()
    reasoning: tuple[str, str] | None = None


def learn_manners(render: RenderTurns, source: str) -> Manners:
    """Return what a template takes.

    Raises:
        TemplateError: not even a plain conversation can be rendered.
    """
    keys = tuple(key for key, pattern in _REASONING_KEYS.items() if pattern.search(source))
    manners = _basic_manners(render, Manners(reasoning_keys=keys))
    render([_USER, _REPLY, _USER_AGAIN], manners, add_generation_prompt=True)
    takes_system = _shows(render, [_SYSTEM, _USER], _SYSTEM, manners)
    return replace(
        manners,
        system=takes_system,
        system_anywhere=takes_system and _keeps_place(render, manners),
        assistant_first=_shows(render, [_REPLY, _USER], _REPLY, manners),
        thinking=_has_switch(render, manners),
    )


def learn_marks(render: RenderTurns, manners: Manners, bos: str, eos: str) -> Marks:
    """Return the texts around turns; what can't be learnt is left empty."""
    try:
        ended = render([_USER, _REPLY], manners, add_generation_prompt=False)
        going_on = render([_USER, _REPLY, _USER_AGAIN], manners, add_generation_prompt=False)
    except TemplateError:
        return Marks()
    at_end = ended.rpartition(_REPLY.content)[2]
    between = going_on.rpartition(_REPLY.content)[2].partition(_USER_AGAIN.content)[0]
    turn_end = _turn_end(at_end, between)
    openers = [between.strip().removeprefix(turn_end)]
    if manners.system:
        with_system = render([_SYSTEM, _USER], manners, add_generation_prompt=False)
        openers.append(with_system.partition(_SYSTEM.content)[0])
    markers = (_marker(opener, (bos, eos, turn_end)) for opener in openers)
    return Marks(
        turn_end,
        tuple(dict.fromkeys(marker for marker in markers if marker)),
        _reasoning_marks(render, manners),
    )


def _basic_manners(render: RenderTurns, manners: Manners) -> Manners:
    """Return how a template takes a single question.

    Raises:
        TemplateError: in no way, with the reason why it does not take it in the usual one.
    """
    choices = [
        replace(manners, typed_content=typed, tools=tools)
        for typed in (False, True)
        for tools in (True, False)
    ]
    for choice in choices:
        if _shows(render, [_USER], _USER, choice):
            return choice
    render([_USER], manners, add_generation_prompt=True)
    raise TemplateError("raised", None, "The chat template leaves out what the user says")


def _shows(render: RenderTurns, turns: Sequence[Turn], turn: Turn, manners: Manners) -> bool:
    """Tell whether a turn gets into the prompt; a template may also raise."""
    try:
        return turn.content in render(turns, manners, add_generation_prompt=True)
    except TemplateError as error:
        if error.kind in {"raised", "undefined"}:
            return False
        raise


def _keeps_place(render: RenderTurns, manners: Manners) -> bool:
    """Tell whether a second system message stands where it was said, and the first one stays."""
    turns = [_SYSTEM, _USER, _REPLY, _SYSTEM_AGAIN, _USER_AGAIN]
    try:
        text = render(turns, manners, add_generation_prompt=True)
    except TemplateError as error:
        if error.kind in {"raised", "undefined"}:
            return False
        raise
    places = [text.find(turn.content) for turn in turns]
    return -1 not in places and places == sorted(places)


def _has_switch(render: RenderTurns, manners: Manners) -> bool:
    try:
        on, off = (
            render([_USER], manners, add_generation_prompt=True, thinking=thinking)
            for thinking in (True, False)
        )
    except TemplateError:
        return False
    return on != off


def _reasoning_marks(render: RenderTurns, manners: Manners) -> tuple[str, str] | None:
    """Return what a template writes before and after the reasoning of the newest reply."""
    if not manners.reasoning_keys:
        return None
    reply = replace(_REPLY, reasoning=_REASONING)
    # with the switch off there may be an empty block, or none
    on, off = (True, False) if manners.thinking else (None, None)
    try:
        opening = render([_USER], manners, add_generation_prompt=True, thinking=on)
        closed = render([_USER], manners, add_generation_prompt=True, thinking=off)
        text = render([_USER, reply], manners, add_generation_prompt=False, thinking=on)
    except TemplateError:
        return None
    head, found, rest = text.partition(_REASONING)
    if not found or _REPLY.content not in rest:
        return None
    closing = rest.partition(_REPLY.content)[0].strip()
    # a prompt may close the reasoning that it opened
    opening = opening.rstrip().removesuffix(closing)
    same = _shared_start(opening, head)
    before = (
        head[len(same) :].strip()  # the model writes the tag
        or opening[len(same) :].strip()  # the prompt writes it, but only for a new reply
        or _open_tag(opening.rstrip().removesuffix(closing), closed if manners.thinking else "")
    )
    return (before, closing) if closing and 0 < len(before) <= _MAX_MARKER_CHARS else None


def _open_tag(opening: str, closed: str) -> str:
    """Return the tags at the end of a prompt that opens reasoning, as few as tell it apart."""
    for match in reversed(list(TAG.finditer(opening))):
        tag = opening[match.start() :].rstrip()
        if not closed.rstrip().endswith(tag):
            return tag
    return ""


def _turn_end(at_end: str, between: str) -> str:
    """Return what closes a reply, from the text after the last reply and after an earlier one."""
    shared = _shared_start(at_end, between)
    cut_tag = _OPEN_TAG.search(shared)
    if cut_tag is not None:
        shared = shared[: cut_tag.start()]
        if not shared.strip():
            # different closings that begin alike: the last reply has the one a model generates
            return at_end.strip()
    if shared.strip() or at_end.strip():
        return shared.strip()
    # the last reply is left open, so see whether an earlier one gets closed before the user's turn
    tags = TAG.findall(between)
    return tags[0] if len(tags) > 1 else ""


def _shared_start(first: str, second: str) -> str:
    same = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        same += 1
    return first[:same]


def _marker(opener: str, others: tuple[str, ...]) -> str:
    """Return the first line of what opens a turn, if nothing else could be meant by it."""
    text = opener.strip()
    ends = [token for token in (*others, *_OTHER_ENDS) if token]
    while end := next((token for token in ends if text.startswith(token)), None):
        text = text.removeprefix(end).strip()
    text = text.split("\n", 1)[0].strip()
    fits = _MIN_MARKER_CHARS <= len(text) <= _MAX_MARKER_CHARS
    return text if fits and _PUNCTUATION.search(text) else ""
