"""Measures the rate of main memory in a thread, once for this computer, or when the user asks.

What another page or process measured is noticed within seconds: one computer has one figure.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal, Slot

from app.data.bandwidths import bandwidths_stamp
from app.data.state import StateFile
from app.engine.protocol import Hello
from app.machine import bandwidth_for
from app.ui import tasks
from app.ui.shell.views import Severity
from gguf_tools.units import format_bandwidth
from inspector.records import BandwidthRecord

__all__ = ["BandwidthProbe", "outcome_words"]

_LOOK_MS = 2000


def outcome_words(record: BandwidthRecord | None) -> tuple[str, Severity]:
    """Return what a measurement that the user asked for came to, None where there was no room."""
    if record is None:
        return _tr("There is no room to measure the memory's bandwidth."), "warning"
    rate = format_bandwidth(record.bytes_per_s)
    if not record.steady:
        return _tr(
            "Still busy: other programs slow the measurement of the memory down. The best figure "
            "so far is {0}; measure again when it is quiet."
        ).format(rate), "warning"
    if record.cached:
        text = _tr(
            "Measured: {0} for a model of this size, partly from the processor's cache; main "
            "memory {1}."
        )
        return text.format(rate, format_bandwidth(record.large_bytes_per_s)), "info"
    return _tr("Measured: memory is read at {0}.").format(rate), "info"


def _tr(text: str) -> str:
    return QCoreApplication.translate("Bandwidth", text)


class BandwidthProbe(QObject):
    """One measurement at a time; while it runs nothing else should compute.

    Signals:
        began(): a measurement runs.
        known(): something about memory is known better, and kept: measured here or elsewhere.
        ended(BandwidthRecord or None): a measurement is through, None where there was no room.
    """

    began = Signal()
    known = Signal()
    ended = Signal(object)

    def __init__(self, state: StateFile, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.is_running = False
        self._seen = bandwidths_stamp(state)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    @Slot()
    def _look(self) -> None:
        """Tell of what was measured meanwhile, by whomever; our own run tells by itself."""
        now = bandwidths_stamp(self._state)
        if now != self._seen and not self.is_running:
            self._seen = now
            self.known.emit()

    def measure(self, hello: Hello, threads: int, size_bytes: int, *, again: bool) -> None:
        """Measure; a run that is under way goes on.

        Args:
            hello: of the engine, which knows the processor.
            threads: that read.
            size_bytes: what a token reads of the model: small ones stay in the last cache.
            again: also if a figure is kept.
        """
        if self.is_running:
            return
        state, cpu = self._state, hello.cpu

        def done(record: BandwidthRecord) -> None:
            self.is_running = False
            self._seen = bandwidths_stamp(state)
            self.known.emit()
            self.ended.emit(record)

        def failed(error: Exception) -> None:
            self.is_running = False
            self.ended.emit(None)
            if not isinstance(error, MemoryError):
                raise error

        self.is_running = True
        self.began.emit()
        tasks.run(
            lambda: bandwidth_for(state, cpu, threads, size_bytes, again=again), done, failed, self
        )
