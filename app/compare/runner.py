"""Comparing variants: each in an engine of its own, one after another, or all at once if they fit.

One after another is the default, so that no variant shares bandwidth; each engine is unloaded and
ended before the next one starts. An engine that dies marks its variant failed, with the cause, and
the others go on.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from app.compare.again import merged
from app.compare.engine import Against, OpenClient, VariantRun
from app.compare.events import Began, Event, Noticed, VariantFinished
from app.compare.request import CompareRequest, Prepared, prepare, vocabulary_key
from app.compare.variant import host_sample, now_ms
from app.data.probe import busy_sentence, host_memory
from app.data.state import StateFile
from app.engine.client import EngineError
from app.engine.threads import clamp_threads, cpu_name
from app.machine import bandwidth_for
from gguf_tools.units import format_bytes
from inspector.compare.records import ComparisonRecord, MemoryStep
from inspector.records import BandwidthRecord

__all__ = ["Comparison"]

_SPARE_BYTES: Final = 64 << 20


class Comparison:
    """One comparison. `run` blocks, in whatever thread; `cancel` may be called from another.

    Args:
        request: what to compare.
        open_client: makes an engine's client, not yet started.
        state: where bandwidths and decode rates are kept.
        on_event: is told what happens, one event at a time, in a thread of the comparison.
        scratch: a folder for what the reference expects; None takes the system's.
    """

    def __init__(
        self,
        request: CompareRequest,
        open_client: OpenClient,
        state: StateFile,
        on_event: Callable[[Event], None] = lambda _: None,
        scratch: Path | None = None,
    ) -> None:
        self._request = request
        self._open_client = open_client
        self._state = state
        self._on_event = on_event
        self._scratch = scratch
        self._telling = threading.Lock()
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._running: list[VariantRun] = []
        self._memory: list[MemoryStep] = []
        self._vocabularies: dict[int, str] = {}

    def cancel(self) -> None:
        """End it at once: running engines are killed; what is known so far is kept."""
        self._cancelled.set()
        with self._lock:
            for run in self._running:
                if run.client is not None:
                    run.client.kill()

    def disturb(self) -> None:
        """Note that something else of this program computes: what runs now is marked so."""
        with self._lock:
            for run in self._running:
                if run.record.reached not in {"scoring", "unloading"}:  # no rate is measured there
                    run.disturbed.set()

    def run(self) -> ComparisonRecord:
        """Compare, and return the record, which holds failed and cancelled variants too.

        Raises:
            CompareError: nothing can be compared: see `prepare`.
        """
        started = time.monotonic()
        prepared = prepare(self._request)
        record = ComparisonRecord(
            at_ms=now_ms(),
            settings=self._request.settings,
            variants=prepared.variants,
            reference=prepared.reference,
        )
        self._tell(Began(record, prepared.order))
        self._memory.append(MemoryStep(stage="start", sample=host_sample()))
        busy = busy_sentence()
        runs = [
            VariantRun(prepared, index, self._tell, self._bandwidth(prepared, index))
            for index in range(len(prepared.variants))
        ]
        again = self._request.again
        with self._folder(prepared) as folder:
            if again is not None and again.what == "quality":
                self._read_text(prepared, runs, folder)
            elif self._request.settings.together and again is None:
                self._all_at_once(prepared, runs, folder)
            else:
                self._one_by_one(prepared, runs, folder, busy)
        steps = [step for run in runs for step in run.memory]
        record = msgspec.structs.replace(
            record,
            variants=tuple(run.record for run in runs),
            memory=(*self._memory, *sorted(steps, key=lambda step: step.sample.at_ms)),
            engine=next((run.engine for run in runs if run.engine), ""),
            machine=next((run.machine for run in runs if run.machine), ""),
            busy=busy,
            cancelled=self._cancelled.is_set(),
            seconds=time.monotonic() - started,
        )
        return record if again is None else merged(again, record)

    # --- the two ways

    def _one_by_one(
        self, prepared: Prepared, runs: list[VariantRun], folder: Path | None, busy: str
    ) -> None:
        for index in prepared.order:
            run = runs[index]

            def work(run: VariantRun = run) -> None:
                run.load()
                self._go_on()
                run.answer()
                if self._request.settings.measure_rates:
                    run.measure()
                    run.learn(self._state, busy=bool(busy) or run.disturbed.is_set())
                if folder is not None:
                    self._score(prepared, runs, run, folder)
                run.unload()

            self._drive(run, work)

    def _all_at_once(self, prepared: Prepared, runs: list[VariantRun], folder: Path | None) -> None:
        """Load all, answer side by side, then measure quality one after another."""
        loaded = threading.Barrier(len(runs))
        faults: list[BaseException] = []

        def drive(run: VariantRun) -> None:
            try:
                drive_unguarded(run)
            except BaseException as fault:  # of this program: told where `run` was called
                faults.append(fault)

        def drive_unguarded(run: VariantRun) -> None:
            waited = False

            def work() -> None:
                nonlocal waited
                try:
                    run.load()
                finally:
                    waited = True
                    loaded.wait()  # nobody begins before all are there, or have failed
                self._go_on()
                run.answer()
                run.unload()

            try:
                self._drive(run, work)
            finally:
                if not waited:  # its engine did not start
                    loaded.wait()

        threads = [
            threading.Thread(target=drive, args=(run,), name=f"compare {run.index}") for run in runs
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]
        self._read_text(prepared, runs, folder)

    def _read_text(self, prepared: Prepared, runs: list[VariantRun], folder: Path | None) -> None:
        """Measure the quality of what has answered, one after another."""
        if folder is None:
            return
        for index in prepared.order:
            run = runs[index]
            if run.record.status != "done":
                continue

            def score(run: VariantRun = run) -> None:
                self._score(prepared, runs, run, folder)
                run.unload()

            self._drive(run, score, quality=True)

    def _drive(self, run: VariantRun, work: Callable[[], None], *, quality: bool = False) -> None:
        """Give a variant an engine for some work; whatever goes wrong becomes its status.

        With ``quality`` the answer is there already, and a failure only leaves the quality out.
        """
        try:
            self._go_on()
            client = self._open_client(run.notice)
            with self._lock:
                self._running.append(run)
            run.start(client)
            self._go_on()  # a cancel while it started found no process to end
            work()
            run.set(status="done")
        except EngineError as error:
            if quality:
                why = "it was stopped before" if self._cancelled.is_set() else str(error)
                run.note_quality(f"quality could not be measured: {why}")
            elif self._cancelled.is_set():
                run.set(status="cancelled")
            else:
                run.set(status="failed", failure=str(error), advice=error.advice)
        finally:
            with self._lock:
                if run in self._running:
                    self._running.remove(run)
            run.end()
        if run.disturbed.is_set():
            run.set(disturbed=True)
        reached, status = run.record.reached, run.record.status
        run.phase(status)
        if status != "done":
            run.set(reached=reached)
        self._tell(VariantFinished(run.index, run.record))

    def _go_on(self) -> None:
        if self._cancelled.is_set():
            raise EngineError("Cancelled.")

    # --- quality

    def _score(
        self, prepared: Prepared, runs: list[VariantRun], run: VariantRun, folder: Path
    ) -> None:
        """Score a variant; what the text or the reference lacks leaves the quality out alone."""
        reference = runs[prepared.reference]
        kept = str(folder / "reference")
        if run is reference:
            against = Against(write=kept)
        elif reference.scored is None:
            run.note_quality("the reference has no figures to compare with.")
            against = Against()
        elif self._vocabulary(prepared, run.index) != self._vocabulary(
            prepared, prepared.reference
        ):
            run.note_quality(
                "its vocabulary is not the reference's, so only the perplexity is given, and that "
                "is of its own tokens."
            )
            against = Against()
        else:
            against = Against(against=kept, reference_nll=reference.scored.nll)
        try:
            run.score(against)
        except EngineError as error:
            if getattr(error, "end", None) is not None:
                raise  # the engine is gone
            run.note_quality(f"quality could not be measured: {error}")

    def _vocabulary(self, prepared: Prepared, index: int) -> str:
        if index not in self._vocabularies:
            self._vocabularies[index] = vocabulary_key(prepared.facts[index].header)
        return self._vocabularies[index]

    @contextmanager
    def _folder(self, prepared: Prepared) -> Iterator[Path | None]:
        """Yield a folder for the reference's expectations, None if there is to be no quality."""
        settings, again = self._request.settings, self._request.again
        is_part = again is not None and again.what == "rates"  # its quality is known
        if is_part or not settings.quality or not self._request.text.strip():
            yield None
            return
        facts = prepared.facts[prepared.reference]
        rows = settings.text_tokens // 2
        needed = rows * (2 * (facts.vocab_size or 0) + 12)
        try:
            if self._scratch is not None:
                self._scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
            holder = tempfile.TemporaryDirectory(
                prefix="compare-", dir=self._scratch, ignore_cleanup_errors=True
            )
        except OSError as error:
            self._tell(Noticed(f"Quality is left out: no temporary folder ({error.strerror})."))
            yield None
            return
        with holder as name:
            free = shutil.disk_usage(name).free
            if free < needed + _SPARE_BYTES:
                self._tell(
                    Noticed(
                        f"Quality is left out: it needs {format_bytes(needed)} of disk for a while "
                        f"and {format_bytes(free)} are free."
                    )
                )
                yield None
                return
            yield Path(name)

    # --- small things

    def _bandwidth(self, prepared: Prepared, index: int) -> BandwidthRecord | None:
        facts = prepared.facts[index]
        try:
            return bandwidth_for(
                self._state,
                cpu_name(),
                clamp_threads(self._request.settings.threads),
                facts.bytes_read_per_token or facts.weights_bytes,
                free_bytes=host_memory().free_bytes,
            )
        except MemoryError:
            return None

    def _tell(self, event: Event) -> None:
        with self._telling:
            self._on_event(event)
