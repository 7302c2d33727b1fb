"""The only ways to leave the window's thread, and to slow a stream down for the eye.

`run` does work on a pool thread and hands the result back on the window's thread, where widgets
may be touched. `Throttle` lets the first call through at once and joins the ones that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from PySide6.QtCore import QObject, Qt, QThreadPool, QTimer, Signal, Slot
from shiboken6 import isValid

__all__ = ["Task", "Throttle", "end_all", "run"]

# A library that is planned and a folder that is looked through must not keep a model from loading.
_LEAST_THREADS = 4

T = TypeVar("T")
P = ParamSpec("P")

# A task is kept here until it has been delivered: it is a QObject of the window's thread and
# must not be freed by the pool thread that happens to drop the last reference.
_running: set[Task[Any]] = set()


class Task(QObject, Generic[T]):
    """Work in progress. `cancel` keeps the result from being delivered; the work runs on."""

    _finished = Signal(object, object)

    def __init__(
        self,
        done: Callable[[T], None],
        failed: Callable[[Exception], None] | None,
        parent: QObject,
    ) -> None:
        super().__init__()
        self._done = done
        self._failed = failed
        self._cancelled = False
        self._finished.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        parent.destroyed.connect(self.cancel)

    @Slot()
    def cancel(self) -> None:
        """Drop the result when it comes."""
        self._cancelled = True

    @property
    def is_cancelled(self) -> bool:
        """Tell whether nobody waits for the result."""
        return self._cancelled

    def tell(self, result: T | None, error: Exception | None) -> None:
        """Hand the outcome over; from the pool's thread."""
        try:
            self._finished.emit(result, error)
        except RuntimeError:
            # Work that the end of the program did not wait for: there is nobody left to tell.
            if isValid(self):
                raise

    @Slot(object, object)
    def _deliver(self, result: Any, error: Exception | None) -> None:
        _running.discard(self)
        if self._cancelled:
            return
        if error is None:
            self._done(result)
        elif self._failed is not None:
            self._failed(error)
        else:
            raise error


def run(
    work: Callable[[], T],
    done: Callable[[T], None],
    failed: Callable[[Exception], None] | None,
    parent: QObject,
) -> Task[T]:
    """Do ``work`` on a pool thread; call ``done`` or ``failed`` on this thread afterwards.

    Gather what the work needs before, touch widgets after. Nothing is called once ``parent`` is
    gone or the task is cancelled. Without ``failed`` an error is raised on this thread, where it
    reaches the program's handler of unexpected errors. Call on the window's thread only.
    """
    task: Task[T] = Task(done, failed, parent)
    _running.add(task)

    def call() -> None:
        if task.is_cancelled:
            task.tell(None, None)
            return
        try:
            result = work()
        except Exception as error:
            task.tell(None, error)
        else:
            task.tell(result, None)

    _pool().start(call)
    return task


def _pool() -> QThreadPool:
    """Return the pool, with room for a short task beside long ones on computers of few cores."""
    pool = QThreadPool.globalInstance()
    if pool.maxThreadCount() < _LEAST_THREADS:
        pool.setMaxThreadCount(_LEAST_THREADS)
    return pool


def end_all(timeout_ms: int = 5000) -> bool:
    """End the work of a program that ends; tell whether none of it runs any more.

    What has not begun is dropped, what runs is waited for, and no result is delivered.
    """
    for task in tuple(_running):
        task.cancel()
    ended = bool(QThreadPool.globalInstance().waitForDone(timeout_ms))
    if ended:
        # Their results are on the way to an event loop that may never run again.
        _running.clear()
    return ended


class Throttle(QObject, Generic[P]):
    """Calls a function at most every ``interval_ms``: the first call at once, then the last.

    Its timer runs only while calls keep coming.
    """

    def __init__(
        self, interval_ms: int, function: Callable[P, object], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._function = function
        self._waiting: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self._on_timeout)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the function now, or when the interval is over with the arguments given last."""
        if self._timer.isActive():
            self._waiting = (args, kwargs)
            return
        self._timer.start()
        self._function(*args, **kwargs)

    def flush(self) -> None:
        """Make a waiting call now."""
        self._timer.stop()
        self._call_waiting()

    def cancel(self) -> None:
        """Forget a waiting call; the next one goes through at once."""
        self._timer.stop()
        self._waiting = None

    @property
    def is_waiting(self) -> bool:
        """Tell whether a call waits for the interval to end."""
        return self._waiting is not None

    @Slot()
    def _on_timeout(self) -> None:
        if self._waiting is not None:
            self._timer.start()
            self._call_waiting()

    def _call_waiting(self) -> None:
        if self._waiting is None:
            return
        args, kwargs = self._waiting
        self._waiting = None
        self._function(*args, **kwargs)
