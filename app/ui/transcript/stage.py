"""Puts the rows near the view on the screen, measures them, and lets go of the others.

Work per call is bounded: what is in view is done at once, a margin around it between events, and
a long message is parsed in steps.
"""

from __future__ import annotations

import time
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
_OPEN_BUDGET_S: Final = 0.010
_IDLE_BUDGET_S: Final = 0.004


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
        worked(): rows near the view were measured between events; lay out again.
    """

    worked = Signal()

    def __init__(self, host: RowHost, viewport: QWidget, flow: Flow, parent: QObject) -> None:
        super().__init__(parent)
        self._viewport = viewport
        self._flow = flow
        self.pool = WidgetPool(host, viewport)
        self.column = QRect(0, 0, 100, 100)
        self.position = 0
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

    def lay_out(self) -> None:
        """Measure what is in view and put it in its place."""
        height = self._viewport.height()
        unfinished = False
        end = time.perf_counter() + _OPEN_BUDGET_S
        for _ in range(40):
            position = self._flow.position(height)
            again, unfinished = self._measure(position, position + height, end)
            if not again:
                break
        self.position = self._flow.position(height)
        self._place(height)
        self._flow.keep_place(height)
        self._release_far(height)
        if unfinished or self._needs_ahead(height):
            self._idle.start()

    def _measure(self, top: int, bottom: int, end: float) -> tuple[bool, bool]:
        """Open and measure between two heights.

        Returns whether heights have changed (so that other rows may be in view now), and
        whether something could not be opened in time.
        """
        unfinished = False
        reopened = False
        touched: dict[str, Entry] = {}
        for placed in self._flow.between(top, bottom):
            entry, row = placed.entry, placed.row
            if row.kind is RowKind.PENDING:
                # At least one step is made however late it is, so that a view full of long
                # messages gets on.
                gone = entry.open(max(end - time.perf_counter(), 0.0))
                if gone is None:
                    unfinished = True
                    continue
                self.changed(entry, [], gone)
                reopened = True
                break
            if row.measured_width != self.column.width():
                before = row.height
                self._measure_row(entry, row)
                if row.height != before:
                    touched[entry.view.id] = entry
        for entry in touched.values():
            self._flow.resized(entry)
        return reopened or bool(touched), unfinished

    def _measure_row(self, entry: Entry, row: Row) -> None:
        widget = self.pool.acquire(row, entry)
        row.height = widget.height_at(self.column.width())
        row.measured_width = self.column.width()

    def _place(self, height: int) -> None:
        """Move the widgets of rows in view to where they belong, hide the others."""
        top = self.position
        shown: set[Row] = set()
        for placed in self._flow.between(top, top + height):
            if placed.row.kind is RowKind.PENDING:
                continue
            row = placed.row
            fresh = row.widget is None
            widget = self.pool.acquire(row, placed.entry)
            if fresh:
                widget.height_at(self.column.width())
            shown.add(row)
            self._put(widget.widget(), placed)
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

    def _ahead(self, height: int) -> list[Placed]:
        """Return the rows near the view that are not measured yet."""
        top = self.position
        width = self.column.width()
        return [
            placed
            for placed in self._flow.between(top - _AHEAD, top + height + _AHEAD)
            if placed.row.measured_width != width
        ]

    def _needs_ahead(self, height: int) -> bool:
        return bool(self._ahead(height))

    @Slot()
    def _on_idle(self) -> None:
        """Open and measure near the view, a little at a time."""
        height = self._viewport.height()
        end = time.perf_counter() + _IDLE_BUDGET_S
        self._flow.keep_place(height)
        work = self._ahead(height)
        if not work:
            self._idle.stop()
            return
        for placed in work:
            entry, row = placed.entry, placed.row
            if row.kind is RowKind.PENDING:
                gone = entry.open(max(end - time.perf_counter(), 0.0))
                if gone is not None:
                    self.changed(entry, [], gone)
            elif row in entry.rows:
                self._measure_row(entry, row)
                self._flow.resized(entry)
            if time.perf_counter() >= end:
                break
        self.worked.emit()

    def stop(self) -> None:
        """Stop working between events."""
        self._idle.stop()
