"""From a prompt to replies: cut the cache back, evaluate what is new, draw tokens until they end.

The loop does per token what can't be left out: one evaluation, one draw, the text of one token.
Several replies to one prompt are decoded side by side: they share the prompt's cache, and each
reading of the weights serves them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import msgspec

from app.engine.cache import PrefixCache
from app.engine.drafting import Draft
from app.engine.interface import Aborted, EngineFailure, EngineModel
from app.engine.protocol import SamplingOptions, StopReason
from app.engine.reply import Listener, Outcome, RunningReply, prompt_stats
from app.engine.text.reply import ReplyText
from inspector.records import TurnStats

__all__ = ["Generation"]


class Generation:
    """Writes replies into a model's cache."""

    def __init__(
        self,
        model: EngineModel,
        cache: PrefixCache,
        listener: Listener,
        stopped: Callable[[], bool],
        draft: Draft | None = None,
    ) -> None:
        self._model = model
        self._draft = draft
        self._drafted_tokens = 0
        self._accepted_tokens = 0
        self._cache = cache
        self._listener = listener
        self._stopped = stopped

    def run(
        self,
        prompt: Sequence[int],
        texts: Sequence[ReplyText],
        sampling: SamplingOptions,
        *,
        is_markup: Callable[[int], bool],
        received_s: float,
        render_s: float,
        ended: Callable[[int, Outcome], None] = lambda *_: None,
    ) -> list[Outcome]:
        """Evaluate a prompt and write a reply for each of ``texts``.

        ``is_markup`` tells which tokens belong to the format. ``received_s`` is the monotonic time
        at which the request came in. ``ended`` hears of each of several replies as it ends. The
        first reply stays in the cache; the others' tokens are given back.

        Raises:
            EngineFailure: the engine failed; the cache is in step with its memory again.
        """
        reuse = self._cache.prepare(prompt)
        new = prompt[reuse.kept :]
        self._listener.started(reuse, len(new))
        replies: list[RunningReply] = []
        try:
            for number, text in enumerate(texts):
                sampler = self._model.sampler(_seeded(sampling, number), prompt)
                replies.append(
                    RunningReply(
                        self._model, self._listener, sampler, text, sampling, is_markup, number
                    )
                )
            prefill_started = time.monotonic()
            evaluated = self._prefill(new, reuse.kept)
            if self._draft is not None and len(texts) == 1 and evaluated == len(new):
                # Read here, so that its time counts as the prompt's.
                self._draft.propose(prompt, 1)
            stats = msgspec.structs.replace(
                prompt_stats(self._model, prompt, reuse, evaluated),
                prefill_s=time.monotonic() - prefill_started,
                render_s=render_s,
                replies_at_once=len(replies),
            )
            if evaluated < len(new):
                for reply in replies:
                    reply.stop = "stopped"
                    ended(reply.number, reply.outcome(stats, received_s))
            elif len(replies) == 1 and self._draft is not None:
                self._write_drafted(replies[0], prompt, self._draft)
                stats = msgspec.structs.replace(
                    stats,
                    drafted_tokens=self._drafted_tokens,
                    accepted_tokens=self._accepted_tokens,
                )
            elif len(replies) == 1:
                self._write(replies[0], len(prompt))
            else:
                self._write_several(
                    replies,
                    len(prompt),
                    lambda reply: ended(reply.number, reply.outcome(stats, received_s)),
                )
        except EngineFailure:
            self._cache.resync()
            raise
        finally:
            for reply in replies:
                reply.close()
        if len(replies) > 1:
            stats = _with_batch(stats, replies)
        return [reply.outcome(stats, received_s) for reply in replies]

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
        self._model.wait()  # a GPU or another computer may still be at it: its time is the prompt's
        return done

    def _write(self, reply: RunningReply, position: int) -> None:
        """Draw and evaluate tokens until the reply ends."""
        model, cache, listener = self._model, self._cache, self._listener
        with _finishing(reply):
            while not self._is_stopped(reply):
                token = reply.draw(position)
                if token is None:
                    break
                listener.before_token(len(reply.tokens))
                if not self._evaluated((reply,), partial(model.decode, (token,), position)):
                    break
                cache.extend((token,))
                position += 1

    def _write_drafted(self, reply: RunningReply, prompt: Sequence[int], draft: Draft) -> None:
        """Draw tokens and check drafted ones along with them, until the reply ends."""
        model, cache, listener = self._model, self._cache, self._listener
        tokens = list(prompt)
        with _finishing(reply):
            token = reply.draw(len(tokens))
            while token is not None and not self._is_stopped(reply):
                listener.before_token(len(reply.tokens))
                position = len(tokens)
                tokens.append(token)
                guesses = draft.propose(tokens, model.info.n_ctx - position - 2)
                batch = (token, *guesses)
                places = range(position, position + len(batch))
                step = partial(model.decode_each, batch, places, (0,) * len(batch))
                if not self._evaluated((reply,), step):
                    break
                self._drafted_tokens += len(guesses)
                row = 0
                token = reply.draw(position + 1, row)
                while row < len(guesses) and token == guesses[row]:
                    tokens.append(token)
                    row += 1
                    listener.before_token(len(reply.tokens))
                    token = reply.draw(position + 1 + row, row)
                self._accepted_tokens += row
                cache.extend(batch[: row + 1])
                if row < len(guesses):
                    cache.resync()  # what was guessed wrong is cut off

    def _is_stopped(self, *replies: RunningReply) -> bool:
        """Tell whether the user wants no more, and the replies, which end with it."""
        stopped = self._stopped()
        for reply in replies if stopped else ():
            reply.stop = "stopped"
        return stopped

    def _evaluated(self, replies: Sequence[RunningReply], step: Callable[[], None]) -> bool:
        """Evaluate a step; return whether the replies go on, and tell them why not.

        Raises:
            EngineFailure: it failed for something else than a full context.
        """
        stop: StopReason = "context_full"
        try:
            step()
        except Aborted:
            self._cache.resync()
            stop = "stopped"
        except EngineFailure as failure:
            if failure.kind != "does_not_fit":
                raise
        else:
            return True
        for reply in replies:
            reply.stop = stop
        return False

    def _write_several(
        self,
        replies: Sequence[RunningReply],
        position: int,
        ended: Callable[[RunningReply], None],
    ) -> None:
        """Draw a token for each reply and evaluate them in one batch, until all have ended."""
        model, cache, listener = self._model, self._cache, self._listener

        def end(reply: RunningReply) -> None:
            reply.finish()
            if reply.number:
                model.drop(reply.number)
            ended(reply)

        model.fork(len(replies))
        running = list(replies)
        rows = [-1] * len(running)  # at first all draw from the prompt's last row
        try:
            while running and not self._is_stopped(*running):
                drawn = []
                for reply, row in zip(running, rows, strict=True):
                    token = reply.draw(position, row)
                    if token is None:
                        end(reply)
                    else:
                        drawn.append((reply, token))
                running = [reply for reply, _ in drawn]
                rows = list(range(len(running)))
                if not running:
                    break
                listener.before_token(len(running[0].tokens))
                step = partial(
                    model.decode_each,
                    [token for _, token in drawn],
                    [position] * len(drawn),
                    [reply.number for reply in running],
                )
                if not self._evaluated(running, step):
                    break
                if not running[0].number:
                    cache.extend((drawn[0][1],))
                position += 1
        except EngineFailure:
            for reply in running:
                reply.finish()
            raise
        finally:
            for number in range(1, len(replies)):
                model.drop(number)
        for reply in running:
            end(reply)


@contextmanager
def _finishing(reply: RunningReply) -> Iterator[None]:
    """Release the text that a reply held back, however its writing ends."""
    try:
        yield
    finally:
        reply.finish()


def _seeded(sampling: SamplingOptions, number: int) -> SamplingOptions:
    """Return the options of one of several replies: a given seed must not make them equal."""
    if sampling.seed is None or not number:
        return sampling
    return msgspec.structs.replace(sampling, seed=(sampling.seed + number) % (1 << 32))


def _with_batch(stats: TurnStats, replies: Sequence[RunningReply]) -> TurnStats:
    begun = [reply for reply in replies if reply.first_s]
    if not begun:
        return stats
    return msgspec.structs.replace(
        stats,
        batch_reply_tokens=sum(len(reply.tokens) for reply in begun),
        batch_decode_s=max(r.last_s for r in begun) - min(r.first_s for r in begun),
    )
