"""Send while a comparison measures: the reply would spoil its rates, so the user is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.ui.main_window import MainWindow
from app.ui.shell.views import Choice, Notice

__all__ = ["ChatMeasuring"]

_NOTICE: Final = "measuring"
_LOOK_MS: Final = 300


class ChatMeasuring(QObject):
    """Holds a message back while something is measured, until the user or the measuring says go.

    ``is_measuring`` tells whether a comparison runs; whoever knows sets it.

    Signals:
        go(): the draft is to be sent, whatever is measured.
    """

    go = Signal()

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.is_measuring: Callable[[], bool] = lambda: False
        self._notices = window.chat.notices
        self._notices.chosen.connect(self._on_choice)
        self._is_waiting = False
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    def holds_back(self) -> bool:
        """Ask what to do if a comparison measures now; False if a message can be sent."""
        if not self.is_measuring():
            return False
        self._is_waiting = False
        wait = Choice("wait", self.tr("Wait until it ends"), "primary")
        self._show(
            self.tr("A comparison is measuring; this reply will make its rates low."),
            self._anyway(),
            wait,
        )
        self._timer.start()
        return True

    def forget(self) -> None:
        """Take the question back: what was to be sent was sent, or is not on screen any more."""
        self._is_waiting = False
        self._timer.stop()
        self._notices.remove_notice(_NOTICE)

    def _anyway(self) -> Choice:
        return Choice("anyway", self.tr("Send anyway"))

    def _show(self, text: str, *choices: Choice) -> None:
        self._notices.show_notice(Notice(_NOTICE, text, "warning", choices=choices))

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice != _NOTICE:
            return
        if choice == "anyway":
            self.forget()
            self.go.emit()
        elif choice == "wait":
            self._is_waiting = True
            self._show(self.tr("The message is sent when the comparison ends."), self._anyway())

    @Slot()
    def _look(self) -> None:
        if _NOTICE not in self._notices.notices():
            self.forget()  # the user closed it: the draft stays where it is
        elif not self.is_measuring():
            waited = self._is_waiting
            self.forget()
            if waited:
                self.go.emit()
