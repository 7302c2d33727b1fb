"""When text that comes in is drawn: at once, then with what follows, at a bounded share of time."""

from __future__ import annotations

import time
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.ui.transcript.entry import Entry

__all__ = ["Redraws"]

_REDRAW_MS: Final = 40
_REST: Final = 4
"""How many times as long as a drawing took the next one waits for, so that typing and scrolling
stay quick whatever the text is."""


class Redraws(QObject):
    """Gathers entries that have grown.

    Signals:
        due(list[Entry]): draw these now; how long that takes is measured.
    """

    due = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._dirty: dict[str, Entry] = {}
        self._last_s = 0.0
        self._cost_s = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._flush)

    def note(self, entry: Entry) -> None:
        """Take notice that a message has grown. Cheap enough for every token."""
        self._dirty[entry.view.id] = entry
        if self._timer.isActive():
            return
        pause_ms = max(_REDRAW_MS, self._cost_s * _REST * 1000)
        passed_ms = (time.perf_counter() - self._last_s) * 1000
        if passed_ms >= pause_ms:
            self._flush()
        else:
            self._timer.start(round(pause_ms - passed_ms))

    def forget(self, message_id: str) -> None:
        """Take notice that a message was drawn otherwise, or is gone."""
        self._dirty.pop(message_id, None)

    def clear(self) -> None:
        """Forget all."""
        self._dirty.clear()
        self._timer.stop()

    @Slot()
    def _flush(self) -> None:
        begun = time.perf_counter()
        self._timer.stop()
        dirty, self._dirty = self._dirty, {}
        self.due.emit(list(dirty.values()))
        self._last_s = time.perf_counter()
        self._cost_s = self._last_s - begun
