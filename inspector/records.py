"""What one turn measured, with nothing derived stored: rates are computed where they are shown.

A rate is only as honest as its numerator. Prefill counts tokens that were really evaluated, never
those found in the cache; decode starts after the first token, so that neither loading nor prefill
leaks into it; a rate of fewer than two tokens or of no time is unknown, not zero or infinite.
"""

from __future__ import annotations

import msgspec

__all__ = ["TurnStats"]


class TurnStats(msgspec.Struct, frozen=True, kw_only=True):
    """Raw measurements of one reply.

    Times are seconds of a monotonic clock in the worker. ``prompt_tokens`` is the whole prompt:
    ``reused_tokens`` of it lay in the KV cache already, ``evaluated_tokens`` went through the
    model. ``decode_s`` runs from the first generated token to the last.
    """

    n_ctx: int
    prompt_tokens: int
    reused_tokens: int
    evaluated_tokens: int
    reply_tokens: int
    reasoning_tokens: int = 0
    render_s: float = 0.0
    prefill_s: float = 0.0
    first_token_s: float = 0.0
    decode_s: float = 0.0
    sample_s: float = 0.0
    threads: int = 0
    threads_batch: int = 0
    load_s: float | None = None

    @property
    def prefill_per_s(self) -> float | None:
        """Evaluated prompt tokens per second, None with fewer than two: that is a decode step."""
        if self.evaluated_tokens < 2 or self.prefill_s <= 0:
            return None
        return self.evaluated_tokens / self.prefill_s

    @property
    def decode_per_s(self) -> float | None:
        """Generated tokens per second after the first, None with fewer than two tokens."""
        if self.reply_tokens < 2 or self.decode_s <= 0:
            return None
        return (self.reply_tokens - 1) / self.decode_s

    @property
    def reused_share(self) -> float | None:
        """Share of the prompt that was found in the cache, 0 to 1."""
        if self.prompt_tokens < 1:
            return None
        return self.reused_tokens / self.prompt_tokens

    @property
    def context_used_tokens(self) -> int:
        """Tokens of the window that the conversation takes after this turn."""
        return self.prompt_tokens + self.reply_tokens
