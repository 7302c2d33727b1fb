"""Messages of long requests on their way: progress, pieces of a reply, memory seen meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from app.engine.cache import Reuse
from app.engine.faults import Faults
from app.engine.pipe import Outbox
from app.engine.process_memory import process_memory
from app.engine.prompting import BuiltPrompt
from app.engine.protocol import Chunk, Generate, Progress, Started
from app.engine.reply import Listener
from app.engine.text import Delta

__all__ = ["ReplySender", "Reporter"]

ProgressPhase: TypeAlias = Literal["load", "prefill", "score", "quantize", "tune"]

_PROGRESS_S: Final = 0.05
_MOST_SAMPLES: Final = 256


class Reporter:
    """Sends the progress of a request, not too often; the end is always sent."""

    def __init__(self, outbox: Outbox, request_id: int, phase: ProgressPhase) -> None:
        self._outbox = outbox
        self._id = request_id
        self._phase: ProgressPhase = phase
        self._sent_s = 0.0

    def __call__(self, fraction: float, done_tokens: int = 0, total_tokens: int = 0) -> None:
        """Send how far it is, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self._sent_s < _PROGRESS_S and fraction < 1:
            return
        self._sent_s = now
        self._outbox.send(
            Progress(
                id=self._id,
                phase=self._phase,
                fraction=fraction,
                done_tokens=done_tokens,
                total_tokens=total_tokens,
            )
        )


class ReplySender(Listener):
    """Turns what a generation tells into messages; small requests are served on the way."""

    def __init__(
        self,
        outbox: Outbox,
        faults: Faults,
        serve_small: Callable[[], None],
        request: Generate,
        prompt: BuiltPrompt,
    ) -> None:
        self._outbox = outbox
        self._faults = faults
        self._serve_small = serve_small
        self._request = request
        self._prompt = prompt
        self._report = Reporter(outbox, request.id, "prefill")
        self._times: list[tuple[int, float]] = []
        self._stride = 1
        self._peak_bytes: int | None = None

    def samples(self) -> tuple[tuple[int, float], ...]:
        """Return (tokens of the reply, seconds since the first one), some hundred at most."""
        if not self._times:
            return ()
        first = self._times[0][1]
        return tuple((tokens, round(time_s - first, 6)) for tokens, time_s in self._times)

    def peak_bytes(self) -> int | None:
        """Return the most private memory that was seen in the turn."""
        self._see_memory()
        return self._peak_bytes

    def _see_memory(self) -> None:
        private, _ = process_memory()
        if private is not None:
            self._peak_bytes = max(self._peak_bytes or 0, private)

    def started(self, reuse: Reuse, new_tokens: int) -> None:
        """Say that the prompt is about to be evaluated."""
        self._outbox.send(
            Started(
                id=self._request.id,
                conversation=self._request.conversation,
                fit=self._prompt.fit,
                reused_tokens=reuse.kept,
                new_tokens=new_tokens,
                first_difference=reuse.first_difference,
                reuse_note=reuse.note,
            )
        )
        self._faults.reach("prefill")

    def prefilled(self, done_tokens: int, total_tokens: int) -> None:
        """Say how much of the prompt is evaluated."""
        if done_tokens >= total_tokens:
            self._see_memory()
        self._faults.reach("prefill", done_tokens)
        self._serve_small()
        self._report(done_tokens / total_tokens, done_tokens, total_tokens)

    def text(
        self,
        delta: Delta,
        reply_tokens: int,
        reasoning_tokens: int,
        per_s: float | None,
        reply: int,
    ) -> None:
        """Send text that is whole."""
        self._outbox.send(
            Chunk(
                id=self._request.id,
                conversation=self._request.conversation,
                reply=reply,
                answer=delta.answer,
                reasoning=delta.reasoning,
                reply_tokens=reply_tokens,
                reasoning_tokens=reasoning_tokens,
                decode_per_s=per_s,
            )
        )

    def before_token(self, reply_tokens: int) -> None:
        """Note the time, and let small requests through."""
        if reply_tokens == 1 or reply_tokens % self._stride == 0:
            self._times.append((reply_tokens, time.monotonic()))
            if len(self._times) >= _MOST_SAMPLES:
                self._stride *= 2
                kept = (item for item in self._times[1:] if item[0] % self._stride == 0)
                self._times = [self._times[0], *kept]
        self._faults.reach("decode", reply_tokens)
        self._serve_small()
