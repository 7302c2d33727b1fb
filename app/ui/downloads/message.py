"""What stands in place of a list: a title, a sentence, and the button that helps."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.ui.downloads.views import MessageView
from app.ui.empty_state import EmptyState
from app.ui.theme import ThemeManager

__all__ = ["MessagePanel"]


class MessagePanel(EmptyState):
    """Signals:
    chosen(str): the key of the button that was pressed.
    """

    chosen = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, "search", parent)
        self._view = MessageView("")
        self.button = self.add_button("")
        self.button.clicked.connect(self._on_clicked)
        self.show_view(self._view)

    @property
    def view(self) -> MessageView:
        """What is said."""
        return self._view

    def show_view(self, view: MessageView) -> None:
        """Say something else."""
        self._view = view
        self.say(view.title, view.text, view.icon)
        self.set_progress(None, busy=view.busy, name=self.tr("Waiting for huggingface.co"))
        self.button.setText(view.label)
        self.button.setVisible(bool(view.label))

    @Slot()
    def _on_clicked(self) -> None:
        self.chosen.emit(self._view.choice)
