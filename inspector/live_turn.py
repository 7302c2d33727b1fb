"""A turn that is running, as the panel follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from inspector.records import TurnStats

__all__ = ["LiveTurn"]

_STRETCH_TOKENS: Final = 16  # over which a rate along a reply is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTurn:
    """A turn that is running; ``read_tokens`` of the ``new_tokens`` are evaluated.

    ``reply_tokens`` are the first reply's; ``branch_tokens`` those of each other one that is
    written at the same time, by its number, while they lie in the cache.
    """

    prompt_tokens: int
    reused_tokens: int
    new_tokens: int
    read_tokens: int = 0
    reply_tokens: int = 0
    decode_per_s: float | None = None
    reuse_note: str | None = None
    branch_tokens: Mapping[int, int] = field(default_factory=dict)
    samples: tuple[tuple[int, float], ...] = ()  # as in `TurnStats`
    is_held_up: bool = False  # no token has come for some seconds

    def written(self, reply_tokens: int, decode_per_s: float | None) -> LiveTurn:
        """Return it with so many tokens of the first reply, at the rate they were written with."""
        samples = self.samples
        last = samples[-1][0] if samples else 1
        # Wider as the reply grows, so that a long one has no more than can be told apart.
        if decode_per_s and reply_tokens - last >= max(_STRETCH_TOKENS, last // 32):
            samples = (*samples, (reply_tokens, (reply_tokens - 1) / decode_per_s))
        return replace(
            self,
            read_tokens=self.new_tokens,
            reply_tokens=reply_tokens,
            decode_per_s=decode_per_s,
            samples=samples,
            is_held_up=False,
        )

    def beside(self, number: int, reply_tokens: int | None) -> LiveTurn:
        """Return it with so many tokens of another reply; None: that one has left the cache."""
        others = {key: count for key, count in self.branch_tokens.items() if key != number}
        if reply_tokens is not None:
            others[number] = reply_tokens
        return replace(self, branch_tokens=others)

    @property
    def stats(self) -> TurnStats:
        """What is known of it by now, as a turn that has ended has it."""
        rate, tokens = self.decode_per_s, self.reply_tokens
        return TurnStats(
            n_ctx=0,
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            evaluated_tokens=self.new_tokens,
            reply_tokens=tokens,
            decode_s=(tokens - 1) / rate if rate else 0.0,
            samples=self.samples,
            replies_at_once=1 + len(self.branch_tokens),
        )
