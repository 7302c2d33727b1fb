"""Has each widget drawn in another theme out of sight, before the window is drawn in it.

What is drawn for the first time in a theme takes twice as long: rules of the style sheet are looked
up, text of other colours is laid out, pictures are made. A window's worth of it would hold up what
the user does. So frames wait for some slices of time between events, in which it is done piece by
piece; what was on screen stays there meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QTimer, Slot
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

__all__ = ["Rehearsal"]

_SLICE_S: Final = 0.004
_MOST_S: Final = 0.3
"""For so long nobody minds that a click on another theme has not been answered."""


class Rehearsal(QObject):
    """Holds all windows' frames back while what is in sight draws itself where nobody sees it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[QWidget] = deque()
        self._windows: list[QWidget] = []
        self._end_s = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Tell whether frames are held back."""
        return bool(self._windows)

    def begin(self) -> None:
        """Hold frames back from now on, if anything is in sight."""
        windows = [top for top in QApplication.topLevelWidgets() if top.isVisible()]
        self._waiting = deque(
            widget
            for window in windows
            for widget in (window, *window.findChildren(QWidget))
            if widget.window() is window and not widget.visibleRegion().isEmpty()
        )
        if not self._waiting or self._windows:
            return
        self._windows = windows
        for window in windows:
            window.installEventFilter(self)
        self._end_s = time.perf_counter() + _MOST_S
        self._timer.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep windows from drawing; what is to be drawn stays noted."""
        return event.type() == QEvent.Type.UpdateRequest and watched in self._windows

    @Slot()
    def _go_on(self) -> None:
        now = time.perf_counter()
        end = min(now + _SLICE_S, self._end_s)
        while self._waiting and now < end:
            widget = self._waiting.popleft()
            if isValid(widget) and widget.isVisible():
                _draw(widget)
            now = time.perf_counter()
        if not self._waiting or now >= self._end_s:
            self._finish()

    def _finish(self) -> None:
        if not isValid(self):  # ended by what was drawn, or by a collection in the middle of it
            return
        self._timer.stop()
        self._waiting.clear()
        windows, self._windows = self._windows, []
        for window in windows:
            if isValid(window):
                window.removeEventFilter(self)
                QCoreApplication.postEvent(window, QEvent(QEvent.Type.UpdateRequest))


def _draw(widget: QWidget) -> None:
    """Have a widget drawn, without what is in it, where nobody sees it."""
    if widget.size().isEmpty():  # by a layout since: there is nothing to draw on
        return
    ratio = widget.devicePixelRatioF()
    image = QImage(widget.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    for _ in range(_times(widget)):
        # Not `widget.render`: views of scenes have another function of that name.
        QWidget.render(widget, painter, QPoint(), QRegion(), QWidget.RenderFlag(0))
    painter.end()


def _times(widget: QWidget) -> int:
    """Return how often a widget is drawn: what keeps pictures makes one at the second time."""
    keepers = (widget, widget.parentWidget())  # a chart draws on its viewport
    return 2 if any(getattr(item, "keeps_picture", False) for item in keepers) else 1
