"""One reply: cut the cache back, evaluate what is new, draw tokens until something ends it.

The loop does per token what can't be left out: one evaluation, one draw, the text of one token.
Nothing in it looks at the whole reply, so token 4,000 costs what token 100 did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.engine.cache import PrefixCache, Reuse
from app.engine.interface import Aborted, EngineFailure, EngineModel, Sampler
from app.engine.protocol import SamplingOptions, StopReason
from app.engine.text.reply import Delta, ReplyText
from inspector.records import TurnStats

__all__ = ["Generation", "Listener", "Outcome"]

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
        self, delta: Delta, reply_tokens: int, reasoning_tokens: int, per_s: float | None
    ) -> None:
        """Text since the last call, at most every 20 ms."""

    def before_token(self, reply_tokens: int) -> None:
        """Called between tokens: serve what is small."""


class Generation:
    """Writes one reply into a model's cache."""

    def __init__(
        self,
        model: EngineModel,
        cache: PrefixCache,
        listener: Listener,
        stopped: Callable[[], bool],
    ) -> None:
        self._model = model
        self._cache = cache
        self._listener = listener
        self._stopped = stopped

    def run(
        self,
        prompt: Sequence[int],
        text: ReplyText,
        sampling: SamplingOptions,
        *,
        is_markup: Callable[[int], bool],
        received_s: float,
        render_s: float,
    ) -> Outcome:
        """Evaluate a prompt and write a reply.

        ``is_markup`` tells which tokens belong to the format. ``received_s`` is the monotonic time
        at which the request came in.

        Raises:
            EngineFailure: the engine failed; the cache is in step with its memory again.
        """
        reuse = self._cache.prepare(prompt)
        new = prompt[reuse.kept :]
        self._listener.started(reuse, len(new))
        sampler = self._model.sampler(sampling, prompt)
        prefill_started = time.monotonic()
        try:
            evaluated = self._prefill(new, reuse.kept)
            prefill_s = time.monotonic() - prefill_started
            reply = _Reply(
                self._model, self._cache, self._listener, self._stopped, sampler, text, is_markup
            )
            if evaluated == len(new):
                reply.write(sampling, len(prompt))
            else:
                reply.stop = "stopped"
        except EngineFailure:
            self._cache.resync()
            raise
        finally:
            sampler.close()
        info = self._model.info
        stats = TurnStats(
            n_ctx=info.n_ctx,
            prompt_tokens=len(prompt),
            reused_tokens=reuse.kept,
            evaluated_tokens=evaluated,
            reply_tokens=len(reply.tokens),
            reasoning_tokens=text.reasoning_tokens,
            render_s=render_s,
            prefill_s=prefill_s,
            first_token_s=max(0.0, reply.first_s - received_s) if reply.first_s else 0.0,
            decode_s=max(0.0, reply.last_s - reply.first_s),
            sample_s=reply.sample_s,
            threads=info.threads,
            threads_batch=info.threads_batch,
        )
        kept_text, kept_tokens = reply.kept()
        return Outcome(reply.stop, reply.detail, stats, text.in_reasoning, kept_text, kept_tokens)

    def _prefill(self, new: Sequence[int], position: int) -> int:
        """Evaluate prompt tokens in micro-batches; return how many were, fewer if stopped."""
        total = len(new)
        step = self._model.info.n_ubatch
        done = 0
        while done < total:
            if self._stopped():
                return done
            end = min(done + step, total)
            if self._cache.wants_checkpoint and done < total - 1:
                end = min(end, total - 1)  # so that a checkpoint can stand before the last token
            part = new[done:end]
            try:
                self._model.decode(part, position + done)
            except Aborted:
                self._cache.resync()
                return done
            self._cache.extend(part)
            done = end
            if self._cache.wants_checkpoint and done == total - 1:
                self._cache.take_checkpoint()
            self._listener.prefilled(done, total)
        return done


class _Reply:
    """The state of a reply while it is written."""

    def __init__(
        self,
        model: EngineModel,
        cache: PrefixCache,
        listener: Listener,
        stopped: Callable[[], bool],
        sampler: Sampler,
        text: ReplyText,
        is_markup: Callable[[int], bool],
    ) -> None:
        self._is_markup = is_markup
        self._model = model
        self._cache = cache
        self._listener = listener
        self._stopped = stopped
        self._sampler = sampler
        self._text = text
        self.tokens: list[int] = []
        self.stop: StopReason = "end_of_turn"
        self.detail: str | None = None
        self.first_s = 0.0
        self.last_s = 0.0
        self.sample_s = 0.0

    def write(self, sampling: SamplingOptions, position: int) -> None:
        """Draw and evaluate tokens until the reply ends."""
        vocab, model, text = self._model.vocab, self._model, self._text
        limit = sampling.max_tokens
        n_ctx = model.info.n_ctx
        answer: list[str] = []
        reasoning: list[str] = []
        sent_s = 0.0
        clock = time.monotonic

        while True:
            if self._stopped():
                self.stop = "stopped"
                break
            before = clock()
            token = self._sampler.sample()
            now = clock()
            self.sample_s += now - before
            if vocab.is_end(token) and not sampling.ignore_eos:
                self.detail = vocab.piece(token).decode("utf-8", "replace")
                break
            self.tokens.append(token)
            if not self.first_s:
                self.first_s = now
            self.last_s = now
            delta = text.feed(vocab.piece(token), is_control=self._is_markup(token))
            if delta.answer:
                answer.append(delta.answer)
            if delta.reasoning:
                reasoning.append(delta.reasoning)
            if text.stopped_by is not None:
                kind = text.stop_kind
                self.stop = kind if kind in {"stop_string", "role_marker"} else "end_of_turn"
                self.detail = text.stopped_by
                break
            if limit is not None and len(self.tokens) >= limit:
                self.stop = "token_limit"
                break
            if position >= n_ctx:
                self.stop = "context_full"
                break
            if (answer or reasoning) and now - sent_s >= _COALESCE_S:
                self._send(answer, reasoning)
                sent_s = now
            self._listener.before_token(len(self.tokens))
            try:
                model.decode((token,), position)
            except Aborted:
                self._cache.resync()
                self.stop = "stopped"
                break
            except EngineFailure as failure:
                if failure.kind != "does_not_fit":
                    self._finish(answer, reasoning)
                    raise
                self.stop = "context_full"
                break
            self._cache.extend((token,))
            position += 1
        self._finish(answer, reasoning)

    def _finish(self, answer: list[str], reasoning: list[str]) -> None:
        rest = self._text.finish()
        answer.append(rest.answer)
        reasoning.append(rest.reasoning)
        self._send(answer, reasoning)

    def _send(self, answer: list[str], reasoning: list[str]) -> None:
        count = len(self.tokens)
        elapsed = self.last_s - self.first_s
        per_s = (count - 1) / elapsed if count > 1 and elapsed > 0 else None
        delta = Delta("".join(answer), "".join(reasoning))
        self._listener.text(delta, count, self._text.reasoning_tokens, per_s)
        answer.clear()
        reasoning.clear()

    def kept(self) -> tuple[str, list[int]]:
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
            size += len(self._model.vocab.piece(token))
        return raw, self.tokens if size == wanted else []
