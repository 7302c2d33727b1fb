"""One run of a comparison: what its thread tells, brought to the window's thread and summed up."""

from __future__ import annotations

from typing import Final

import msgspec
from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.compare.engine import OpenClient
from app.compare.events import Began, Event, Noticed, PhaseChanged, Piece, VariantFinished
from app.compare.request import CompareRequest
from app.compare.runner import Comparison
from app.data.state import StateFile
from app.paths import Paths
from app.ui import tasks
from app.ui.presenters.compare_views import phase_words
from inspector.compare.records import ComparisonRecord

__all__ = ["CompareRun"]

# Shares of a variant's run, for one bar over all: loading, answering, measuring, quality.
_WEIGHTS: Final = {
    "loading": 0.0,
    "reading": 0.15,
    "writing": 0.2,
    "measuring": 0.5,
    "scoring": 0.7,
}
_ENDED: Final = frozenset({"waiting", "done", "failed", "cancelled"})


class CompareRun(QObject):
    """Runs one comparison at a time.

    Signals:
        record_changed(): `record` is another: it began, or a variant is done.
        phase_changed(bool): a variant does something else (True), or is further with it.
        piece_arrived(int, str): text of a variant's answer.
        noticed(str): a sentence.
        finished(object): the record, None if nothing could be compared, as `failed` told.
        failed(Exception)
    """

    record_changed = Signal()
    phase_changed = Signal(bool)
    piece_arrived = Signal(int, str)
    noticed = Signal(str)
    finished = Signal(object)
    failed = Signal(object)
    told = Signal(object)

    def __init__(self, state: StateFile, paths: Paths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._paths = paths
        self._comparison: Comparison | None = None
        self.record: ComparisonRecord | None = None
        self._count = 1  # of variants that run
        self.phases: dict[int, PhaseChanged] = {}
        self.answers: dict[int, str] = {}
        self.told.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @property
    def is_running(self) -> bool:
        """Tell whether variants are being compared."""
        return self._comparison is not None

    def start(self, request: CompareRequest, open_client: OpenClient) -> None:
        """Begin; a run that is under way must have ended."""
        assert self._comparison is None
        self.clear()
        comparison = Comparison(
            request,
            open_client,
            self._state,
            self.told.emit,
            scratch=self._paths.cache / "compare",
        )
        self._comparison = comparison
        tasks.run(comparison.run, self._on_done, self._on_failed, self)

    def stop(self) -> None:
        """End it; what is known so far stays."""
        if self._comparison is not None:
            self._comparison.cancel()

    def disturb(self) -> None:
        """Note that the chat writes: the variants that run now are marked so."""
        if self._comparison is not None:
            self._comparison.disturb()

    def clear(self) -> None:
        """Forget what an earlier run told."""
        self.phases, self.answers = {}, {}

    # --- how far it is

    @property
    def doing(self) -> str:
        """What is done now, in words."""
        if self.record is None:
            return ""
        active = [
            f"{self.record.variants[index].label}: {phase_words(event)}"
            for index, event in sorted(self.phases.items())
            if event.phase not in _ENDED
        ]
        return active[-1] if active else ""

    @property
    def progress(self) -> float:
        """The share of the run that is done, 0 to 1, from the phases of all variants."""
        if self.record is None:
            return 0.0
        total = 0.0
        for event in self.phases.values():
            if event.phase in {"done", "failed", "cancelled", "unloading"}:
                total += 1.0
                continue
            start = _WEIGHTS.get(event.phase, 0.0)
            later = [value for value in _WEIGHTS.values() if value > start] or [1.0]
            total += start + (min(later) - start) * (event.fraction or 0.0)
        return min(total / self._count, 1.0)

    # --- what the thread tells

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if self._comparison is None:
            return
        if isinstance(event, Began):
            self.record = event.record
            self._count = max(len(event.order), 1)
            self.record_changed.emit()
        elif isinstance(event, Piece):
            self.answers[event.index] = self.answers.get(event.index, "") + event.answer
            if event.answer:
                self.piece_arrived.emit(event.index, event.answer)
        elif isinstance(event, PhaseChanged):
            before = self.phases.get(event.index)
            self.phases[event.index] = event
            if before is not None and before.phase == "writing" and event.phase == "reading":
                self.answers.pop(event.index, None)  # it begins again in compatibility mode
            self.phase_changed.emit(before is None or before.phase != event.phase)
        elif isinstance(event, VariantFinished):
            if self.record is not None:
                variants = list(self.record.variants)
                variants[event.index] = event.variant
                self.record = msgspec.structs.replace(self.record, variants=tuple(variants))
                self.record_changed.emit()
        elif isinstance(event, Noticed):
            self.noticed.emit(event.text)

    def _on_done(self, record: ComparisonRecord) -> None:
        self._comparison = None
        self.record = record
        self.finished.emit(record)

    def _on_failed(self, error: Exception) -> None:
        self._comparison = None
        self.failed.emit(error)
