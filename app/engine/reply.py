"""A reply while it is written: tokens drawn, text released, and what ends it.

Shared by one reply and by several that are decoded side by side. Nothing in it looks at the whole
reply, so token 4,000 costs what token 100 did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from app.engine.cache import Reuse
from app.engine.interface import EngineModel, Sampler
from app.engine.protocol import SamplingOptions, StopReason
from app.engine.text.reply import Delta, ReplyText
from inspector.records import TurnStats

__all__ = ["Listener", "Outcome", "RunningReply", "prompt_stats"]

_COALESCE_S = 0.020


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a reply ended. ``kept_tokens`` are the reply's tokens whose text was kept."""

    stop: StopReason
    detail: str | None
    stats: TurnStats
    reasoning_open: bool
    kept_text: str
    kept_tokens: list[int]


class Listener:
    """What a generation tells while it runs. The worker overrides this to send messages."""

    def started(self, reuse: Reuse, new_tokens: int) -> None:
        """The cache was cut back; so many tokens will be evaluated."""

    def prefilled(self, done_tokens: int, total_tokens: int) -> None:
        """So many of the new prompt tokens are evaluated."""

    def text(
        self,
        delta: Delta,
        reply_tokens: int,
        reasoning_tokens: int,
        per_s: float | None,
        reply: int,
    ) -> None:
        """Text of a reply since the last call, at most every 20 ms."""

    def before_token(self, reply_tokens: int) -> None:
        """Called between tokens: serve what is small."""


class RunningReply:
    """One reply; ``number`` tells it from others that are written at the same time."""

    def __init__(
        self,
        model: EngineModel,
        listener: Listener,
        sampler: Sampler,
        text: ReplyText,
        sampling: SamplingOptions,
        is_markup: Callable[[int], bool],
        number: int = 0,
    ) -> None:
        self._model = model
        self._vocab = model.vocab
        self._n_ctx = model.info.n_ctx
        self._listener = listener
        self._sampler = sampler
        self._text = text
        self._limit = sampling.max_tokens
        self._ignore_end = sampling.ignore_eos
        self._is_markup = is_markup
        self._answer: list[str] = []
        self._reasoning: list[str] = []
        self._sent_s = 0.0
        self.number = number
        self.tokens: list[int] = []
        self.stop: StopReason = "end_of_turn"
        self.detail: str | None = None
        self.first_s = 0.0
        self.last_s = 0.0
        self.sample_s = 0.0

    def draw(self, position: int, row: int = -1) -> int | None:
        """Draw the next token from a row of the last batch; None if the reply has ended.

        ``position`` is where the token would be evaluated.
        """
        clock = time.monotonic
        self._model.wait()  # or the time of a GPU's work would count as the sampler's
        before = clock()
        token = self._sampler.sample(row)
        now = clock()
        self.sample_s += now - before
        if self._vocab.is_end(token) and not self._ignore_end:
            self.detail = self._vocab.piece(token).decode("utf-8", "replace")
            return None
        self.tokens.append(token)
        if not self.first_s:
            self.first_s = now
        self.last_s = now
        text = self._text
        delta = text.feed(self._vocab.piece(token), is_control=self._is_markup(token))
        if delta.answer:
            self._answer.append(delta.answer)
        if delta.reasoning:
            self._reasoning.append(delta.reasoning)
        if text.stopped_by is not None:
            kind = text.stop_kind
            self.stop = kind if kind in {"stop_string", "role_marker"} else "end_of_turn"
            self.detail = text.stopped_by
            return None
        if self._limit is not None and len(self.tokens) >= self._limit:
            self.stop = "token_limit"
            return None
        if position >= self._n_ctx:
            self.stop = "context_full"
            return None
        if (self._answer or self._reasoning) and now - self._sent_s >= _COALESCE_S:
            self._send()
            self._sent_s = now
        return token

    def finish(self) -> None:
        """Release the text that was held back."""
        rest = self._text.finish()
        self._answer.append(rest.answer)
        self._reasoning.append(rest.reasoning)
        self._send()

    def _send(self) -> None:
        count = len(self.tokens)
        elapsed = self.last_s - self.first_s
        per_s = (count - 1) / elapsed if count > 1 and elapsed > 0 else None
        delta = Delta("".join(self._answer), "".join(self._reasoning))
        self._listener.text(delta, count, self._text.reasoning_tokens, per_s, self.number)
        self._answer.clear()
        self._reasoning.clear()

    def outcome(self, stats: TurnStats, received_s: float) -> Outcome:
        """Return how it ended; ``stats`` are those of its prompt."""
        kept_text, kept_tokens = self._kept()
        stats = msgspec.structs.replace(
            stats,
            reply_tokens=len(self.tokens),
            reasoning_tokens=self._text.reasoning_tokens,
            first_token_s=max(0.0, self.first_s - received_s) if self.first_s else 0.0,
            decode_s=max(0.0, self.last_s - self.first_s),
            sample_s=self.sample_s,
        )
        return Outcome(
            self.stop, self.detail, stats, self._text.in_reasoning, kept_text, kept_tokens
        )

    def _kept(self) -> tuple[str, list[int]]:
        """Return the text that was kept, tags included, and the tokens that spell it.

        No tokens where a stop string begins inside a token.
        """
        raw, stop = self._text.raw, self._text.stopped_by
        if stop is None:
            return raw, self.tokens
        raw = raw[: raw.rfind(stop)]
        wanted = len(raw.encode("utf-8"))
        size = 0
        for count, token in enumerate(self.tokens):
            if size >= wanted:
                return raw, self.tokens[:count] if size == wanted else []
            size += len(self._vocab.piece(token))
        return raw, self.tokens if size == wanted else []

    def close(self) -> None:
        """Free the sampler."""
        self._sampler.close()


def prompt_stats(
    model: EngineModel, prompt: Sequence[int], reuse: Reuse, evaluated: int
) -> TurnStats:
    """Return the statistics of a turn as far as its prompt goes."""
    info = model.info
    return TurnStats(
        n_ctx=info.n_ctx,
        prompt_tokens=len(prompt),
        reused_tokens=reuse.kept,
        evaluated_tokens=evaluated,
        reply_tokens=0,
        threads=info.threads,
        threads_batch=info.threads_batch,
    )
