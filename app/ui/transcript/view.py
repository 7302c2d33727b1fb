"""The transcript: shows a conversation and says what the user wants done with it.

Rows, not messages, are what is laid out; see `flow` for places, `stage` for widgets, `entry` for
parsing. This class joins them to Qt's events and holds the public interface.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QHoverEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from app.ui.theme import ThemeManager
from app.ui.transcript.blocks import plain_text
from app.ui.transcript.controls import CONTROLS, controls_for
from app.ui.transcript.end_button import EndButton
from app.ui.transcript.entry import Entry
from app.ui.transcript.flow import Flow
from app.ui.transcript.formula import FormulaService
from app.ui.transcript.highlight import Highlighter
from app.ui.transcript.items import MessageAction, MessageView
from app.ui.transcript.link_dialog import confirm_link
from app.ui.transcript.menu import message_menu
from app.ui.transcript.rows import Row, RowKind
from app.ui.transcript.stage import Stage
from app.ui.transcript.style import Style

__all__ = ["Transcript"]

_REDRAW_MS: Final = 40
_COLUMN_WIDTH: Final = 780
_SIDE: Final = 60
_NARROW_SIDE: Final = 16
_NEAR_END: Final = 24


class Transcript(QAbstractScrollArea):
    """View of one conversation.

    Signals:
        action_requested(object): a `MessageAction`; the transcript itself changes nothing.
    """

    action_requested = Signal(object)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._style = Style(themes.theme)
        self._formulas = FormulaService(self)
        self._highlighter = Highlighter(self)
        self._flow = Flow()
        self._column_width = _COLUMN_WIDTH
        self._hovered = ""
        self._current = ""
        self._last_reply = ""
        self._updating = False
        self._dirty: dict[str, Entry] = {}
        self._last_flush = 0.0
        self._flush_cost_s = 0.0

        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Conversation"))
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.verticalScrollBar().setSingleStep(48)
        self._stage = Stage(self, self.viewport(), self._flow, self)
        self._stage.worked.connect(self._lay_out)
        self._end_button = EndButton(self, self.viewport())
        self._end_button.clicked.connect(self.scroll_to_end)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._flush)
        self._formulas.ready.connect(self._on_formula_ready)
        themes.changed.connect(self._on_theme_changed)
        self.destroyed.connect(self._formulas.close)
        self._measure_column()

    # What rows ask of the transcript (RowHost).

    @property
    def style_in_force(self) -> Style:
        """Fonts and colours to draw with."""
        return self._style

    @property
    def formulas(self) -> FormulaService:
        """Where drawings of formulas come from."""
        return self._formulas

    @property
    def highlighter(self) -> Highlighter:
        """Where colours of code come from."""
        return self._highlighter

    def is_last_reply(self, message_id: str) -> bool:
        """Tell whether a message is the newest reply."""
        return message_id == self._last_reply

    def copy_text(self, text: str) -> None:
        """Put text on the clipboard."""
        QGuiApplication.clipboard().setText(text)

    def open_link(self, message_id: str, href: str) -> None:
        """Show where a link leads; the action is emitted when that is confirmed."""
        confirm_link(self, href, lambda address: self.act("open_link", message_id, address))

    def show_menu(self, message_id: str, at: QPoint, text: object, href: str = "") -> None:
        """Show the menu of a message at a place on the screen."""
        entry = self._flow.find(message_id)
        if entry is not None:
            message_menu(self, entry, text, href).popup(at)

    def row_resized(self, row: Row) -> None:
        """Take notice that a row needs another height now."""
        entry = self._stage.pool.used.get(row)
        if entry is not None:
            row.invalidate()
            self._flow.resized(entry)
            self._lay_out()

    def act(self, kind: str, message_id: str, payload: str | None = None) -> None:
        """Do what concerns the view alone; ask for everything else."""
        entry = self._flow.find(message_id)
        if entry is None:
            return
        match kind:
            case "copy":
                self.copy_text(entry.view.text)
            case "edit":
                self._set_editing(entry, True)
            case "cancel_edit":
                self._set_editing(entry, False)
            case "save_edit":
                self._set_editing(entry, False)
                self.action_requested.emit(MessageAction("edit", message_id, payload))
            case "toggle_reasoning":
                entry.unfolded = not entry.unfolded
                self._refresh(entry, again=RowKind.REASONING)
            case _:
                self.action_requested.emit(MessageAction(kind, message_id, payload))

    # Public interface.

    def set_messages(self, messages: Sequence[MessageView]) -> None:
        """Show a conversation, at its end. Costs little however long it is."""
        self._dirty.clear()
        self._timer.stop()
        self._stage.pool.release_all()
        self._hovered = self._current = ""
        self._flow.set_entries([Entry(view) for view in messages])
        self._find_last_reply()
        self._lay_out()

    def clear(self) -> None:
        """Show nothing."""
        self.set_messages(())

    def append_message(self, view: MessageView) -> None:
        """Add a message at the end."""
        before = self._last_reply
        self._flow.append(Entry(view))
        if view.role == "assistant":
            self._last_reply = view.id
            self._refresh_meta(before)
        self._lay_out()

    def update_message(self, view: MessageView) -> None:
        """Show another value of a message that is already here.

        Raises:
            KeyError: there is no such message.
        """
        entry = self._flow.find(view.id)
        if entry is None:
            raise KeyError(view.id)
        self._dirty.pop(view.id, None)
        changed, gone = entry.set_view(view)
        self._stage.changed(entry, changed, gone)
        self._lay_out()

    def remove_message(self, message_id: str) -> None:
        """Take a message out."""
        self._dirty.pop(message_id, None)
        entry = self._flow.remove(message_id)
        if entry is None:
            return
        for row in entry.rows:
            self._stage.pool.release(row)
        self._find_last_reply()
        self._refresh_meta(self._last_reply)
        self._lay_out()

    def append_text(self, message_id: str, answer: str, reasoning: str = "") -> None:
        """Add to a message that is being written.

        Cheap enough for every token: the first call draws at once, later ones are drawn
        together, `_REDRAW_MS` after the last drawing.
        """
        entry = self._flow.find(message_id)
        if entry is None:
            return
        entry.append(answer, reasoning)
        self._dirty[message_id] = entry
        if self._timer.isActive():
            return
        # A drawing that took long is not followed by the next at once, so that typing and
        # scrolling stay quick whatever the text is.
        pause_ms = max(_REDRAW_MS, self._flush_cost_s * 4000)
        passed_ms = (time.perf_counter() - self._last_flush) * 1000
        if passed_ms >= pause_ms:
            self._flush()
        else:
            self._timer.start(round(pause_ms - passed_ms))

    def scroll_to(self, message_id: str) -> None:
        """Bring the beginning of a message to the top of the view."""
        entry = self._flow.find(message_id)
        if entry is not None:
            self._flow.scroll_to_row(entry, entry.rows[0], self._style.px(22))
            self._lay_out()
            self._set_current(message_id)

    @Slot()
    def scroll_to_end(self) -> None:
        """Go to the end and follow it from now on."""
        self._flow.follow = True
        self._lay_out()

    def reveal_text(self, message_id: str, needle: str) -> None:
        """Bring the first place in a message that has a text into view and select it there."""
        entry = self._flow.find(message_id)
        if entry is None:
            return
        gone = entry.open()
        self._stage.changed(entry, [], gone or [])
        lowered = needle.casefold()
        found = next((row for row in entry.rows if lowered in _row_text(row).casefold()), None)
        row = found or entry.rows[0]
        row.expanded = True
        self._flow.scroll_to_row(entry, row, self.viewport().height() // 3)
        self._lay_out()
        self._set_current(message_id)
        if found is not None and found.widget is not None and hasattr(found.widget, "select_text"):
            offset = found.widget.select_text(needle)
            self._flow.scroll_to_row(entry, row, self.viewport().height() // 3 - offset)
            self._lay_out()

    def set_column_width(self, px: int) -> None:
        """Set how wide text may become, in design pixels."""
        self._column_width = px
        self._on_width_changed()

    def content_height(self) -> int:
        """Return how high the conversation is, in pixels, as far as it is known."""
        return self._flow.total

    # Layout and scrolling.

    @Slot()
    def _lay_out(self) -> None:
        if self._updating:
            return
        self._updating = True
        try:
            self._stage.lay_out()
            bar = self.verticalScrollBar()
            height = self.viewport().height()
            bar.setRange(0, self._flow.limit(height))
            bar.setPageStep(max(height - self._style.px(48), 1))
            bar.setValue(self._stage.position)
        finally:
            self._updating = False
        self._place_end_button()
        self._show_active()
        if self._current:
            self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Go where the scroll bar was moved to by the user."""
        if self._updating:
            return
        bar = self.verticalScrollBar()
        value = bar.value()
        if bar.maximum() - value <= _NEAR_END and dy < 0:
            value = bar.maximum()
        self._flow.scroll_to(value, self.viewport().height())
        self._lay_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the reading place at another size."""
        super().resizeEvent(event)
        self._on_width_changed()

    def _on_width_changed(self) -> None:
        before = self._stage.column.width()
        self._flow.keep_place(
            self._stage_height(), by_share=before != self._wanted_column().width()
        )
        self._measure_column()
        self._lay_out()

    def _stage_height(self) -> int:
        return self.viewport().height()

    def _wanted_column(self) -> QRect:
        width = self.viewport().width()
        side = self._style.px(_SIDE)
        if width - 2 * side < self._style.px(440):
            side = max(self._style.px(_NARROW_SIDE), min(side, (width - self._style.px(440)) // 2))
        column = max(min(width - 2 * side, self._style.px(self._column_width)), 120)
        return QRect((width - column) // 2, 0, column, 0)

    def _measure_column(self) -> None:
        self._stage.column = self._wanted_column()

    def _place_end_button(self) -> None:
        shown = not self._flow.follow and self._stage.position < self._flow.limit(
            self.viewport().height()
        )
        if shown:
            size = self._end_button.sizeHint()
            column = self._stage.column
            self._end_button.setGeometry(
                QRect(
                    QPoint(
                        column.center().x() - size.width() // 2,
                        self.viewport().height() - size.height() - self._style.px(14),
                    ),
                    size,
                )
            )
            self._end_button.raise_()
        self._end_button.setVisible(shown)

    # Changes of content.

    @Slot()
    def _flush(self) -> None:
        """Draw the text that has come in."""
        begun = time.perf_counter()
        self._timer.stop()
        dirty, self._dirty = self._dirty, {}
        for entry in dirty.values():
            self._refresh(entry, lay_out=False)
        self._lay_out()
        self._last_flush = time.perf_counter()
        self._flush_cost_s = self._last_flush - begun

    def _refresh(self, entry: Entry, *, lay_out: bool = True, again: RowKind | None = None) -> None:
        """Bring the rows of a message up to date; ``again`` names a row that must be redrawn."""
        changed, gone = entry.sync()
        changed.extend(row for row in entry.rows if row.kind is again and row not in changed)
        self._stage.changed(entry, changed, gone)
        if lay_out:
            self._lay_out()

    def _refresh_meta(self, message_id: str) -> None:
        entry = self._flow.find(message_id)
        if entry is not None:
            self._refresh(entry, lay_out=False, again=RowKind.META)

    def _find_last_reply(self) -> None:
        replies = (e.view.id for e in reversed(self._flow.entries) if e.view.role == "assistant")
        self._last_reply = next(replies, "")

    def _set_editing(self, entry: Entry, editing: bool) -> None:
        if entry.editing == editing:
            return
        entry.editing = editing
        entry.draft = None
        if not entry.is_open:
            self._stage.changed(entry, [], entry.open() or [])
        self._refresh(entry)
        if editing:
            editor = entry.rows[0].widget
            if editor is None:
                self.scroll_to(entry.view.id)
                editor = entry.rows[0].widget
            editor.edit.setFocus()
        else:
            self.setFocus()

    @Slot(str)
    def _on_formula_ready(self, latex: str) -> None:
        for row in list(self._stage.pool.used):
            if hasattr(row.widget, "formula_ready"):
                row.widget.formula_ready(latex)

    @Slot()
    def _on_theme_changed(self) -> None:
        self._flow.keep_place(self.viewport().height(), by_share=True)
        self._style = Style(self._themes.theme)
        for entry in self._flow.entries:
            for row in entry.rows:
                row.invalidate()
        self._flow.rescale(self._themes.theme.scale, self._style.px(22))
        self._stage.pool.restyle()
        self._measure_column()
        self._end_button.update()
        self._lay_out()
        self.viewport().update()

    # The message under the mouse and the one with the keyboard.

    def viewportEvent(self, event: QEvent) -> bool:
        """Follow the mouse over messages."""
        if isinstance(event, QHoverEvent):
            leaving = event.type() == QEvent.Type.HoverLeave
            self._hover_at(None if leaving else event.position().toPoint().y())
        return super().viewportEvent(event)

    def _hover_at(self, y: int | None) -> None:
        found = ""
        if y is not None:
            at = y + self._stage.position
            placed = next(iter(self._flow.between(at, at + 1)), None)
            found = placed.entry.view.id if placed is not None else ""
        if found != self._hovered:
            self._hovered = found
            self._show_active()

    def _show_active(self) -> None:
        """Show the controls of the messages under the mouse and with the keyboard."""
        focused = self._current if self.hasFocus() or self._child_has_focus() else ""
        for row, entry in self._stage.pool.used.items():
            if row.kind in (RowKind.META, RowKind.BUBBLE):
                here = entry.view.id
                row.widget.set_active(here in (self._hovered, focused), tab=here == focused)

    def _child_has_focus(self) -> bool:
        focus = self.window().focusWidget()
        return focus is not None and self.isAncestorOf(focus)

    def _set_current(self, message_id: str) -> None:
        self._current = message_id
        self._show_active()
        self.viewport().update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Choose a message when the keyboard arrives."""
        super().focusInEvent(event)
        if not self._flow.find(self._current):
            top = self._stage.position
            seen = list(self._flow.between(top, top + self.viewport().height()))
            self._current = seen[-1].entry.view.id if seen else ""
        self._show_active()
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Let the mark of the chosen message go."""
        super().focusOutEvent(event)
        self._show_active()
        self.viewport().update()

    def _step(self, by: int) -> None:
        index = self._flow.index_of(self._current)
        last = len(self._flow.entries) - 1
        if last < 0:
            return
        index = last if index is None else min(max(index + by, 0), last)
        entry = self._flow.entries[index]
        self._show_entry(entry, from_below=by < 0)
        self._set_current(entry.view.id)

    def _show_entry(self, entry: Entry, *, from_below: bool) -> None:
        """Scroll as little as is needed to see a message, its end when coming from below."""
        height = self.viewport().height()
        top = self._flow.top_of(entry) - self._stage.position
        bottom = top + entry.height(self._flow.scale)
        if top >= 0 and bottom <= height:
            return
        if entry is self._flow.entries[-1]:
            self.scroll_to_end()
        elif from_below and entry.is_open:
            row = entry.rows[-1]
            self._flow.scroll_to_row(entry, row, height - row.height - self._style.px(22))
            self._lay_out()
        else:
            self._flow.scroll_to_row(entry, entry.rows[0], self._style.px(22))
            self._lay_out()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move between messages and act on the chosen one."""
        key, held = event.key(), event.modifiers()
        plain = held == Qt.KeyboardModifier.NoModifier
        bar = self.verticalScrollBar()
        entry = self._flow.find(self._current)
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and plain:
            self._step(-1 if key == Qt.Key.Key_Up else 1)
        elif key == Qt.Key.Key_Home and plain:
            bar.setValue(0)
        elif key == Qt.Key.Key_End and plain:
            self.scroll_to_end()
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            step = bar.pageStep()
            bar.setValue(bar.value() + (step if key == Qt.Key.Key_PageDown else -step))
        elif entry is not None and not self._act_by_key(entry, event):
            super().keyPressEvent(event)

    def _act_by_key(self, entry: Entry, event: QKeyEvent) -> bool:
        message = entry.view.id
        held = event.modifiers()
        name = {
            Qt.Key.Key_Left: "Left",
            Qt.Key.Key_Right: "Right",
            Qt.Key.Key_Delete: "Del",
        }.get(Qt.Key(event.key()), chr(event.key()) if event.key() < 0x80 else "")
        if held == Qt.KeyboardModifier.ShiftModifier:
            name = f"Shift+{name}"
        elif held != Qt.KeyboardModifier.NoModifier:
            if event.matches(event.StandardKey.Copy) if hasattr(event, "StandardKey") else False:
                self.act("copy", message)
                return True
            return False
        if name in ("T", " ") and entry.view.reasoning:
            self.act("toggle_reasoning", message)
            return True
        if event.key() == Qt.Key.Key_Menu or name == "M":
            self.show_menu(message, self._menu_place(entry), None)
            return True
        for control in CONTROLS:
            if control.key == name and control in controls_for(entry.view):
                self.act(control.kind, message)
                return True
        return False

    def _menu_place(self, entry: Entry) -> QPoint:
        y = min(max(self._flow.top_of(entry) - self._stage.position, 0), self.viewport().height())
        return self.viewport().mapToGlobal(QPoint(self._stage.column.left(), y))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Mark the message that has the keyboard."""
        entry = self._flow.find(self._current)
        if entry is None or not self.hasFocus():
            return
        painter = QPainter(self.viewport())
        top = self._flow.top_of(entry) - self._stage.position
        bar = QRectF(
            self._stage.column.left() - self._style.px(14),
            top,
            self._style.px(3),
            entry.height(self._flow.scale),
        )
        painter.fillRect(bar, self._style.colour("accent"))


def _row_text(row: Row) -> str:
    """Return the text a row shows."""
    match row.kind:
        case RowKind.TEXT:
            return plain_text(row.content)
        case RowKind.CODE | RowKind.TABLE | RowKind.FORMULA:
            return plain_text((row.content,))
        case RowKind.BUBBLE | RowKind.NOTE | RowKind.CUT:
            return str(row.content.text)
        case _:
            return ""
