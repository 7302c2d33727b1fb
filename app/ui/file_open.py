"""macOS hands a file that was opened in Finder to the program as an event, not as an argument."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFileOpenEvent

__all__ = ["FileOpener"]


class FileOpener(QObject):
    """To be installed as an event filter of the application.

    Signals:
        asked(str): the path of a file that the system wants to be opened.
    """

    asked = Signal(str)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take file events, and leave the rest."""
        if isinstance(event, QFileOpenEvent) and event.file():
            self.asked.emit(event.file())
            return True
        return super().eventFilter(watched, event)
