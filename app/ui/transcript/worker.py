"""One thread for what would hold up a frame: importing big libraries, drawing formulas."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from PySide6.QtCore import QObject, Qt, Signal

__all__ = ["Worker"]


class Worker(QObject):
    """Runs functions one after another in a thread that starts with the first.

    Signals:
        finished(key, result): on the window's thread; ``key`` is what was submitted with the
            function. A function that raises reports nothing, so it has to catch what it expects.
    """

    finished = Signal(object, object)
    _returned = Signal(object, object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._executor: ThreadPoolExecutor | None = None
        self.closed = False
        self._returned.connect(self.finished, Qt.ConnectionType.QueuedConnection)

    def submit(self, key: object, function: Callable[[], object]) -> None:
        """Run a function; nothing happens after `close`."""
        if self.closed:
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        self._executor.submit(function).add_done_callback(lambda future: self._hand(key, future))

    def _hand(self, key: object, future: Future[object]) -> None:
        """Hand a result to the window's thread; runs in the worker's."""
        if not self.closed and not future.cancelled() and future.exception() is None:
            self._returned.emit(key, future.result())

    def close(self) -> None:
        """Stop; waits for the function that is running."""
        self.closed = True
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None
