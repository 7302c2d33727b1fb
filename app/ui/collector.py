"""Python's collector of reference cycles, held to moments between frames.

By itself it runs wherever an object happens to be made, in any thread, where it destroys widgets
that only the window's thread may touch; and a full run looks at everything that lives: with this
program's modules that stops the window for as long as ten frames.
Here it runs from a timer of the window's thread, mostly over what is young. A full run that took
long leaves what it found alive out of the next one (`gc.freeze`); while nobody looks, when the
program is not in front, everything is gone through again.

Threads that compute take shorter turns, too: by default one keeps the interpreter for 5 ms each
time, and a frame that asks for it ten times is late.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication

__all__ = ["Collector"]

_BUSY_MS: Final = 100
_QUIET_MS: Final = 500  # a program that does nothing is left alone
_YOUNG: Final = 2000
"""New objects that make a look worth while; a few thousand take about a millisecond."""
_BURST: Final = 20_000
"""New objects that are data which was read: a chat of thousands, a scan. It has no cycles, and to
look at all of it would take as long as a frame."""
_MIDDLE: Final = 10
_OLD: Final = 10
_LONG_S: Final = 0.004
_APART_S: Final = 60.0
_AGAIN_S: Final = 600.0
_TURN_S: Final = 0.001


class Collector(QObject):
    """Collects cycles in place of the interpreter, from its making until `close`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._turn_s = sys.getswitchinterval()
        sys.setswitchinterval(_TURN_S)
        self._whole_s = time.monotonic()
        self._timer = QTimer(self)
        self._timer.setInterval(_QUIET_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    @Slot()
    def keep(self) -> None:
        """Take all that lives now for good: what modules made is never garbage."""
        gc.freeze()

    def close(self) -> None:
        """Give the work back to the interpreter if it had it before."""
        if self._timer.isActive():
            self._timer.stop()
            sys.setswitchinterval(self._turn_s)
            gc.unfreeze()
            if self._was_enabled:
                gc.enable()

    @Slot()
    def _look(self) -> None:
        young, middle, old = gc.get_count()
        pause_ms = _BUSY_MS if young > _YOUNG else _QUIET_MS
        if pause_ms != self._timer.interval():
            self._timer.setInterval(pause_ms)
        now = time.monotonic()
        away = QGuiApplication.applicationState() != Qt.ApplicationState.ApplicationActive
        if away and now - self._whole_s > _AGAIN_S:
            self._whole_s = now
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        elif young > _BURST:
            gc.freeze()
            gc.collect(0)  # of nothing, which sets the count back
        elif old > _OLD and now - self._whole_s > _APART_S:
            self._whole_s = now
            gc.collect()
            if time.monotonic() - now > _LONG_S:
                gc.freeze()
        elif middle > _MIDDLE:
            if len(gc.get_objects(generation=1)) > _BURST:
                gc.freeze()  # the same data, come in smaller parts
            else:
                gc.collect(1)
        elif young > _YOUNG:
            gc.collect(0)
