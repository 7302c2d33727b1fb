"""The message under the mouse and the one the keyboard is at: marks, steps, keys, controls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.transcript.controls import controls_for
from app.ui.transcript.entry import Entry
from app.ui.transcript.rows import RowKind

if TYPE_CHECKING:
    from app.ui.transcript.flow import Flow
    from app.ui.transcript.stage import Stage
    from app.ui.transcript.view import Transcript

__all__ = ["Navigator", "is_typing"]

_NAMED_KEYS: Final = {
    int(Qt.Key.Key_Left): "Left",
    int(Qt.Key.Key_Right): "Right",
}
_ENTER: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_WITH_CONTROLS: Final = (RowKind.META, RowKind.BUBBLE)


def is_typing(event: QKeyEvent) -> bool:
    """Tell whether a key writes text; space does not, it unfolds."""
    commands = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    held = event.modifiers() & (commands | Qt.KeyboardModifier.MetaModifier)
    # Both together are AltGr on some systems, which writes text too.
    if held not in (Qt.KeyboardModifier.NoModifier, commands):
        return False
    return event.text().isprintable() and bool(event.text().strip())


class Navigator:
    """Moves between messages for the mouse and the keyboard.

    Attributes:
        current: id of the message the keyboard is at, "" for none.
    """

    def __init__(self, transcript: Transcript, flow: Flow, stage: Stage) -> None:
        self._transcript = transcript
        self._flow = flow
        self._stage = stage
        self._hovered = ""
        self._mark = QRect()  # where the chosen message is marked, in the view
        self.current = ""

    def reset(self) -> None:
        """Forget both messages."""
        self._hovered = self.current = ""

    def set_current(self, message_id: str) -> None:
        """Put the keyboard at a message."""
        if message_id != self.current:
            self.current = message_id
            self.refresh()

    def refresh(self) -> None:
        """Show the mark and the controls of both messages."""
        self.show_controls()
        self.move_mark()

    def show_controls(self) -> None:
        """Show the controls of the message under the mouse and of the one with the keyboard."""
        focused = self.current if self._has_focus() else ""
        for row, entry in self._stage.pool.used.items():
            if row.kind in _WITH_CONTROLS:
                here = entry.view.id
                row.widget.set_active(here in (self._hovered, focused), tab=here == focused)

    def _has_focus(self) -> bool:
        if self._transcript.hasFocus():
            return True
        focus = self._transcript.window().focusWidget()
        return focus is not None and self._transcript.isAncestorOf(focus)

    def hover(self, y: int | None) -> None:
        """Take notice that the mouse is at a height of the view, or has left."""
        found = ""
        if y is not None:
            at = y + self._stage.position
            placed = next(iter(self._flow.between(at, at + 1)), None)
            found = placed.entry.view.id if placed is not None else ""
        if found != self._hovered:
            self._hovered = found
            self.show_controls()

    def focus_moved(self, now: QWidget | None) -> None:
        """Follow the keyboard's focus into a message."""
        viewport = self._transcript.viewport()
        if now is None or not viewport.isAncestorOf(now):
            return
        for row, entry in self._stage.pool.used.items():
            widget: QWidget = row.widget.widget()
            if widget is now or widget.isAncestorOf(now):
                self.set_current(entry.view.id)
                return

    def arrive(self, *, by_mouse: bool = False) -> None:
        """Choose a message when the keyboard comes in: the clicked one or the last in view."""
        if by_mouse and self._hovered:
            self.current = self._hovered
        if self._flow.find(self.current) is None:
            top = self._stage.position
            seen = list(self._flow.between(top, top + self._transcript.viewport().height()))
            self.current = seen[-1].entry.view.id if seen else ""
        self.refresh()

    def _step(self, by: int) -> None:
        last = len(self._flow.entries) - 1
        if last < 0 or self._scroll_within(by):
            return
        index = self._flow.index_of(self.current)
        index = last if index is None else min(max(index + by, 0), last)
        entry = self._flow.entries[index]
        self._reveal(entry, from_below=by < 0)
        self.current = entry.view.id
        # The keyboard leaves a button or text of the message it was at.
        self._transcript.setFocus()
        self.refresh()

    def _scroll_within(self, by: int) -> bool:
        """Scroll on in a message that is higher than the view; return whether that was done."""
        entry = self._flow.find(self.current)
        height = self._transcript.viewport().height()
        if entry is None or entry.height(self._flow.scale) <= height:
            return False
        top = self._flow.top_of(entry) - self._stage.position
        bottom = top + entry.height(self._flow.scale)
        bar = self._transcript.verticalScrollBar()
        if (by > 0 and 0 < bottom - height < bottom) or (by < 0 and top < 0 and bottom > 0):
            bar.setValue(bar.value() + by * min(3 * bar.singleStep(), height // 2))
            return True
        return False

    def _reveal(self, entry: Entry, *, from_below: bool) -> None:
        """Scroll as little as is needed to see a message, its end when coming from below."""
        height = self._transcript.viewport().height()
        top = self._flow.top_of(entry) - self._stage.position
        if top >= 0 and top + entry.height(self._flow.scale) <= height:
            return
        margin = self._transcript.style_in_force.px(22)
        if entry is self._flow.entries[-1]:
            self._transcript.scroll_to_end()
            return
        if from_below:
            row = entry.rows[-1]
            self._flow.scroll_to_row(entry, row, height - margin, share=1.0)
        else:
            self._flow.scroll_to_row(entry, entry.rows[0], margin)
        self._transcript.lay_out()

    def press(self, event: QKeyEvent) -> bool:
        """Move or act by a key; return whether it meant something.

        No key that writes text acts, and none that destroys: that is for menu and buttons.
        """
        key = event.key()
        bar = self._transcript.verticalScrollBar()
        if event.matches(QKeySequence.StandardKey.Copy):
            return self._act("copy")
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if held not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
            return False
        match key:
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                self._step(-1 if key == Qt.Key.Key_Up else 1)
            case Qt.Key.Key_Home:
                bar.setValue(0)
            case Qt.Key.Key_End:
                self._transcript.scroll_to_end()
            case Qt.Key.Key_PageUp:
                bar.setValue(bar.value() - bar.pageStep())
            case Qt.Key.Key_PageDown:
                bar.setValue(bar.value() + bar.pageStep())
            case _:
                return self._press_for_message(key, shift=bool(held))
        return True

    def _press_for_message(self, key: int, *, shift: bool) -> bool:
        entry = self._flow.find(self.current)
        if entry is None:
            return False
        message = entry.view.id
        if key in _ENTER and not shift:
            focus = self._transcript.window().focusWidget()
            if isinstance(focus, QAbstractButton) and self._transcript.isAncestorOf(focus):
                focus.click()
                return True
        if key in (*_ENTER, Qt.Key.Key_Menu) or (shift and key == Qt.Key.Key_F10):
            self._transcript.show_menu(message, self._menu_place(entry), None)
            return True
        if shift:
            return False
        if key == Qt.Key.Key_Space and entry.view.reasoning:
            return self._act("toggle_reasoning")
        name = _NAMED_KEYS.get(key)
        for control in controls_for(entry.view):
            if control.key == name:
                return self._act(control.kind)
        return False

    def _act(self, kind: str) -> bool:
        if self._flow.find(self.current) is None:
            return False
        self._transcript.act(kind, self.current)
        return True

    def _menu_place(self, entry: Entry) -> QPoint:
        viewport = self._transcript.viewport()
        y = min(max(self._flow.top_of(entry) - self._stage.position, 0), viewport.height())
        return viewport.mapToGlobal(QPoint(self._stage.column.left(), y))

    def move_mark(self) -> None:
        """Draw the mark where it belongs now, and nothing but it."""
        before, self._mark = self._mark, self._mark_box()
        if self._mark != before:
            for box in (before, self._mark):
                self._transcript.viewport().update(box.adjusted(-1, -1, 1, 1))

    def _mark_box(self) -> QRect:
        entry = self._flow.find(self.current)
        if entry is None or not self._transcript.hasFocus():
            return QRect()
        px = self._transcript.style_in_force.px
        top = self._flow.top_of(entry) - self._stage.position
        left = self._stage.column.left() - px(14)
        return QRect(left, top, px(3), entry.height(self._flow.scale))

    def paint(self) -> None:
        """Mark the message that the keyboard is at."""
        self._mark = self._mark_box()
        if self._mark.isNull():
            return
        painter = QPainter(self._transcript.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._transcript.style_in_force.colour("accent"))
        painter.drawRoundedRect(QRectF(self._mark), 1.5, 1.5)
