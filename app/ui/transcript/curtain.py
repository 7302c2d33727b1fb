"""Keeps what stood in the view in sight until the new view is ready, for a moment at most."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QWidget

__all__ = ["Curtain"]

_MOST_MS: Final = 80


class Curtain(QObject):
    """Holds back the drawing of a viewport.

    Attribute ``is_down`` tells whether it does so now.
    """

    def __init__(self, viewport: QWidget, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewport = viewport
        self.is_down = False
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(_MOST_MS)
        self._late.timeout.connect(self.lift)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.lift)

    def drop(self) -> None:
        """Draw nothing until `lift`, or for as long as nobody minds."""
        self.is_down = True
        self._viewport.setUpdatesEnabled(False)
        self._soon.stop()
        self._late.start()

    def lift_soon(self, *, at_once: bool = False) -> None:
        """Draw in a turn of the event loop of its own, or in this one.

        Drawing and laying out a whole view would together hold up what the user does.
        """
        if at_once:
            self.lift()
        elif self.is_down:
            self._soon.start()

    @Slot()
    def lift(self) -> None:
        """Draw what stands there now."""
        self._late.stop()
        self._soon.stop()
        if self.is_down:
            self.is_down = False
            self._viewport.setUpdatesEnabled(True)
