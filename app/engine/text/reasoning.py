"""Tells a model's reasoning from its answer while both arrive in one stream.

Models mark reasoning in different ways: a pair of tags around it, or channels. The opening tag may
be in the prompt already, tags may be cut by pieces, the closing one may never come. Only a tag at
the very start of a reply opens reasoning, because further on it is something that the answer talks
about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from app.engine.text.stops import Segment

__all__ = [
    "HARMONY",
    "HARMONY_ANSWER",
    "TAGS",
    "ReasoningSplitter",
    "Spoken",
    "opened_by",
    "opens_reasoning",
    "without_empty_reasoning",
]

# opening tag -> closing tag
TAGS: Final[dict[str, str]] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|channel>thought": "<channel|>",
    "◁think▷": "◁/think▷",
}

# The channel format: <|channel|>NAME<|message|>TEXT<|end|><|start|>assistant<|channel|>NAME…
HARMONY: Final = "<|channel|>analysis<|message|>"
HARMONY_ANSWER: Final = "<|end|><|start|>assistant<|channel|>final<|message|>"
_CHANNEL: Final = "<|channel|>"
_MESSAGE: Final = "<|message|>"
_HARMONY_ENDS: Final = ("<|end|>", "<|return|>", "<|call|>", "<|start|>", _CHANNEL)
_HARMONY_MARKS: Final = (*_HARMONY_ENDS, _MESSAGE)
_ANSWER_CHANNELS: Final = frozenset({"final", "commentary"})

_HARMONY_AT_END: Final = re.compile(
    r"<\|channel\|>analysis[^<]{0,100}<\|message\|>(?:(?!<\|end\|>|<\|start\|>).)*\Z", re.DOTALL
)
_MAX_LEAD_CHARS: Final = 200  # of white space before an opening tag
_MAX_HEADER_CHARS: Final = 200  # from one message of the channel format to the next
_TAIL_CHARS: Final = 500  # of a prompt, in which an open tag is looked for

_State: TypeAlias = Literal[
    "start",  # nothing but white space yet, or part of a tag
    "reasoning",
    "closed",  # after a closing tag, before the answer's first character
    "answer",
    "header",  # between <|channel|> and <|message|>
    "between",  # after the end of a message in the channel format
]

Spoken: TypeAlias = "tuple[Literal['answer', 'reasoning'], Segment]"


def opened_by(prompt: str, tags: Mapping[str, str] = TAGS) -> str | None:
    """Return the tag of the reasoning that a prompt leaves open, None if it leaves none open.

    The tag is a key of ``tags``, or `HARMONY`. A tag counts at the very end, apart from white
    space.
    """
    tail = prompt[-_TAIL_CHARS:].rstrip()
    ending = [tag for tag in tags if tail.endswith(tag)]
    if ending:
        return max(ending, key=len)
    if _CHANNEL in tail and _HARMONY_AT_END.search(tail[tail.rfind(_CHANNEL) :]):
        return HARMONY
    return None


def opens_reasoning(prompt: str, tags: Mapping[str, str] = TAGS) -> bool:
    """Tell whether the reply to a prompt starts inside reasoning (see `opened_by`)."""
    return opened_by(prompt, tags) is not None


def without_empty_reasoning(prompt: str, tags: Mapping[str, str] = TAGS) -> str:
    """Return a prompt without the closed and empty reasoning at its end, if it has that."""
    bare = prompt.rstrip()
    for opening, closing in tags.items():
        if bare.endswith(closing):
            return bare.removesuffix(closing).rstrip().removesuffix(opening)
    return prompt


class ReasoningSplitter:
    """Sorts the segments of one reply.

    Args:
        opened: the tag by which the prompt opened reasoning, from `opened_by`.
        resumed: the reply goes on with text that was begun before: inside reasoning if ``opened``
            says so, else inside an answer, where no tag opens reasoning.
        tags: opening tags with their closing ones.
    """

    def __init__(
        self,
        opened: str | None = None,
        *,
        resumed: bool = False,
        tags: Mapping[str, str] = TAGS,
    ) -> None:
        self._tags = tags
        # the longest first, because one may begin with another
        self._openers = (*sorted(tags, key=len, reverse=True), _CHANNEL)
        self._structure = frozenset({*tags, *tags.values(), *_HARMONY_MARKS})
        self._close = "" if opened is None else tags.get(opened, "")
        self._channels = opened == HARMONY
        self._by_control = False  # only control tokens are structure of the channel format
        self._state: _State = "start"
        self._fresh = False  # at the start of reasoning, where white space is dropped
        self._held = ""
        if opened is not None:
            self._state = "reasoning"
            self._fresh = not resumed
        elif resumed:
            self._state = "answer"

    @property
    def in_reasoning(self) -> bool:
        """Whether the text stands inside reasoning."""
        return self._state == "reasoning" or (self._state == "header" and not self._is_answer())

    @property
    def undecided(self) -> bool:
        """Whether nothing has shown yet what the reply starts with."""
        return self._state == "start"

    def feed(self, segments: Iterable[Segment]) -> list[Spoken]:
        """Take text and return what is clear about it. Tags are not part of it."""
        spoken: list[Spoken] = []
        for segment in segments:
            if self._state == "answer" and not self._channels:
                if not segment.is_control or segment.text in self._structure:
                    spoken.append(("answer", segment))
                continue
            if segment.is_control and not self._is_structure(segment.text):
                continue
            self._take(segment, spoken)
        return spoken

    def finish(self) -> list[Spoken]:
        """End the reply and return what was held back."""
        held, self._held = self._held, ""
        if self._state in {"header", "between", "closed"} or not held:
            return []
        return [("reasoning" if self._state == "reasoning" else "answer", Segment(held))]

    def _is_structure(self, text: str) -> bool:
        """Tell whether a control token is a tag, or one of several tokens that make a tag."""
        return any(text in tag for tag in self._structure)

    def _is_answer(self) -> bool:
        name = self._held.split(None, 1)
        return bool(name) and name[0] in _ANSWER_CHANNELS and " to=" not in self._held

    def _take(self, segment: Segment, spoken: list[Spoken]) -> None:
        """Advance by one segment; each turn of the loop consumes text or waits for more."""
        if self._channels and self._by_control and not segment.is_control:
            self._take_channel_text(segment.text, spoken)
            return
        self._held += segment.text
        waiting = False
        while self._held and not waiting:
            if self._state == "start":
                waiting = self._open(segment.is_control)
            elif self._channels:
                waiting = self._channel(spoken)
            elif self._state == "reasoning":
                waiting = self._reason(spoken)
            elif self._state == "closed":
                self._held = self._held.lstrip()
                if not self._held:
                    return
                self._state = "answer"
            else:
                spoken.append(("answer", Segment(self._held)))
                self._held = ""

    def _open(self, is_control: bool) -> bool:
        """Look for an opening tag; return whether more text is needed."""
        text = self._held.lstrip()
        for tag in self._openers:
            if text.startswith(tag):
                self._held = text[len(tag) :]
                self._channels = tag == _CHANNEL
                self._by_control = self._channels and is_control
                self._close = self._tags.get(tag, "")
                self._fresh = not self._channels
                self._state = "header" if self._channels else "reasoning"
                return False
        # so much white space is no lead any more, and looking at it again and again would cost
        if len(self._held) <= _MAX_LEAD_CHARS and any(t.startswith(text) for t in self._openers):
            return True
        self._state = "answer"
        return False

    def _reason(self, spoken: list[Spoken]) -> bool:
        """Take reasoning up to the closing tag; return whether more text is needed."""
        text, found, rest = self._held.partition(self._close)
        if found:
            self._say("reasoning", text, spoken)
            self._held = rest
            self._state = "closed"
            return False
        keep = _partial(text, (self._close,))
        self._say("reasoning", text[:keep], spoken)
        self._held = text[keep:]
        return True

    def _channel(self, spoken: list[Spoken]) -> bool:
        """Take text of the channel format up to its next mark; return whether more is needed."""
        if self._state in {"header", "between"}:
            head, found, rest = self._held.partition(
                _MESSAGE if self._state == "header" else _CHANNEL
            )
            if not found:
                return not self._give_up_header(spoken)
            if self._state == "between":
                self._state = "header"
            else:
                self._held = head
                self._state = "answer" if self._is_answer() else "reasoning"
                self._fresh = True
            self._held = rest
            return False
        stream: Literal["answer", "reasoning"] = (
            "answer" if self._state == "answer" else "reasoning"
        )
        places = [(at, mark) for mark in _HARMONY_ENDS if (at := self._held.find(mark)) >= 0]
        if places:
            at, mark = min(places)
            self._say(stream, self._held[:at], spoken)
            self._held = self._held[at + len(mark) :]
            self._state = "header" if mark == _CHANNEL else "between"
            return False
        keep = _partial(self._held, _HARMONY_ENDS)
        self._say(stream, self._held[:keep], spoken)
        self._held = self._held[keep:]
        return True

    def _give_up_header(self, spoken: list[Spoken]) -> bool:
        """Show text as answer that stands where a short header should, rather than hide it."""
        if len(self._held) <= _MAX_HEADER_CHARS:
            return False
        held, self._held = self._held, ""
        self._state = "answer"
        self._say("answer", held, spoken)
        return True

    def _take_channel_text(self, text: str, spoken: list[Spoken]) -> None:
        """Take text whose marks are no structure, because those would be control tokens."""
        if self._state in {"header", "between"}:
            self._held += text
            self._give_up_header(spoken)
        else:
            self._say("answer" if self._state == "answer" else "reasoning", text, spoken)

    def _say(self, stream: Literal["answer", "reasoning"], text: str, spoken: list[Spoken]) -> None:
        if self._fresh:
            text = text.lstrip()
        if text:
            self._fresh = False
            spoken.append((stream, Segment(text)))


def _partial(text: str, marks: tuple[str, ...]) -> int:
    """Return where the longest end of a text that may begin a mark starts."""
    longest = max(map(len, marks))
    for start in range(max(0, len(text) - longest + 1), len(text)):
        tail = text[start:]
        if any(mark.startswith(tail) for mark in marks):
            return start
    return len(text)
