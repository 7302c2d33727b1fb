"""What all editors of settings have in common, and the one of a line of text."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

__all__ = ["Editor", "LineEditor", "in_row"]


class Editor(QWidget):
    """Base of the editors.

    Signals:
        edited(): the user changed what is on screen.
    """

    edited = Signal()

    def value(self) -> object:
        """Return what is on screen as a Python value, which may be one the setting refuses."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        """Show a value; nothing is emitted."""
        raise NotImplementedError

    def field(self) -> QWidget:
        """Return the widget that takes the focus and the accessible name."""
        raise NotImplementedError

    def show_nothing(self) -> None:
        """Show no value, where another widget says what holds."""

    def set_open(self, is_open: bool) -> None:
        """Let values be given, or not while another widget says that there is none."""
        self.setEnabled(is_open)

    def set_automatic(self, value: Any) -> None:
        """Say which value is taken where none is set; None: not known (yet)."""


class LineEditor(Editor):
    """A line of text."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.line = QLineEdit(self)
        self.line.textEdited.connect(self.edited)
        in_row(self, self.line)

    def value(self) -> object:
        """Return the text."""
        return self.line.text()

    def set_value(self, value: Any) -> None:
        """Show a text."""
        self.line.setText(str(value))

    def show_nothing(self) -> None:
        """Show an empty line."""
        self.line.clear()

    def field(self) -> QWidget:
        """Return the line."""
        return self.line


def in_row(editor: QWidget, *widgets: QWidget, stretch: bool = False) -> None:
    """Set widgets beside each other; ``stretch`` leaves the rest of the row empty."""
    row = QHBoxLayout(editor)
    row.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        row.addWidget(widget)
    if stretch:
        row.addStretch(1)
