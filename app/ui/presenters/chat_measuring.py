"""A turn while a comparison measures: the reply would spoil its rates, so the user is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.ui.main_window import MainWindow
from app.ui.shell.views import Choice, Notice

__all__ = ["ChatMeasuring"]

_NOTICE: Final = "measuring"
_LOOK_MS: Final = 300


class _Held(NamedTuple):
    """What begins the turn that is held back, None for the draft; what keeps its text if not."""

    again: Callable[[], object] | None
    give_back: Callable[[], None] | None


class ChatMeasuring(QObject):
    """Holds a turn back while something is measured, until the user or the measuring says go.

    Whatever begins a turn asks `holds_back` first: the draft, an edit, another version, a
    continuation, a summary. ``is_measuring`` tells whether a comparison runs; whoever knows sets
    it.

    Signals:
        go(): the draft is to be sent, whatever is measured.
    """

    go = Signal()

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.is_measuring: Callable[[], bool] = lambda: False
        self._notices = window.chat.notices
        self._notices.chosen.connect(self._on_choice)
        self._held: _Held | None = None
        self._is_waiting = False
        self._is_going = False
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)
        window.closing.connect(self.forget)  # before the draft is stored, which has the text then

    def holds_back(
        self,
        again: Callable[[], object] | None = None,
        give_back: Callable[[], None] | None = None,
    ) -> bool:
        """Ask what to do if a comparison measures now; False if a turn can begin.

        Args:
            again: begins the turn when it may; None is the draft, which stays in the composer.
            give_back: keeps what was typed when the user wants no turn after all.
        """
        if self._is_going or not self.is_measuring():
            return False
        self.forget()
        self._held = _Held(again, give_back)
        wait = Choice("wait", self.tr("Wait until it ends"), "primary")
        self._show(
            self.tr("A comparison is measuring; this reply will make its rates low."),
            self._anyway(),
            wait,
        )
        self._timer.start()
        return True

    @Slot()
    def forget(self) -> None:
        """Take the question back, and give back what was typed."""
        held = self._end()
        if held is not None and held.give_back is not None:
            held.give_back()

    def forget_draft(self) -> None:
        """Take the question back if it is about the draft, which is not on screen any more."""
        if self._held is not None and self._held.again is None:
            self.forget()

    def _end(self) -> _Held | None:
        held, self._held = self._held, None
        self._is_waiting = False
        self._timer.stop()
        self._notices.remove_notice(_NOTICE)
        return held

    def _begin(self) -> None:
        held = self._end()
        if held is not None:
            self.unasked(held.again or self.go.emit)

    def unasked(self, begin: Callable[[], object]) -> None:
        """Begin a turn for which the user has decided already."""
        self._is_going = True
        try:
            begin()
        finally:
            self._is_going = False

    def _anyway(self) -> Choice:
        return Choice("anyway", self.tr("Reply anyway"))

    def _show(self, text: str, *choices: Choice) -> None:
        self._notices.show_notice(Notice(_NOTICE, text, "warning", choices=choices))

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice != _NOTICE:
            return
        if choice == "anyway":
            self._begin()
        elif choice == "wait":
            self._is_waiting = True
            self._show(self.tr("The reply begins when the comparison ends."), self._anyway())

    @Slot()
    def _look(self) -> None:
        if _NOTICE not in self._notices.notices():
            self.forget()  # the user closed it
        elif not self.is_measuring():
            # A draft may have been written on since; the rest is as it was wanted.
            is_draft = self._held is not None and self._held.again is None
            if self._is_waiting or not is_draft:
                self._begin()
            else:
                self.forget()
