"""Finding text in the chat on screen: how many places have it, and going from one to the next."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Slot

from app.ui.chat_controller import ChatController
from app.ui.main_window import CHAT_PAGE, MainWindow
from app.ui.transcript.view import Transcript

__all__ = ["FindPresenter"]

_MOST_READ: Final = 200
"""Messages parsed in one step at most: a text that only addresses of links have must not hold up
the window."""


class FindPresenter(QObject):
    """Makes the bar and follows it; a message that leaves the screen's branch is found no more."""

    def __init__(
        self,
        controller: ChatController,
        window: MainWindow,
        transcript: Transcript,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._bar = window.chat.find_bar
        self._transcript = transcript
        self._found: dict[str, int] = {}  # how many places each message has
        self._needle = ""
        self._at = ""  # the message whose place is selected
        self._number = 0  # which of its places, from 0
        self._bar.looked_for.connect(self._on_text)
        self._bar.stepped.connect(self._on_step)
        controller.views_changed.connect(self._look_again)
        controller.view_changed.connect(self._look_again)

    def open(self) -> None:
        """Bring the bar on screen."""
        self._window.show_page(CHAT_PAGE)
        if not self._window.is_first_run:
            self._bar.open_bar()

    @Slot()
    def _look_again(self) -> None:
        """Count what has changed; what the reader looks at stays where it is."""
        if not self._bar.isHidden():
            self._count()
            self._tell()

    @Slot(str)
    def _on_text(self, text: str) -> None:
        is_other = text.strip() != self._needle
        self._needle = text.strip()
        self._count()
        if self._at not in self._found:
            # The newest first: what was said last is what one looks for most.
            self._enter(-1)
        elif is_other:
            if self._read(self._at):
                self._number = self._found[self._at] - 1
            else:
                self._enter(-1)
        self._go()

    @Slot(int)
    def _on_step(self, by: int) -> None:
        if not self._found:
            return
        if self._at not in self._found:
            self._at = ""
            self._enter(by)
        elif 0 <= self._number + by < self._found[self._at]:
            self._number += by
        else:
            self._enter(by)
        self._go()

    def _enter(self, by: int) -> None:
        """Go to the first place of the next message that shows the text, or the last before.

        A message is parsed before it is entered; where the text stands in its source alone, in
        the address of a link for one, it counts no more and the next one has its turn.
        """
        for _ in range(_MOST_READ):
            if not self._found:
                break
            messages = list(self._found)
            place = 0 if by > 0 else -1
            if self._at in self._found:
                place = (messages.index(self._at) + by) % len(messages)
            message = messages[place]
            if self._read(message):
                self._at = message
                self._number = 0 if by > 0 else self._found[message] - 1
                return
        self._at = ""

    def _read(self, message: str) -> bool:
        """Parse a message and count it as it is shown; tell whether it shows the text."""
        self._found[message] = self._transcript.places.read(message)
        if not self._found[message]:
            del self._found[message]
        return message in self._found

    def _go(self) -> None:
        if self._at:
            self._transcript.places.show(self._at, self._needle, self._number)
            self._count()  # reasoning that was unfolded is counted as it is shown
        self._tell()

    def _count(self) -> None:
        self._found = dict(self._transcript.places.counts(self._needle))

    def _tell(self) -> None:
        at = 0
        if self._at in self._found:
            self._number = min(self._number, self._found[self._at] - 1)
            for message, places in self._found.items():
                if message == self._at:
                    break
                at += places
            at += self._number + 1
        self._bar.set_count(at, sum(self._found.values()))
