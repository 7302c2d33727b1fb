"""The worker: one process, one model, one request at a time.

The main thread computes; a second one reads requests, so that a cancel is heard at once. Nothing
here knows llama.cpp: an `Engine` is handed in, and the scripted fake goes the same way.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.engine.bench import run_test
from app.engine.check import file_problem
from app.engine.drafting import Draft, mismatch
from app.engine.faults import Faults
from app.engine.generation import Generation
from app.engine.interface import Aborted, Engine, EngineFailure, EngineModel
from app.engine.launch import FAKE_ENGINE_VARIABLE, asked_remotes
from app.engine.loaded import LoadedModel
from app.engine.pipe import Inbox, Outbox, claim_stdout
from app.engine.process_memory import process_memory
from app.engine.prompting import BuiltPrompt
from app.engine.protocol import (
    PROTOCOL_VERSION,
    Bench,
    Benched,
    Counted,
    CountTokens,
    Done,
    DryRan,
    DryRun,
    EngineMessage,
    Failed,
    Fault,
    Generate,
    Hello,
    Load,
    Loaded,
    LoadOptions,
    Measure,
    Measured,
    MemoryNow,
    ModelInfo,
    PromptFit,
    Quantize,
    QueryMemory,
    Render,
    Rendered,
    ReplyDone,
    Request,
    Score,
    Tune,
    Tuned,
    Unload,
    Unloaded,
)
from app.engine.quantizing import make_variant
from app.engine.refusals import check_options, check_replies, does_not_fit
from app.engine.reply import Outcome
from app.engine.scoring import score_text
from app.engine.sender import ReplySender, Reporter
from app.engine.templates.errors import TemplateError
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.renderer import TemplateRenderer
from app.engine.threads import cpu_name
from app.engine.tuning_run import run_tuning

__all__ = ["Worker", "main"]


class Worker:
    """Serves requests until its input ends."""

    def __init__(self, engine: Engine, outbox: Outbox) -> None:
        self._engine = engine
        self._outbox = outbox
        self._renderer = TemplateRenderer()
        self._faults = Faults()
        self._loaded: LoadedModel | None = None
        self._current = 0
        self._stop = False
        self._scratch: str | None = None  # a variant that is being written
        self._lock = threading.Lock()
        self._cancelled: set[int] = set()
        self._inbox = Inbox(outbox, self._cancel, self._end)

    # --- in the reading thread ---

    def _cancel(self, target: int) -> None:
        with self._lock:
            if target != self._current:
                self._cancelled.add(target)  # it waits its turn, or has ended
                return
        self._raise_stop()

    def _end(self) -> None:
        self._raise_stop()
        scratch = self._scratch
        if scratch is not None:  # nobody is left to remove what will never be finished
            Path(scratch).unlink(missing_ok=True)

    def _raise_stop(self) -> None:
        self._stop = True
        loaded = self._loaded
        if loaded is not None:
            loaded.abort(True)

    # --- in the main thread ---

    def run(self) -> None:
        """Say hello and serve."""
        engine = self._engine
        self._outbox.send(
            Hello(
                protocol=PROTOCOL_VERSION,
                pid=os.getpid(),
                engine=engine.name,
                devices=engine.devices(),
                system_info=engine.system_info,
                cpu=cpu_name(),
                remotes=engine.remotes,
            )
        )
        self._inbox.start()
        while (request := self._inbox.queue.get()) is not None:
            self._serve(request)
        self._free()
        self._renderer.close()

    def _serve(self, request: Request) -> None:
        if isinstance(request, CountTokens | QueryMemory):
            self._serve_small()
            return
        with self._lock:
            self._current = request.id
            self._stop = False
            if self._loaded is not None:
                self._loaded.abort(False)
            cancelled = request.id in self._cancelled
            # Ids rise: what is older has ended.
            self._cancelled = {known for known in self._cancelled if known > request.id}
        try:
            if cancelled:
                raise Aborted
            self._answer(request)
        except TemplateError as error:
            self._fail(request.id, EngineFailure("bad_template", str(error)))
        except EngineFailure as failure:
            self._fail(request.id, failure)
        except Aborted:
            self._fail(request.id, EngineFailure("cancelled", "Cancelled."))
        except Exception as error:
            # A request that nobody foresaw must not take the model with it.
            traceback.print_exc()
            self._fail(
                request.id,
                EngineFailure("engine", f"The engine can't do this: {_in_a_line(error)}."),
            )
        finally:
            self._serve_small()

    def _finish(self, message: EngineMessage) -> None:
        """Send a final message; whoever hears it may ask again at once."""
        self._current = 0
        if getattr(message, "id", None) == self._inbox.busy_id:
            self._inbox.busy_id = None
        self._outbox.send(message)

    def _answer(self, request: Request) -> None:
        match request:
            case Load():
                self._load(request)
            case DryRun():
                self._dry_run(request)
            case Unload():
                self._free()
                self._finish(Unloaded(id=request.id))
            case Generate():
                self._generate(request)
            case Measure():
                self._measure(request)
            case Render():
                self._render(request)
            case Bench():
                self._bench(request)
            case Score():
                self._score(request)
            case Tune():
                self._tune(request)
            case Quantize():
                self._quantize(request)
            case Fault():
                done = self._faults.arm(request)
                raise EngineFailure(
                    "cancelled" if done else "bad_request", "Armed." if done else "Not allowed."
                )

    def _fail(self, request_id: int, failure: EngineFailure, fit: PromptFit | None = None) -> None:
        detail = failure.detail or (
            self._engine.last_words() if failure.kind in {"engine", "out_of_memory"} else ""
        )
        self._finish(
            Failed(
                id=request_id,
                kind=failure.kind,
                message=failure.message,
                advice=failure.advice,
                detail=detail,
                fit=fit,
            )
        )

    def _serve_small(self) -> None:
        """Answer token counts and memory; called between tokens of a reply too."""
        while not self._inbox.small.empty():
            request = self._inbox.small.get()
            if isinstance(request, QueryMemory):
                private, mapped = process_memory()
                self._outbox.send(
                    MemoryNow(
                        id=request.id,
                        devices=self._engine.devices(),
                        private_bytes=private,
                        mapped_bytes=mapped,
                    )
                )
            elif self._loaded is None:
                self._outbox.send(
                    Failed(id=request.id, kind="no_model", message="No model is loaded.")
                )
            else:
                tokens = self._loaded.prompts.count_text(request.text)
                self._outbox.send(Counted(id=request.id, tokens=tokens))

    def _model(self) -> LoadedModel:
        if self._loaded is None:
            raise EngineFailure("no_model", "No model is loaded; choose one first.")
        return self._loaded

    def _free(self) -> None:
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.close()

    def _load(self, request: Load) -> None:
        self._free()
        check_options(request.options)
        self._check_file(request.path)
        report = Reporter(self._outbox, request.id, "load")

        def progress(fraction: float) -> bool:
            self._faults.reach("load")
            report(fraction)
            return not self._stop

        options = request.options
        if options.draft is not None:
            rows = max(options.outputs or 0, options.draft_tokens + 1)
            options = msgspec.structs.replace(options, outputs=rows)
        model = self._engine.load(request.path, options, progress)
        draft: Draft | None = None
        try:
            draft, refused = self._load_draft(model, options, progress)
            vocab = model.vocab
            template = ChatTemplate(
                model.template_source,
                request.options.template,
                vocab.bos_text,
                vocab.eos_text,
                self._renderer,
                known_tokens=lambda text: text in vocab.specials or text in vocab.user_defined,
            )
            self._loaded = LoadedModel(model, template, draft)
        except BaseException:
            if draft is not None:
                draft.close()
            model.close()
            raise
        info = self._info(model.info, template)
        if draft is not None:
            info = msgspec.structs.replace(
                info,
                draft=draft.model.info.name,
                notices=(*info.notices, draft.cost),
            )
        elif refused is not None:
            info = msgspec.structs.replace(info, notices=(*info.notices, refused))
        self._finish(Loaded(id=request.id, model=info))

    def _load_draft(
        self, model: EngineModel, options: LoadOptions, progress: Callable[[float], bool]
    ) -> tuple[Draft | None, str | None]:
        """Return the draft model, or a sentence why there is none: the chat goes on without."""
        if options.draft is None:
            return None, None
        problem = file_problem(options.draft)
        if problem is not None:
            return None, f"No draft model is used: {problem}"
        own = msgspec.structs.replace(
            options, n_ctx=model.info.n_ctx, draft=None, sequences=1, outputs=None, template=None
        )
        try:
            small = self._engine.load(options.draft, own, progress)
        except EngineFailure as failure:
            return None, f"No draft model is used: {failure.message}"
        refused = mismatch(model, small)
        if refused is not None:
            small.close()
            return None, f"No draft model is used: {refused}"
        return Draft(small, options.draft_tokens), None

    def _dry_run(self, request: DryRun) -> None:
        check_options(request.options)
        self._check_file(request.path)
        found = self._engine.dry_run(request.path, request.options)
        self._finish(
            DryRan(
                id=request.id,
                n_ctx=found.n_ctx,
                buffers=found.buffers,
                exact=found.exact,
                seconds=found.seconds,
            )
        )

    def _info(self, info: ModelInfo, template: ChatTemplate) -> ModelInfo:
        return msgspec.structs.replace(
            info,
            template=template.used,
            template_notice=template.notice,
            thinking=template.thinking,
        )

    def _check_file(self, path: str) -> None:
        problem = file_problem(path)
        if problem is not None:
            raise EngineFailure("bad_model", problem)

    def _build(self, request: Generate | Measure | Render) -> BuiltPrompt:
        max_tokens = (
            request.sampling.max_tokens if isinstance(request, Generate) else request.max_tokens
        )
        return self._model().prompts.build(request.chat, max_tokens)

    def _measure(self, request: Measure) -> None:
        prompt = self._build(request)
        reusable = self._model().cache.reusable(prompt.tokens)
        self._finish(Measured(id=request.id, fit=prompt.fit, reusable_tokens=reusable))

    def _render(self, request: Render) -> None:
        prompt = self._build(request)
        if prompt.fit.problem is not None:
            self._fail(request.id, does_not_fit(prompt.fit), prompt.fit)
            return
        text = prompt.text
        vocab = self._model().model.vocab
        if vocab.with_bos([]) and vocab.bos_text and not text.startswith(vocab.bos_text):
            text = vocab.bos_text + text
        self._finish(Rendered(id=request.id, text=text, tokens=len(prompt.tokens), fit=prompt.fit))

    def _bench(self, request: Bench) -> None:
        loaded = self._model()
        try:
            seconds = run_test(loaded.model, request, lambda: self._stop)
        finally:
            loaded.cache.clear()
        self._finish(Benched(id=request.id, seconds=seconds))

    def _tune(self, request: Tune) -> None:
        loaded = self._model()
        report = Reporter(self._outbox, request.id, "tune")

        def progress(fraction: float) -> None:
            self._faults.reach("tune")
            self._serve_small()
            report(fraction)

        try:
            found = run_tuning(
                loaded.model, request, lambda: self._stop, self._engine.clock, progress
            )
        finally:
            loaded.cache.clear()
        draft = None if loaded.draft is None else loaded.draft.model.info.name
        info = self._info(loaded.model.info, loaded.template)
        model = msgspec.structs.replace(info, draft=draft)
        self._finish(
            Tuned(
                id=request.id,
                before=found.before,
                after=found.after,
                model=model,
                rows=found.rows,
                seconds=found.seconds,
                note=found.note,
            )
        )

    def _score(self, request: Score) -> None:
        loaded = self._model()
        report = Reporter(self._outbox, request.id, "score")

        def progress(done_tokens: int, total_tokens: int) -> None:
            self._faults.reach("score", done_tokens)
            report(done_tokens / total_tokens, done_tokens, total_tokens)

        try:
            scored = score_text(loaded.model, request, lambda: self._stop, progress)
        finally:
            loaded.cache.clear()
        self._finish(scored)

    def _quantize(self, request: Quantize) -> None:
        report = Reporter(self._outbox, request.id, "quantize")

        def progress(fraction: float) -> None:
            self._faults.reach("quantize")
            report(fraction)

        self._scratch = request.target
        try:
            made = make_variant(self._engine, request, progress)
        finally:
            self._scratch = None
        self._finish(made)

    def _generate(self, request: Generate) -> None:
        received_s = time.monotonic()
        loaded = self._model()
        check_replies(request, loaded.model.info)
        prompt = self._build(request)
        render_s = time.monotonic() - received_s
        if prompt.fit.problem is not None:
            self._fail(request.id, does_not_fit(prompt.fit), prompt.fit)
            return
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

        generation = Generation(
            loaded.model, loaded.cache, listener, lambda: self._stop, loaded.draft
        )
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
        self._finish(
            Done(
                id=request.id,
                conversation=request.conversation,
                stop=outcome.stop,
                stop_detail=outcome.detail,
                stats=stats,
                reasoning_open=outcome.reasoning_open,
            )
        )


def _in_a_line(error: Exception) -> str:
    words = " ".join(str(error).split())[:200].rstrip(".")
    return words or type(error).__name__


def main() -> int:
    """Run a worker on this process's standard streams."""
    outbox = Outbox(claim_stdout())
    faulthandler.enable(sys.stderr)
    # Ctrl+C in a terminal reaches the whole group; the client decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    script = os.environ.get(FAKE_ENGINE_VARIABLE)
    engine: Engine
    if script:
        from app.engine.fake_backend import FakeEngine

        engine = FakeEngine(script)
    else:
        from app.engine.backend.engine import LlamaEngine

        engine = LlamaEngine(asked_remotes())
    Worker(engine, outbox).run()
    return 0
