"""What a row's widget may ask of the transcript, and what the transcript asks of a widget."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.ui.send_keys import SendKey
from app.ui.transcript.entry import Entry
from app.ui.transcript.formula import FormulaService
from app.ui.transcript.highlight import Highlighter
from app.ui.transcript.rows import Row
from app.ui.transcript.style import Style

__all__ = ["RowHost", "RowWidget"]


class RowHost(Protocol):
    """The transcript, as its rows see it."""

    @property
    def style_in_force(self) -> Style:
        """Fonts and colours to draw with."""

    @property
    def send_key(self) -> SendKey:
        """The key that ends an edit."""

    @property
    def formulas(self) -> FormulaService:
        """Where drawings of formulas come from."""

    @property
    def highlighter(self) -> Highlighter:
        """Where colours of code come from."""

    def act(self, kind: str, message_id: str, payload: str | None = None) -> None:
        """Do or ask for something with a message."""

    def open_link(self, message_id: str, href: str) -> None:
        """Show where a link leads and open it when that is confirmed."""

    def copy_text(self, text: str) -> None:
        """Put text on the clipboard."""

    def show_menu(self, message_id: str, at: QPoint, text: object, href: str = "") -> None:
        """Show the menu of a message at a place on the screen."""

    def take_focus(self) -> None:
        """Take the keyboard from a widget that is about to go."""

    def row_resized(self, row: Row) -> None:
        """Take notice that a row needs another height now."""

    def table_scrolled(self, entry: Entry, header: object, value: int) -> None:
        """Let the other slices of a table follow one that was scrolled sideways."""

    def is_last_reply(self, message_id: str) -> bool:
        """Tell whether a message is the newest reply."""


class RowWidget(Protocol):
    """A widget that shows one row at a time and can be used again for another."""

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""

    def unbind(self) -> None:
        """Let go of the row."""

    def restyle(self) -> None:
        """Take the style in force."""

    def height_at(self, width: int) -> int:
        """Return the height needed at a width."""

    def widget(self) -> QWidget:
        """Return the widget itself."""
