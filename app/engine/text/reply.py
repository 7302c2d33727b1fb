"""One reply: bytes of tokens in, answer and reasoning out, stopped where it has to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.engine.text.reasoning import TAGS, ReasoningSplitter, Spoken
from app.engine.text.stops import TAG, Segment, StopScanner
from app.engine.text.utf8 import Utf8Stream

__all__ = ["Delta", "ReplyText", "StopKind"]

StopKind: TypeAlias = Literal["stop_string", "turn_end", "role_marker"]


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that a piece completed: whole characters, without tags, stop strings and marks."""

    answer: str = ""
    reasoning: str = ""

    def __bool__(self) -> bool:
        return bool(self.answer or self.reasoning)


_NOTHING = Delta()


def _never(_text: str) -> bool:
    return False


class ReplyText:
    """Turns the pieces of one reply into text; the cost of a piece does not grow with the reply.

    Args:
        stops: the user's stop strings; they apply to the answer alone, since reasoning is full of
            blank lines and headings that would cut it short.
        turn_ends: texts by which the format ends a turn, wherever they appear.
        role_markers: texts by which the format opens a turn of somebody else; they count at the
            start of a line.
        is_special: whether a text is a special token of the vocabulary. An end or a marker that
            begins with one counts only where the model emitted that very token, so that it can
            write about such texts.
        opened_by: tag of the reasoning that the prompt opened (`app.engine.text.opened_by`).
        resumed: the reply goes on with text that was begun before: inside reasoning if
            ``opened_by`` says so, else inside an answer.
        tags: opening tags of reasoning with their closing ones (`ChatTemplate.reasoning_tags`).

    Attributes:
        stopped_by: the text that ended the reply, None while it goes on.
        stop_kind: which kind of text that was.
        reasoning_tokens: pieces that belonged to reasoning, tags included.
    """

    def __init__(
        self,
        *,
        stops: Iterable[str] = (),
        turn_ends: Iterable[str] = (),
        role_markers: Iterable[str] = (),
        is_special: Callable[[str], bool] = _never,
        opened_by: str | None = None,
        resumed: bool = False,
        tags: Mapping[str, str] = TAGS,
    ) -> None:
        ends, markers = frozenset(turn_ends), frozenset(role_markers)
        special = {text for text in ends | markers if _begins_special(text, is_special)}
        self._utf8 = Utf8Stream()
        self._turn_ends = ends
        self._guards = StopScanner(
            ends - special, markers - special, special, at_line_start=not resumed
        )
        self._splitter = ReasoningSplitter(opened_by, resumed=resumed, tags=tags)
        self._stops = StopScanner(stops)
        self._raw: list[str] = []
        self._undecided_tokens = 0
        self.stopped_by: str | None = None
        self.stop_kind: StopKind | None = None
        self.reasoning_tokens = 0

    @property
    def in_reasoning(self) -> bool:
        """Whether the reply stands inside reasoning; at its end: whether that was left open."""
        return self._splitter.in_reasoning

    @property
    def raw(self) -> str:
        """All text as generated, with tags and stop strings."""
        if len(self._raw) > 1:
            self._raw = ["".join(self._raw)]
        return self._raw[0] if self._raw else ""

    def feed(self, piece: bytes, *, is_control: bool = False) -> Delta:
        """Take the bytes of one token and return what they completed.

        ``is_control`` tells that the bytes are the name of a control token: it can open or close
        reasoning and can match a stop string, but is never shown.
        """
        if self.stopped_by is not None:
            return _NOTHING
        before = self.in_reasoning
        text = self._utf8.feed(piece)
        if text:
            self._raw.append(text)
        spoken = self._splitter.feed(self._guards.feed([Segment(text, is_control)]))
        self._count_reasoning(before)
        if self._guards.matched is not None:
            spoken += self._splitter.finish()
        delta = self._delta(spoken)
        if self.stopped_by is None and self._guards.matched is not None:
            self.stopped_by = self._guards.matched
            self.stop_kind = (
                "turn_end" if self._guards.matched in self._turn_ends else "role_marker"
            )
            delta = self._with_rest(delta)
        return delta

    def finish(self) -> Delta:
        """End the reply and return what was held back; a character cut short is dropped."""
        if self.stopped_by is not None:
            return _NOTHING
        self._utf8.finish()
        spoken = self._splitter.feed(self._guards.finish())
        spoken += self._splitter.finish()
        delta = self._delta(spoken)
        return delta if self.stopped_by is not None else self._with_rest(delta)

    def _delta(self, spoken: list[Spoken]) -> Delta:
        if not spoken:
            return _NOTHING
        reasoning = "".join(s.text for stream, s in spoken if stream == "reasoning")
        released = self._stops.feed(s for stream, s in spoken if stream == "answer")
        if self._stops.matched is not None:
            self.stopped_by = self._stops.matched
            self.stop_kind = "stop_string"
        return Delta("".join(s.text for s in released), reasoning)

    def _with_rest(self, delta: Delta) -> Delta:
        rest = "".join(s.text for s in self._stops.finish())
        return Delta(delta.answer + rest, delta.reasoning) if rest else delta

    def _count_reasoning(self, before: bool) -> None:
        if self._splitter.undecided:
            self._undecided_tokens += 1
        elif before or self.in_reasoning:
            self.reasoning_tokens += 1 + self._undecided_tokens
            self._undecided_tokens = 0
        else:
            self._undecided_tokens = 0


def _begins_special(text: str, is_special: Callable[[str], bool]) -> bool:
    tag = TAG.match(text)
    return is_special(text) or (tag is not None and is_special(tag.group()))
