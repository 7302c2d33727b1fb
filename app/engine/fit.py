"""What of a conversation is sent when it no longer fits the context window.

The oldest turns are left out, whole, and never silently: the result names them. Leaving out a
little each time would change the front of every prompt and so throw away the cached prefix each
turn; so once a conversation overflows it is trimmed well below the limit, and the place where it
was cut stays where it is until the next overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from app.engine.protocol import ChatMessage, PromptFit

__all__ = ["fit_prompt", "needed_context", "reply_room"]

_ROOM_SHARE: Final = 4  # a quarter of the window at most is kept free for the reply
_LONG_REPLY: Final = 4096  # tokens; hardly a reply is longer, so a huge window keeps no more free
_TRIM_TO: Final = 0.5  # of the window, once it overflows: the next turns have a quarter of it
_CONTEXT_STEP: Final = 256  # the engine pads the window to this

_Count = Callable[[Sequence[ChatMessage]], int]


def reply_room(n_ctx: int, max_tokens: int | None) -> int:
    """Return the tokens kept free for a reply, at least 1.

    A reply that may be of any length gets the room of a long one, never more than a quarter of the
    window; one with a limit gets its limit. It may go on into whatever is free besides.
    """
    quarter = n_ctx // _ROOM_SHARE
    return max(1, min(_LONG_REPLY if max_tokens is None else max_tokens, quarter))


def needed_context(prompt_tokens: int, max_tokens: int | None) -> int:
    """Return the smallest window, as the engine pads it, that holds a prompt and its reply."""
    low = prompt_tokens // _CONTEXT_STEP
    n_ctx = low * _CONTEXT_STEP
    while n_ctx - reply_room(n_ctx, max_tokens) < prompt_tokens:
        n_ctx += _CONTEXT_STEP
    return n_ctx


def fit_prompt(
    messages: Sequence[ChatMessage],
    *,
    n_ctx: int,
    max_tokens: int | None,
    count: _Count,
    keep_from: str | None,
    trim: bool,
) -> PromptFit:
    """Choose the messages to send.

    The system message at the start and the newest turn are always kept; what is left out are the
    oldest turns, each a user message with the replies to it.

    Args:
        messages: the conversation, oldest first.
        n_ctx: tokens of the window.
        max_tokens: limit of the reply, None for none.
        count: tokens of a prompt made of some of the messages; more messages, more tokens. It is
            called a logarithm of the number of turns at most.
        keep_from: id of the first message that the last trim kept. It has no effect when all fits.
        trim: leave turns out if need be; otherwise the result has the problem ``does_not_fit``.
    """
    conversation = _Conversation(messages, count)
    room = reply_room(n_ctx, max_tokens)
    limit = n_ctx - room
    total = conversation.tokens(0)
    sticky = conversation.turn_of(keep_from)

    def result(
        cut: int, problem: Literal["system_too_long", "message_too_long", "does_not_fit"] | None
    ) -> PromptFit:
        prompt_tokens = conversation.tokens(cut)
        leaving = conversation.dropped(cut)[len(conversation.dropped(sticky)) :]
        before = conversation.tokens(sticky) if leaving else prompt_tokens
        return PromptFit(
            n_ctx=n_ctx,
            prompt_tokens=prompt_tokens,
            system_tokens=conversation.system_tokens,
            reply_room_tokens=room,
            dropped=conversation.dropped(cut),
            dropped_tokens=max(0, total - prompt_tokens) if cut else 0,
            leaving=leaving,
            leaving_tokens=max(0, before - prompt_tokens),
            keep_from=conversation.first_kept(cut) if cut else None,
            problem=problem,
            needed_tokens=needed_context(prompt_tokens, max_tokens) if problem else 0,
        )

    if total <= limit:
        return result(0, None)
    if not trim:
        return result(0, "does_not_fit")
    if sticky and conversation.tokens(sticky) <= limit:
        return result(sticky, None)
    last = conversation.last_turn
    if conversation.tokens(last) > limit:
        too_long = conversation.system_tokens >= limit
        return result(last, "system_too_long" if too_long else "message_too_long")
    target = min(limit, int(n_ctx * _TRIM_TO))
    cut = conversation.first_within(target, sticky + 1)
    # better a full window than no memory of the exchange before this one
    if cut == last > sticky + 1 and conversation.tokens(last - 1) <= limit:
        cut -= 1
    return result(cut, None)


class _Conversation:
    """A system part and turns, with what is left when the first ``cut`` turns are left out."""

    def __init__(self, messages: Sequence[ChatMessage], count: _Count) -> None:
        head = 0
        while head < len(messages) and messages[head].role == "system":
            head += 1
        self._messages = messages
        self._head = head
        self._starts = _turn_starts(messages, head)
        self._count = count
        self._known: dict[int, int] = {}

    @property
    def last_turn(self) -> int:
        return len(self._starts) - 1

    @property
    def system_tokens(self) -> int:
        if not self._head:
            return 0
        return self._counted(-1, self._messages[: self._head])

    def tokens(self, cut: int) -> int:
        """Return the tokens of the prompt without the first ``cut`` turns."""
        kept = [*self._messages[: self._head], *self._messages[self._starts[cut] :]]
        return self._counted(cut, kept)

    def dropped(self, cut: int) -> tuple[str, ...]:
        return tuple(m.id for m in self._messages[self._head : self._starts[cut]])

    def first_kept(self, cut: int) -> str:
        return self._messages[self._starts[cut]].id

    def turn_of(self, message_id: str | None) -> int:
        """Return the turn that a message is in, 0 if it is in none."""
        if message_id is None:
            return 0
        for index in range(len(self._messages) - 1, self._head - 1, -1):
            if self._messages[index].id == message_id:
                return max(0, sum(start <= index for start in self._starts) - 1)
        return 0

    def first_within(self, target: int, low: int) -> int:
        """Return the smallest cut from ``low`` on within ``target`` tokens, else the last turn."""
        high = self.last_turn
        low = min(low, high)
        while low < high:
            middle = (low + high) // 2
            if self.tokens(middle) <= target:
                high = middle
            else:
                low = middle + 1
        return high

    def _counted(self, key: int, messages: Sequence[ChatMessage]) -> int:
        if key not in self._known:
            self._known[key] = self._count(messages)
        return self._known[key]


def _turn_starts(messages: Sequence[ChatMessage], head: int) -> list[int]:
    """Return where turns start: at each user message, or at the system message right before it."""
    starts = [head]
    for index in range(head + 1, len(messages)):
        if messages[index].role != "user":
            continue
        start = index
        while start > starts[-1] and messages[start - 1].role == "system":
            start -= 1
        if start > starts[-1]:
            starts.append(start)
    return starts
