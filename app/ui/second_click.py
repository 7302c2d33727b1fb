"""The second click of a double click, where the first one put another button below the pointer."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer
from PySide6.QtWidgets import QApplication

__all__ = ["SecondClick"]


class SecondClick:
    """Tells a click that was not meant for what it meets.

    Many people press every button twice. Where Run turns into Stop the second click would take
    back what the first one began. Buttons alone ask this: a key is not pressed twice by habit.
    """

    def __init__(self) -> None:
        self._since = QElapsedTimer()

    def begin(self) -> None:
        """Another button has just come below the pointer, or will with a click just made."""
        self._since.start()

    @property
    def is_due(self) -> bool:
        """Tell whether a click now is the second one of a double click."""
        interval_ms = QApplication.doubleClickInterval()
        return self._since.isValid() and self._since.elapsed() < interval_ms
