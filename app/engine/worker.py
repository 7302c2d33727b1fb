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
import traceback
from pathlib import Path

from app.early_input import EarlyInput
from app.engine.faults import Faults
from app.engine.interface import Aborted, Engine, EngineFailure
from app.engine.launch import FAKE_ENGINE_VARIABLE, asked_remotes
from app.engine.loaded import LoadedModel
from app.engine.loader import check_file, load_model
from app.engine.model_requests import ModelRequest, ModelRequests
from app.engine.pipe import Inbox, Outbox
from app.engine.process_memory import process_memory
from app.engine.protocol import (
    PROTOCOL_VERSION,
    Bench,
    Counted,
    CountTokens,
    DryRan,
    DryRun,
    EngineMessage,
    Failed,
    Fault,
    Generate,
    Hello,
    Load,
    Loaded,
    Measure,
    MemoryNow,
    Quantize,
    QueryMemory,
    Render,
    Request,
    Score,
    Tune,
    Unload,
    Unloaded,
)
from app.engine.quantizing import make_variant
from app.engine.refusals import DoesNotFit, check_options
from app.engine.sender import Reporter
from app.engine.templates.errors import TemplateError
from app.engine.templates.renderer import TemplateRenderer
from app.engine.threads import cpu_name
from app.private_stdout import claim_stdout

__all__ = ["Worker", "main"]


class Worker:
    """Serves the requests that come, until their end."""

    def __init__(self, engine: Engine, outbox: Outbox, early: EarlyInput) -> None:
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
        self._inbox = Inbox(early, outbox, self._cancel, self._end)

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
            case Generate() | Measure() | Render() | Bench() | Score() | Tune():
                self._finish(self._ask_model(request))
            case Quantize():
                self._quantize(request)
            case Fault():
                done = self._faults.arm(request)
                raise EngineFailure(
                    "cancelled" if done else "bad_request", "Armed." if done else "Not allowed."
                )

    def _ask_model(self, request: ModelRequest) -> EngineMessage:
        return ModelRequests(
            self._model(),
            self._outbox,
            self._faults,
            serve_small=self._serve_small,
            stopped=lambda: self._stop,
            clock=self._engine.clock,
        ).answer(request)

    def _fail(self, request_id: int, failure: EngineFailure) -> None:
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
                fit=failure.fit if isinstance(failure, DoesNotFit) else None,
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
        report = Reporter(self._outbox, request.id, "load")

        def progress(fraction: float) -> bool:
            self._faults.reach("load")
            report(fraction)
            return not self._stop

        self._loaded, info = load_model(self._engine, request, self._renderer, progress)
        self._finish(Loaded(id=request.id, model=info))

    def _dry_run(self, request: DryRun) -> None:
        check_options(request.options)
        check_file(request.path)
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


def _in_a_line(error: Exception) -> str:
    words = " ".join(str(error).split())[:200].rstrip(".")
    return words or type(error).__name__


def main(early: EarlyInput) -> int:
    """Run a worker on this process's standard streams; ``early`` reads stdin already."""
    outbox = Outbox(claim_stdout())
    faulthandler.enable(sys.stderr)
    # Ctrl+C in a terminal reaches the whole group; the client decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    script = os.environ.get(FAKE_ENGINE_VARIABLE)
    engine: Engine
    if script:
        from app.engine.fake.engine import FakeEngine

        engine = FakeEngine(script)
    else:
        from app.engine.backend.engine import LlamaEngine

        engine = LlamaEngine(asked_remotes())
    Worker(engine, outbox, early).run()
    return 0
