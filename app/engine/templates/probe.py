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

__all__ = ["Marks", "RenderTurns", "learn_manners", "learn_marks"]

# words that no trimming, escaping or rewording touches
_SYSTEM: Final = "plimsollsystem"
_USER: Final = "plimsolluser"
_REPLY: Final = "plimsollreply"
_USER_AGAIN: Final = "plimsollagain"

_MIN_MARKER_CHARS: Final = 3
_TAG: Final = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")
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
    """

    turn_end: str
    roles: tuple[str, ...]


def learn_manners(render: RenderTurns, source: str) -> Manners:
    """Return what a template takes.

    Raises:
        TemplateError: not even a plain conversation can be rendered.
    """
    keys = tuple(key for key, pattern in _REASONING_KEYS.items() if pattern.search(source))
    manners = Manners(reasoning_keys=keys)
    user, reply, again = Turn("user", _USER), Turn("assistant", _REPLY), Turn("user", _USER_AGAIN)
    system = Turn("system", _SYSTEM)

    if not _shows(render, [user], _USER, manners):
        manners = replace(manners, typed_content=True)
        if not _shows(render, [user], _USER, manners):
            manners = replace(manners, typed_content=False)
            render([user], manners, add_generation_prompt=True)
            raise TemplateError("raised", None, "The chat template leaves out what the user says")
    render([user, reply, again], manners, add_generation_prompt=True)
    takes_system = _shows(render, [system, user], _SYSTEM, manners)
    return replace(
        manners,
        system=takes_system,
        system_anywhere=takes_system
        and _shows(render, [user, reply, system, again], _SYSTEM, manners),
        assistant_first=_shows(render, [reply, user], _REPLY, manners),
        thinking=_has_switch(render, user, manners),
    )


def learn_marks(render: RenderTurns, manners: Manners, bos: str, eos: str) -> Marks:
    """Return the texts around turns; what can't be learnt is left empty."""
    user, reply, again = Turn("user", _USER), Turn("assistant", _REPLY), Turn("user", _USER_AGAIN)
    try:
        ended = render([user, reply], manners, add_generation_prompt=False)
        going_on = render([user, reply, again], manners, add_generation_prompt=False)
    except TemplateError:
        return Marks("", ())
    at_end = ended.rpartition(_REPLY)[2]
    between = going_on.rpartition(_REPLY)[2].partition(_USER_AGAIN)[0]
    turn_end = _turn_end(at_end, between)
    openers = [between.strip().removeprefix(turn_end)]
    if manners.system:
        with_system = render([Turn("system", _SYSTEM), user], manners, add_generation_prompt=False)
        openers.append(with_system.partition(_SYSTEM)[0])
    markers = (_marker(opener, bos, eos, turn_end) for opener in openers)
    return Marks(turn_end, tuple(dict.fromkeys(m for m in markers if m)))


def _shows(render: RenderTurns, turns: Sequence[Turn], word: str, manners: Manners) -> bool:
    """Tell whether a word of the turns gets into the prompt; a template may raise instead."""
    try:
        return word in render(turns, manners, add_generation_prompt=True)
    except TemplateError as error:
        if error.kind in {"raised", "undefined"}:
            return False
        raise


def _has_switch(render: RenderTurns, user: Turn, manners: Manners) -> bool:
    try:
        on, off = (
            render([user], manners, add_generation_prompt=True, thinking=thinking)
            for thinking in (True, False)
        )
    except TemplateError:
        return False
    return on != off


def _turn_end(at_end: str, between: str) -> str:
    """Return what closes a reply, from the text after the last reply and after an earlier one."""
    shared = _shared_start(at_end, between)
    if _OPEN_TAG.search(shared):
        # two different closings that begin alike: the last reply has the one a model generates
        return at_end.strip()
    if shared.strip() or at_end.strip():
        return shared.strip()
    # the last reply is left open, so see whether an earlier one gets closed before the user's turn
    tags = _TAG.findall(between)
    return tags[0] if len(tags) > 1 else ""


def _shared_start(first: str, second: str) -> str:
    same = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        same += 1
    return first[:same]


def _marker(opener: str, bos: str, eos: str, turn_end: str) -> str:
    """Return the first line of what opens a turn, if nothing else could be meant by it."""
    text = opener.strip()
    shorter = True
    while shorter:
        shorter = False
        for token in (bos, eos, turn_end):
            if token and text.startswith(token):
                text = text.removeprefix(token).strip()
                shorter = True
    text = text.split("\n", 1)[0].strip()
    return text if len(text) >= _MIN_MARKER_CHARS and _PUNCTUATION.search(text) else ""
