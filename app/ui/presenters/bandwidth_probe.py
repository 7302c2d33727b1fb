"""Measures the rate of main memory in a thread, once for this computer, or when the user asks."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.state import StateFile
from app.engine.protocol import Hello
from app.machine import bandwidth_for
from app.ui import tasks
from inspector.records import BandwidthRecord

__all__ = ["BandwidthProbe"]


class BandwidthProbe(QObject):
    """One measurement at a time; while it runs nothing else should compute.

    Signals:
        known(): main memory was measured, and the figure is kept.
    """

    known = Signal()

    def __init__(self, state: StateFile, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.is_running = False

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

        def done(_record: BandwidthRecord) -> None:
            self.is_running = False
            self.known.emit()

        def failed(error: Exception) -> None:
            self.is_running = False
            if not isinstance(error, MemoryError):
                raise error

        self.is_running = True
        tasks.run(
            lambda: bandwidth_for(state, cpu, threads, size_bytes, again=again), done, failed, self
        )
