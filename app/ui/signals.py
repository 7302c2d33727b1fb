"""A logout or a Ctrl+C in the terminal closes the window as its button does.

Python runs signal handlers between its own instructions, and Qt's event loop has none while it
waits; a byte on a socket wakes it.
"""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Slot

__all__ = ["SignalQuitter"]


class SignalQuitter(QObject):
    """Calls ``close`` on SIGTERM, SIGINT and SIGHUP."""

    def __init__(self, close: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._close_window = close
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)
        signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None:
                signal.signal(number, _heard)
        self._notifier = QSocketNotifier(self._ours.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)

    @Slot()
    def _on_signal(self) -> None:
        with contextlib.suppress(OSError):
            self._ours.recv(64)
        self._close_window()

    def close(self) -> None:
        """Let go of the signals."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(-1)
        self._ours.close()
        self._theirs.close()


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Keep the default action, which ends the process, from happening."""
