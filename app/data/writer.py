"""The thread that owns the store, so that the window never waits for a disk.

Work is done in the order in which it was handed in, so what is read after a write shows it.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from app.data.conversations import ConversationStore
from app.data.store_notice import StoreNotice

__all__ = ["StoreThread"]

T = TypeVar("T")
_Job: TypeAlias = tuple[Callable[[ConversationStore], Any], "Future[Any]"]


class StoreThread:
    """A `ConversationStore` in a thread of its own.

    Futures are resolved in that thread: a callback has to find its own way to the window's.

    Attributes:
        opened: resolved once the store stands, with its notice.
    """

    def __init__(
        self, path: Path | None, *, read_only: bool = False, lock_wait_s: float = 0.0
    ) -> None:
        self.opened: Future[StoreNotice | None] = Future()
        self._path = path
        self._read_only = read_only
        self._lock_wait_s = lock_wait_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._gate = threading.Lock()
        # Not joined by the interpreter but by `close`, which also runs when that was forgotten.
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def submit(self, work: Callable[[ConversationStore], T]) -> Future[T]:
        """Have ``work`` done in the store's thread after all that was handed in before.

        Raises:
            RuntimeError: the store is closed.
        """
        future: Future[T] = Future()
        with self._gate:
            if self._closed:
                raise RuntimeError("the store is closed")
            self._jobs.put((work, future))
        return future

    def close(self, timeout_s: float | None = None) -> bool:
        """Do what was handed in, close the store and return True; False if the time ran out.

        A second call waits for the first one's end.
        """
        with self._gate:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join(timeout_s)
        atexit.unregister(self.close)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            store = ConversationStore(
                self._path, read_only=self._read_only, lock_wait_s=self._lock_wait_s
            )
        except BaseException as error:
            self.opened.set_exception(error)
            self._refuse_all(error)
            return
        try:
            self.opened.set_result(store.notice)
            while (job := self._jobs.get()) is not None:
                _do(store, *job)
                del job  # a finished result must not live until the next job comes
        finally:
            store.close()

    def _refuse_all(self, error: BaseException) -> None:
        while (job := self._jobs.get()) is not None:
            _, future = job
            if future.set_running_or_notify_cancel():
                future.set_exception(error)


def _do(
    store: ConversationStore, work: Callable[[ConversationStore], T], future: Future[T]
) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work(store)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
