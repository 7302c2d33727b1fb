"""Lays another style sheet on the whole program, each widget once: what is seen first.

`QApplication.setStyleSheet` polishes every widget that a rule was ever looked up for, each with
all that is in it: a widget as often as it is deep. So Qt's own round is kept empty, and made here
instead: what is on screen at once, the rest in short slices between events.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

__all__ = ["Restyler", "mark_windows", "polish"]

_SLICE_S: Final = 0.004
_APART_MS: Final = 12  # so that a slice and a frame do not come in one turn
_FIRST_MS: Final = 100  # what is seen is drawn before what is hidden is begun
_STYLE_CHANGE: Final = QEvent.Type.StyleChange
_POLISHED: Final = Qt.WidgetAttribute.WA_WState_Polished


class Restyler(QObject):
    """Changes the application's style sheet without stopping the window."""

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._waiting: deque[QWidget] = deque()
        self._timer = QTimer(self)
        self._timer.setInterval(_APART_MS)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Tell whether hidden widgets still wait for the sheet."""
        return bool(self._waiting)

    def lay_on(self, sheet: str) -> None:
        """Let a sheet hold for all that is shown at once, and soon for what is hidden."""
        app = self._app
        if app.styleSheet() == sheet:
            return
        if not app.styleSheet():  # nothing was looked up yet: Qt's own round takes each once
            app.setStyleSheet(sheet)
            return
        end = time.perf_counter() + _SLICE_S
        # The style forgets all that it has looked up, and with it whom it would polish anew.
        style = app.style()
        style.unpolish(app)
        app.setStyleSheet(sheet)
        style.polish(app)
        # A widget comes after the one that it is in: it takes over its colours.
        shown: list[QWidget] = []
        self._waiting.clear()
        for widget in _all_widgets():
            if widget.isVisible():
                shown.append(widget)
            elif widget.testAttribute(_POLISHED):
                self._waiting.append(widget)
        for widget in shown:
            polish(widget)
        self._timer.setInterval(_FIRST_MS)
        self._work_until(end)

    @Slot()
    def _go_on(self) -> None:
        if self._timer.interval() != _APART_MS:
            self._timer.setInterval(_APART_MS)
        self._work_until(time.perf_counter() + _SLICE_S)

    def _work_until(self, end: float) -> None:
        while self._waiting and time.perf_counter() < end:
            widget = self._waiting.popleft()
            if isValid(widget):
                polish(widget)
        if not isValid(self._timer):  # a widget's own handler, or a collection, ended us meanwhile
            self._waiting.clear()
        elif not self._waiting:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()


def _all_widgets() -> list[QWidget]:
    """Return all widgets, each after the one that it is in."""
    found: list[QWidget] = []
    for top in QApplication.topLevelWidgets():
        if top.parentWidget() is None:  # others are found below their parents
            found.append(top)
            found.extend(top.findChildren(QWidget))
    return found


def mark_windows() -> None:
    """Have all that is on screen drawn anew, in one go.

    Where Qt hears of an opaque window first and then of what lies in it, it draws both: all twice.
    """
    for top in QApplication.topLevelWidgets():
        if top.isVisible():
            inner = (child for child in top.children() if isinstance(child, QWidget))
            for child in (*(one for one in inner if one.isVisible() and not one.isWindow()), top):
                child.update()


def polish(widget: QWidget) -> None:
    """Apply the rules anew, as Qt does it after a change of the sheet; ahead of its turn."""
    widget.style().polish(widget)
    QCoreApplication.sendEvent(widget, QEvent(_STYLE_CHANGE))
