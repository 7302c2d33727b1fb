"""The transcript: shows a conversation and says what the user wants done with it.

Rows, not messages, are what is laid out; see `flow` for places, `stage` for widgets, `entry` for
parsing. This class joins them to Qt's events and holds the public interface.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPoint, Qt, Signal, Slot
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QHoverEvent,
    QKeyEvent,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.ui.send_keys import SendKey
from app.ui.theme import ThemeManager
from app.ui.transcript.acts import Acts
from app.ui.transcript.announce import announce
from app.ui.transcript.changes import Changes
from app.ui.transcript.curtain import Curtain
from app.ui.transcript.end_button import EndButton
from app.ui.transcript.entry import Entry
from app.ui.transcript.flow import Flow
from app.ui.transcript.formula import FormulaService
from app.ui.transcript.highlight import Highlighter
from app.ui.transcript.items import MessageView
from app.ui.transcript.link_dialog import confirm_link
from app.ui.transcript.menu import message_menu
from app.ui.transcript.navigation import Navigator, is_typing
from app.ui.transcript.places import Places
from app.ui.transcript.redraws import Redraws
from app.ui.transcript.rows import Row, RowKind
from app.ui.transcript.stage import Stage, column_for
from app.ui.transcript.style import Style

__all__ = ["Transcript"]

_COLUMN_WIDTH: Final = 780
_NEAR_END: Final = 24


class Transcript(QAbstractScrollArea):
    """View of one conversation.

    Signals:
        action_requested(object): a `MessageAction`; the transcript itself changes nothing.
        typed(str): text was typed while the transcript had the keyboard; it belongs in the
            composer.

    Attribute ``places`` finds a text in the conversation.
    """

    action_requested = Signal(object)
    typed = Signal(str)

    def __init__(
        self,
        themes: ThemeManager,
        parent: QWidget | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        self._style = Style(themes.theme)
        self._formulas = FormulaService(self)
        self._highlighter = Highlighter(self)
        self._flow = Flow()
        self._column_width = _COLUMN_WIDTH
        self.send_key: SendKey = "enter"  # ends an edit, as it sends a draft
        self._updating = False
        self._place_height = 0

        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Transcript"))
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.verticalScrollBar().setSingleStep(48)
        self._stage = Stage(self, self.viewport(), self._flow, self, clock)
        self._stage.worked.connect(self.lay_out)
        self._navigator = Navigator(self, self._flow, self._stage)
        self.places = Places(self, self._flow, self._stage, self._navigator)
        self._acts = Acts(self, self._flow, self._stage)
        self._end_button = EndButton(self, self.viewport())
        self._end_button.clicked.connect(self.scroll_to_end)
        self._redraws = Redraws(self)
        self._redraws.due.connect(self._draw)
        self._changes = Changes(self._flow, self._stage, self._redraws)
        self._curtain = Curtain(self.viewport(), self)
        self._formulas.ready.connect(self._on_formula_ready)
        themes.changed.connect(self._on_theme_changed)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)
        self.destroyed.connect(self._formulas.close)
        self.destroyed.connect(self._highlighter.close)

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
        return message_id == self._changes.last_reply

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
            self._navigator.set_current(message_id)
            message_menu(self, entry, text, href).popup(at)

    def take_focus(self) -> None:
        """Take the keyboard from a widget that is about to go."""
        self.setFocus()

    def row_resized(self, row: Row) -> None:
        """Take notice that a row needs another height now."""
        entry = self._stage.pool.used.get(row)
        if entry is not None:
            row.invalidate()
            self._flow.resized(entry)
            self.lay_out()

    def table_scrolled(self, entry: Entry, header: object, value: int) -> None:
        """Let the other slices of a table follow one that was scrolled sideways."""
        for row in entry.rows:
            if row.kind is RowKind.TABLE and row.widget is not None:
                row.widget.scroll_sideways(header, value)

    def act(self, kind: str, message_id: str, payload: str | None = None) -> None:
        """Do what concerns the view alone; ask for everything else."""
        self._acts.act(kind, message_id, payload)

    # Public interface.

    def set_messages(self, messages: Sequence[MessageView]) -> None:
        """Show a conversation, at its end. Costs little however long it is.

        What stood here stays in sight until all of the new view can be seen, for a moment at most.
        """
        self._stage.begin_turn()
        self._curtain.drop()
        self._changes.begin(messages)
        self._navigator.reset()
        self.lay_out()

    def clear(self) -> None:
        """Show nothing."""
        self.set_messages(())

    def append_message(self, view: MessageView) -> None:
        """Add a message at the end."""
        self.change_messages(come=((len(self._flow.entries), view),))

    def update_message(self, view: MessageView) -> None:
        """Show another value of a message that is already here; KeyError where it is not."""
        self.change_messages(other=(view,))

    def remove_message(self, message_id: str) -> None:
        """Take a message out."""
        self.change_messages(gone=(message_id,))

    def change_messages(
        self,
        gone: Sequence[str] = (),
        come: Sequence[tuple[int, MessageView]] = (),
        other: Sequence[MessageView] = (),
    ) -> None:
        """Take messages out, put some in by their index, and show other values, in this order.

        What was taken out and comes back stands where it stood.

        Raises:
            KeyError: a message that is to have another value is not here.
        """
        for message_id in gone:
            self._changes.remove(message_id)
        for index, view in come:
            self._changes.insert(index, view)
        finished = [self._changes.update(view) for view in other]
        self.lay_out()
        if any(finished):
            announce(self, self.tr("The reply is finished."))

    def append_text(self, message_id: str, answer: str, reasoning: str = "") -> None:
        """Add to a message that is being written.

        Cheap enough for every token: the first call draws at once, later ones are drawn
        together; see `Redraws`.
        """
        entry = self._flow.find(message_id)
        if entry is not None:
            entry.append(answer, reasoning)
            self._redraws.note(entry)

    def scroll_to(self, message_id: str) -> None:
        """Bring the beginning of a message to the top of the view."""
        entry = self._flow.find(message_id)
        if entry is not None:
            self._flow.scroll_to_row(entry, entry.rows[0], self._style.px(22))
            self.lay_out()
            self._navigator.set_current(message_id)

    def jump(self, entry: Entry, row: Row, offset: int) -> None:
        """Let a row, which is on the screen at once, stand ``offset`` pixels below the top.

        What stood in the view stays in sight until what is beside the row is there, too.
        """
        self._flow.scroll_to_row(entry, row, offset)
        self._stage.bring(entry, row)
        self.lay_out()
        if not self._stage.in_view_done:
            self._curtain.drop()

    @Slot()
    def scroll_to_end(self) -> None:
        """Go to the end and follow it from now on."""
        self._flow.follow = True
        self.lay_out()

    def views(self) -> Iterator[MessageView]:
        """Yield the messages that are shown, from the first."""
        return reversed(tuple(self._flow.entries.views()))

    def reveal_text(self, message_id: str, needle: str) -> None:
        """Bring the first place in a message that has a text into view and select it there."""
        self.places.show(message_id, needle)

    def close_workers(self) -> None:
        """End the threads; call it before the program ends."""
        self._formulas.close()
        self._highlighter.close()

    def set_column_width(self, px: int) -> None:
        """Set how wide text may become, in design pixels."""
        self._column_width = px
        self._on_width_changed()

    def content_height(self) -> int:
        """Return how high the conversation is, in pixels, as far as it is known."""
        return self._flow.total

    # Layout and scrolling.

    @Slot()
    def lay_out(self) -> None:
        """Bring the screen in step with the flow; for the parts of the transcript.

        Where much is new the rest follows between events.
        """
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
        if self._stage.in_view_done:
            self._curtain.lift_soon(at_once=self._stage.was_quick)
        away = not self._flow.follow and self._stage.position < self._flow.limit(height)
        self._end_button.place(self._stage.column, height, shown=away)
        self._navigator.show_controls()
        self._navigator.move_mark()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Go where the scroll bar was moved to by the user."""
        if self._updating:
            return
        bar = self.verticalScrollBar()
        value = bar.value()
        if bar.maximum() - value <= _NEAR_END and dy < 0:
            value = bar.maximum()
        self._flow.scroll_to(value, self.viewport().height())
        self.lay_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the reading place at another size."""
        super().resizeEvent(event)
        self._on_width_changed()

    def _on_width_changed(self) -> None:
        column = column_for(self.viewport().width(), self._column_width, self._style)
        other = column.width() != self._stage.column.width()
        self._flow.keep_place(self._place_height, by_share=other)
        self._stage.set_column(column)
        self.lay_out()
        self._place_height = self.viewport().height()

    # Changes of content.

    @Slot(object)
    def _draw(self, grown: Sequence[Entry]) -> None:
        """Draw the text that has come in."""
        for entry in grown:
            self.refresh(entry, lay_out=False)
        self.lay_out()

    def refresh(self, entry: Entry, *, lay_out: bool = True, again: RowKind | None = None) -> None:
        """Bring the rows of a message up to date; ``again`` names a row that must be redrawn."""
        changed, gone = entry.sync()
        changed.extend(row for row in entry.rows if row.kind is again and row not in changed)
        self._stage.changed(entry, changed, gone)
        if lay_out:
            self.lay_out()

    @Slot(str)
    def _on_formula_ready(self, latex: str) -> None:
        self._stage.pool.formula_ready(latex)

    @Slot()
    def _on_theme_changed(self) -> None:
        self._flow.keep_place(self.viewport().height(), by_share=True)
        before, self._style = self._style, Style(self._themes.theme)
        if before.theme.scale == self._themes.theme.scale:  # other colours leave heights alone
            for row in self._stage.pool.used:
                row.invalidate()
        else:
            self._flow.rescale(self._themes.theme.scale, self._style.px(22))
        self._stage.pool.restyle()
        self._stage.wait()
        self._stage.column = column_for(self.viewport().width(), self._column_width, self._style)
        self._end_button.update()
        self.lay_out()
        self.viewport().update()

    # The message under the mouse and the one with the keyboard.

    def viewportEvent(self, event: QEvent) -> bool:
        """Follow the mouse over messages."""
        if isinstance(event, QHoverEvent):
            leaving = event.type() == QEvent.Type.HoverLeave
            self._navigator.hover(None if leaving else event.position().toPoint().y())
        return super().viewportEvent(event)

    @Slot("QWidget*", "QWidget*")
    def _on_focus_changed(self, _before: QWidget | None, now: QWidget | None) -> None:
        self._navigator.focus_moved(now)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Choose a message when the keyboard arrives."""
        super().focusInEvent(event)
        self._navigator.arrive(by_mouse=event.reason() == Qt.FocusReason.MouseFocusReason)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Let the mark of the chosen message go."""
        super().focusOutEvent(event)
        self._navigator.refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move between messages; what is text goes to the composer and acts on nothing."""
        if self._navigator.press(event):
            return
        if is_typing(event):
            self.typed.emit(event.text())
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Mark the message that has the keyboard."""
        self._navigator.paint()
