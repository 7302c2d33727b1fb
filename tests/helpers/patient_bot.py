"""Waiting in tests of the window: for what is to come, and until nothing comes any more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from pytestqt.qtbot import QtBot

from tests.helpers.patience import PATIENCE_MS, PATIENCE_S

__all__ = ["PatientBot", "until_idle"]


class PatientBot(QtBot):
    """Waits as long as that wherever a test names no time of its own, in milliseconds."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE_MS) -> None:
        """Let events run until something is so."""
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE_MS, **options: Any) -> Any:
        """Let events run until a signal comes."""
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitActive(self, widget: Any, *, timeout: int = PATIENCE_MS) -> Any:
        """Let events run until a window has the keyboard."""
        return super().waitActive(widget, timeout=timeout)

    def waitExposed(self, widget: Any, *, timeout: int = PATIENCE_MS) -> Any:
        """Let events run until a window is on the screen."""
        return super().waitExposed(widget, timeout=timeout)


class _Busy(QObject):
    """Counts what costs time in windows that nobody touches, by kind and widget."""

    _KINDS: Final = frozenset(
        {
            QEvent.Type.LayoutRequest,
            QEvent.Type.Paint,
            QEvent.Type.UpdateRequest,
            QEvent.Type.Resize,
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take an event down."""
        if event.type() in self._KINDS:
            name = watched.objectName() or type(watched).__name__
            self.seen[f"{event.type().name} {name}"] += 1
        return False


def until_idle(qtbot: QtBot, for_ms: int = 50) -> None:
    """Let events run until nothing is laid out or drawn for a while.

    On a busy machine what was posted comes late; what goes on for ever is never idle.
    """
    app = QCoreApplication.instance()
    assert app is not None
    end_s = time.monotonic() + PATIENCE_S
    while True:
        busy = _Busy()
        app.installEventFilter(busy)
        try:
            qtbot.wait(for_ms)
        finally:
            app.removeEventFilter(busy)
        if not busy.seen:
            return
        assert time.monotonic() < end_s, f"never idle: {busy.seen}"
