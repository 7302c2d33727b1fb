"""Puts the rows near the view on the screen, measures them, and lets go of the others.

Work per call is bounded: what is in view is done within a part of a frame, the rest of it and a
margin around it between events, and a long message is parsed in steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Final

from PySide6.QtCore import QObject, QRect, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.ui.transcript.entry import Entry
from app.ui.transcript.flow import Flow, Placed
from app.ui.transcript.host import RowHost, RowWidget
from app.ui.transcript.pool import WidgetPool
from app.ui.transcript.rows import Row, RowKind
from app.ui.transcript.style import Style

__all__ = ["Stage", "column_for"]

_SIDE: Final = 60
_NARROW_SIDE: Final = 16
_AHEAD: Final = 700
_KEEP: Final = 1400
_VIEW_BUDGET_S: Final = 0.005
_IDLE_BUDGET_S: Final = 0.004
_APART_S: Final = 0.004
"""Calls that follow each other sooner are of one turn of the event loop, and share its time: a
scroll bar that appears resizes the view that was just filled."""
_QUICK_S: Final = 0.002
_MOST_STEPS: Final = 1000
_SETTLED_MS: Final = 60


def column_for(width: int, wanted: int, style: Style) -> QRect:
    """Return where text stands in a view of a width: centred, with air beside it.

    ``wanted`` is the widest column in design pixels. A narrow view gives up its air first.
    """
    comfortable = style.px(440)
    side = style.px(_SIDE)
    if width - 2 * side < comfortable:
        side = max(style.px(_NARROW_SIDE), min(side, (width - comfortable) // 2))
    column = max(min(width - 2 * side, style.px(wanted)), 120)
    return QRect(max((width - column) // 2, 0), 0, column, 0)


class Stage(QObject):
    """Keeps widgets where the flow says they belong.

    Signals:
        worked(): lay out again: rows were measured between events, or some in view wait for it.

    Attributes:
        in_view_done: whether everything in view is on the screen.
        was_quick: whether the last laying out took next to no time.
    """

    worked = Signal()

    def __init__(
        self,
        host: RowHost,
        viewport: QWidget,
        flow: Flow,
        parent: QObject,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self.in_view_done = self.was_quick = True
        self._end_s = self._rested_s = 0.0
        self._viewport = viewport
        self._flow = flow
        self.pool = WidgetPool(host, viewport)
        self.column = QRect(0, 0, 100, 100)
        self.position = 0
        self._pause_ms = 0
        self._idle = QTimer(self)
        self._idle.setInterval(0)
        self._idle.timeout.connect(self._on_idle)

    def changed(self, entry: Entry, changed: list[Row], gone: list[Row]) -> None:
        """Show rows that have new content, let go of rows that are gone."""
        for row in gone:
            self.pool.release(row)
        for row in changed:
            row.invalidate()
            widget: RowWidget | None = row.widget
            if widget is not None:
                widget.bind(row, entry)
        self._flow.resized(entry)

    def set_column(self, column: QRect) -> None:
        """Lay out in another column; what is beside the view waits until the width has settled."""
        if column.width() != self.column.width():
            self.wait()
        self.column = column

    def wait(self) -> None:
        """Leave what is beside the view for a moment: the window has more to do than that."""
        self._pause_ms = _SETTLED_MS

    def begin_turn(self) -> None:
        """Let what is done from now on count as time of the next `lay_out`."""
        self._end_s = self._clock() + _VIEW_BUDGET_S
        self._rested_s = inf

    def lay_out(self) -> None:
        """Bring rows in view to the screen: as many as fit into a part of a frame.

        What is left follows between events; `in_view_done` tells whether something is.
        """
        height = self._viewport.height()
        begun = self._clock()
        if begun >= self._rested_s:
            self._end_s = begun + _VIEW_BUDGET_S
        self.in_view_done = self._fill(height, self._end_s)
        self.position = self._flow.position(height)
        self._place(height)
        self._flow.keep_place(height)
        self._release_far(height)
        if not self.in_view_done:
            self._idle.start(0)
        elif self._next_ahead(height) is not None:
            self._idle.start(self._pause_ms)
        ended = self._clock()
        self._rested_s = ended + _APART_S
        self.was_quick = ended - begun < _QUICK_S

    def bring(self, entry: Entry, row: Row) -> None:
        """Put one row on the screen now, whatever the time; the flow must have it in view."""
        before = row.height
        if row.widget is None or row.measured_width != self.column.width():
            self._measure_row(entry, row)
        if row.height != before:
            self._flow.resized(entry)
        self.position = self._flow.position(self._viewport.height())
        index = self._flow.index_of(entry.view.id) or 0
        self._put(row.widget.widget(), Placed(index, entry, row, self._flow.top_of(entry, row)))

    def _fill(self, height: int, end: float) -> bool:
        """Open, measure and realise rows in view until a time; tell whether all are.

        At least one step is made however late it is. Heights change with each step, so other rows
        may be in view after it.
        """
        for _ in range(_MOST_STEPS):
            position = self._flow.position(height)
            placed = self._next_in(position, position + height)
            if placed is None:
                return True
            self._work_on(placed, end)
            if self._clock() >= end:
                return self._next_in(position, position + height) is None
        return False

    def _next_in(self, top: int, bottom: int) -> Placed | None:
        """Return the row between two heights that is the next to be worked on, if any is."""
        found = [
            placed
            for placed in self._flow.between(top, bottom)
            if placed.row.widget is None or placed.row.measured_width != self.column.width()
        ]
        if not found:
            return None
        # At the end of a conversation its last words are read first.
        return found[-1] if self._flow.follow else found[0]

    def _work_on(self, placed: Placed, end: float) -> None:
        """Open a message, as far as it can be until a time, or measure a row."""
        entry, row = placed.entry, placed.row
        if row.kind is RowKind.PENDING:
            gone = entry.open(lambda: self._clock() >= end)
            if gone is not None:
                self.changed(entry, [], gone)
            return
        before = row.height
        self._measure_row(entry, row)
        if row.height != before:
            self._flow.resized(entry)

    def _measure_row(self, entry: Entry, row: Row) -> None:
        widget = self.pool.acquire(row, entry)
        row.height = widget.height_at(self.column.width())
        row.measured_width = self.column.width()

    def _place(self, height: int) -> None:
        """Move the widgets of rows in view to where they belong, hide the others."""
        top = self.position
        shown: set[Row] = set()
        for placed in self._flow.between(top, top + height):
            row = placed.row
            if row.widget is not None:  # else its turn has not come yet
                shown.add(row)
                self._put(row.widget.widget(), placed)
        for row in self.pool.used:
            if row not in shown:
                row.widget.widget().hide()

    def _put(self, widget: QWidget, placed: Placed) -> None:
        box = QRect(
            self.column.left(), placed.top - self.position, self.column.width(), placed.row.height
        )
        if widget.geometry() != box:
            widget.setGeometry(box)
        if widget.isHidden():
            widget.show()

    def _release_far(self, height: int) -> None:
        """Let go of widgets far from the view, but not of the one with the keyboard."""
        near = {
            placed.row
            for placed in self._flow.between(self.position - _KEEP, self.position + height + _KEEP)
        }
        for row in list(self.pool.used):
            if row not in near and not self._has_focus(row):
                self.pool.release(row)

    @staticmethod
    def _has_focus(row: Row) -> bool:
        widget: QWidget = row.widget.widget()
        focus = widget.window().focusWidget() if widget.window() is not None else None
        return focus is not None and (focus is widget or widget.isAncestorOf(focus))

    def _next_ahead(self, height: int) -> Placed | None:
        """Return a row near the view that is not measured yet, the nearest below or else above."""
        top = self.position
        width = self.column.width()
        above: Placed | None = None
        for placed in self._flow.between(top - _AHEAD, top + height + _AHEAD):
            if placed.row.measured_width != width:
                if placed.bottom > top:
                    return placed
                above = placed
        return above

    @Slot()
    def _on_idle(self) -> None:
        """Go on with what is in view, then open and measure near it, a little at a time."""
        height = self._viewport.height()
        if not self.in_view_done:
            self.begin_turn()
            self.worked.emit()  # which lays out
            return
        self._pause_ms = 0
        self._idle.setInterval(0)
        end = self._clock() + _IDLE_BUDGET_S
        self._flow.keep_place(height)
        while (placed := self._next_ahead(height)) is not None:
            self._work_on(placed, end)
            if self._clock() >= end:
                break
        else:
            self._idle.stop()
        self._end_s, self._rested_s = end, inf  # the time of this turn is spent
        self.worked.emit()
