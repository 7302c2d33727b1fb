"""Work on the window's thread in slices, so that a slider and its bars stay smooth."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

__all__ = ["Slices"]

_SLICE_S: Final = 0.004


class Slices(QObject):
    """Runs a generator a few milliseconds at a time, between the window's events.

    Signals:
        finished(): the generator came to its end.
    """

    finished = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work: Generator[None, None, None] | None = None
        self.longest_s = 0.0  # the longest slice so far, for tests and benchmarks
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def is_running(self) -> bool:
        """Tell whether work is left."""
        return self._work is not None

    def start(self, work: Generator[None, None, None]) -> None:
        """Begin; what ran before is dropped."""
        self.cancel()
        self._work = work
        self._timer.start()

    @Slot()
    def cancel(self) -> None:
        """Drop what is left."""
        self._timer.stop()
        if self._work is not None:
            self._work.close()
            self._work = None

    @Slot()
    def _on_timeout(self) -> None:
        begun = time.perf_counter()
        work = self._work
        try:
            while work is not None and work is self._work:
                next(work)
                if time.perf_counter() - begun >= _SLICE_S:
                    break
        except StopIteration:
            if work is self._work:
                self._timer.stop()
                self._work = None
                self.finished.emit()
        except Exception:
            self._timer.stop()
            self._work = None
            raise
        finally:
            self.longest_s = max(self.longest_s, time.perf_counter() - begun)
