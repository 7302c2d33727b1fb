"""What a loaded model is asked: a reply, a measurement of a prompt or of itself, a score."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from app.engine.bench import run_test
from app.engine.faults import Faults
from app.engine.generation import Generation
from app.engine.loaded import LoadedModel
from app.engine.loader import with_template
from app.engine.pipe import Outbox
from app.engine.prompting import BuiltPrompt
from app.engine.protocol import (
    Bench,
    Benched,
    Done,
    EngineMessage,
    Generate,
    Measure,
    Measured,
    Render,
    Rendered,
    ReplyDone,
    Score,
    Scored,
    Tune,
    Tuned,
)
from app.engine.refusals import DoesNotFit, check_replies
from app.engine.reply import Outcome
from app.engine.scoring import score_text
from app.engine.sender import ReplySender, Reporter
from app.engine.tuning_run import run_tuning

__all__ = ["ModelRequest", "ModelRequests"]

ModelRequest: TypeAlias = Generate | Measure | Render | Bench | Score | Tune


class ModelRequests:
    """Answers requests with a model; messages on the way are sent, the final one is returned.

    ``serve_small`` lets small requests through, ``stopped`` tells whether this one is to end,
    ``clock`` gives the seconds that measurements are taken with.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        outbox: Outbox,
        faults: Faults,
        *,
        serve_small: Callable[[], None],
        stopped: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._loaded = loaded
        self._outbox = outbox
        self._faults = faults
        self._serve_small = serve_small
        self._stopped = stopped
        self._clock = clock

    def answer(self, request: ModelRequest) -> EngineMessage:
        """Return the final message.

        Raises:
            Aborted, EngineFailure, TemplateError: as `Failed` will tell.
        """
        if not isinstance(request, Bench):
            self._loaded.forget_bench()
        match request:
            case Generate():
                return self._generate(request)
            case Measure():
                return self._measure(request)
            case Render():
                return self._render(request)
            case Bench():
                return self._bench(request)
            case Score():
                return self._score(request)
            case Tune():
                return self._tune(request)

    def _build(self, request: Generate | Measure | Render) -> BuiltPrompt:
        max_tokens = (
            request.sampling.max_tokens if isinstance(request, Generate) else request.max_tokens
        )
        return self._loaded.prompts.build(request.chat, max_tokens)

    def _measure(self, request: Measure) -> Measured:
        prompt = self._build(request)
        reusable = self._loaded.cache.reusable(prompt.tokens)
        return Measured(id=request.id, fit=prompt.fit, reusable_tokens=reusable)

    def _render(self, request: Render) -> Rendered:
        prompt = self._build(request)
        if prompt.fit.problem is not None:
            raise DoesNotFit(prompt.fit)
        text = prompt.text
        vocab = self._loaded.model.vocab
        if vocab.with_bos([]) and vocab.bos_text and not text.startswith(vocab.bos_text):
            text = vocab.bos_text + text
        return Rendered(id=request.id, text=text, tokens=len(prompt.tokens), fit=prompt.fit)

    def _bench(self, request: Bench) -> Benched:
        loaded = self._loaded
        filled = loaded.take_bench()
        kept = False
        try:
            seconds = run_test(
                loaded.model,
                request,
                self._stopped,
                filled=filled == (request.depth, request.sequences),
            )
            kept = request.keep
        finally:
            if kept:
                loaded.keep_bench(request.depth, request.sequences)
            else:
                loaded.cache.clear()
        return Benched(id=request.id, seconds=seconds)

    def _tune(self, request: Tune) -> Tuned:
        loaded = self._loaded
        report = Reporter(self._outbox, request.id, "tune")

        def progress(fraction: float) -> None:
            self._faults.reach("tune")
            self._serve_small()
            report(fraction)

        try:
            found = run_tuning(loaded.model, request, self._stopped, self._clock, progress)
        finally:
            loaded.cache.clear()
        draft = None if loaded.draft is None else loaded.draft.model.info.name
        info = with_template(loaded.model.info, loaded.template)
        model = msgspec.structs.replace(info, draft=draft)
        return Tuned(
            id=request.id,
            before=found.before,
            after=found.after,
            model=model,
            rows=found.rows,
            seconds=found.seconds,
            note=found.note,
        )

    def _score(self, request: Score) -> Scored:
        loaded = self._loaded
        report = Reporter(self._outbox, request.id, "score")

        def progress(done_tokens: int, total_tokens: int) -> None:
            self._faults.reach("score", done_tokens)
            report(done_tokens / total_tokens, done_tokens, total_tokens)

        try:
            return score_text(loaded.model, request, self._stopped, progress)
        finally:
            loaded.cache.clear()

    def _generate(self, request: Generate) -> Done:
        received_s = time.monotonic()
        loaded = self._loaded
        check_replies(request, loaded.model.info)
        prompt = self._build(request)
        render_s = time.monotonic() - received_s
        if prompt.fit.problem is not None:
            raise DoesNotFit(prompt.fit)
        listener = ReplySender(self._outbox, self._faults, self._serve_small, request, prompt)

        def ended(number: int, outcome: Outcome) -> None:
            if number:
                self._outbox.send(
                    ReplyDone(
                        id=request.id,
                        conversation=request.conversation,
                        reply=number,
                        stop=outcome.stop,
                        stop_detail=outcome.detail,
                        stats=outcome.stats,
                        reasoning_open=outcome.reasoning_open,
                    )
                )

        generation = Generation(loaded.model, loaded.cache, listener, self._stopped, loaded.draft)
        outcomes = generation.run(
            prompt.tokens,
            [loaded.reply_text(prompt, request) for _ in range(request.replies)],
            request.sampling,
            is_markup=loaded.prompts.is_markup,
            received_s=received_s,
            render_s=render_s,
            ended=ended,
        )
        for one in outcomes:
            loaded.prompts.remember_reply(prompt, one.kept_text, one.kept_tokens)
        outcome = outcomes[0]
        stats = msgspec.structs.replace(
            outcome.stats,
            load_s=loaded.load_s,
            samples=listener.samples(),
            peak_bytes=listener.peak_bytes(),
        )
        loaded.load_s = None  # belongs to the first turn alone
        return Done(
            id=request.id,
            conversation=request.conversation,
            stop=outcome.stop,
            stop_detail=outcome.detail,
            stats=stats,
            reasoning_open=outcome.reasoning_open,
        )
