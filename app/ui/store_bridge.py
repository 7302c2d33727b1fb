"""The window's way to the store: work goes to the store's thread, results come back to this one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore
    from app.data.database import StoreNotice
    from app.data.writer import StoreThread

__all__ = ["StoreBridge"]

log = logging.getLogger(__name__)
T = TypeVar("T")


class StoreBridge(QObject):
    """Hands work to a `StoreThread` in order; the first work opens the store.

    Replies that an earlier run left unfinished are marked before anything else is done.

    Signals:
        notice_changed(StoreNotice | None): the store is in trouble (a full disk is met by going
            on in memory, so work does not fail of it), or is out of it again.
        unavailable(str): a sentence: the store refused to write.
    """

    notice_changed = Signal(object)
    unavailable = Signal(str)
    _arrived = Signal(object, object, object)

    def __init__(self, path: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._thread: StoreThread | None = None
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._closed = False
        self._notice: StoreNotice | None = None

    def do(
        self,
        work: Callable[[ConversationStore], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Have ``work`` done; ``done`` or ``failed`` is called on the window's thread.

        Without ``failed`` a store that can't write is told by `unavailable`, and anything else is
        logged: it is a fault of ours, and the chat goes on.
        """
        if self._closed:
            return
        if self._thread is None:
            from app.data.writer import StoreThread

            self._thread = StoreThread(self._path)
            self.do(lambda store: None if store.read_only else store.settle_last_run())
        thread = self._thread

        def whole(store: ConversationStore) -> tuple[T, StoreNotice | None]:
            return work(store), store.notice

        future = thread.submit(whole)

        def hand_over(finished: Future[tuple[T, StoreNotice | None]]) -> None:
            self._arrived.emit(finished, done, failed)

        future.add_done_callback(hand_over)

    @Slot(object, object, object)
    def _deliver(
        self,
        future: Future[Any],
        done: Callable[[Any], None] | None,
        failed: Callable[[Exception], None] | None,
    ) -> None:
        if self._closed:
            return
        try:
            result, notice = future.result()
        except CancelledError:
            return
        except Exception as error:
            from app.data.errors import StoreUnavailable

            if failed is not None:
                failed(error)
            elif isinstance(error, StoreUnavailable):
                self.unavailable.emit(str(error))
            else:
                log.exception("work of the store failed")
            return
        if notice != self._notice:
            self._notice = notice
            self.notice_changed.emit(notice)
        if done is not None:
            done(result)

    def close(self) -> None:
        """Finish what was handed in and close the store; nothing is delivered after this."""
        self._closed = True
        if self._thread is not None:
            self._thread.close()
