"""Draws a window's frames in a turn of the event loop of their own.

Qt draws as soon as what asked for it is done, in the same turn: keys and clicks then wait for the
work and the drawing together. Here they are looked at in between.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QTimer, Slot
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

__all__ = ["Frames"]


class Frames(QTimer):
    """Puts a window's drawing off to the next turn; the window asks it in its ``event``."""

    def __init__(self, window: QWidget) -> None:
        super().__init__()  # a child would be an event to the window already
        self._window = window
        self._is_due = False
        self.setSingleShot(True)
        self.setInterval(0)
        self.timeout.connect(self._draw)

    def holds(self, event: QEvent) -> bool:
        """Tell whether an event asks for a frame that is to wait for its turn."""
        if self._is_due or event.type() != QEvent.Type.UpdateRequest:
            return False
        self.start()
        return True

    @Slot()
    def _draw(self) -> None:
        if not isValid(self._window):
            return
        self._is_due = True
        try:
            QCoreApplication.sendEvent(self._window, QEvent(QEvent.Type.UpdateRequest))
        finally:
            self._is_due = False
