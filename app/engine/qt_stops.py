"""Whether an engine that was told to stop gives a sign of it."""

from __future__ import annotations

import time
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

__all__ = ["StopWatch"]

_SIGN_MS: Final = 4000
_AGAIN_MS: Final = 30_000  # after somebody chose to wait


class StopWatch(QObject):
    """Waits for a sign of a request that was told to end.

    Nothing is ended by itself: one batch of a huge model may take longer than any limit.

    Signals:
        overdue(float): seconds since the order without any sign; 0.0: the engine answers again.
    """

    overdue = Signal(float)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._request: int | None = None
        self._asked_s = 0.0
        self._told = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tell)

    def asked(self, request_id: int) -> None:
        """A request was told to end, perhaps not for the first time."""
        if self._request != request_id:
            self.clear()
            self._request = request_id
            self._asked_s = time.monotonic()
        self._timer.start(_SIGN_MS)

    def heard(self, request_id: int, *, final: bool) -> None:
        """The engine said something of a request."""
        if self._request != request_id:
            return
        if final:
            self.clear()
            return
        self._asked_s = time.monotonic()
        self._timer.start(_SIGN_MS)
        self._untell()

    def wait(self) -> None:
        """Somebody wants to wait: tell it again only after a while."""
        if self._request is not None:
            self._timer.start(_AGAIN_MS)

    def clear(self) -> None:
        """Nothing is waited for any more."""
        self._request = None
        self._timer.stop()
        self._untell()

    def _untell(self) -> None:
        if self._told:
            self._told = False
            self.overdue.emit(0.0)

    @Slot()
    def _tell(self) -> None:
        self._told = True
        self.overdue.emit(time.monotonic() - self._asked_s)
