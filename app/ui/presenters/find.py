"""Finding text in the chat on screen: how many places have it, and going from one to the next."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias

from PySide6.QtCore import QObject, Slot

from app.ui.chat_controller import ChatController
from app.ui.main_window import CHAT_PAGE, MainWindow
from app.ui.presenters.slices import Slices
from app.ui.transcript.view import Transcript

__all__ = ["FindPresenter"]

_MOST_READ: Final = 200
"""Messages parsed in search of one place at most: a text that only addresses of links have must
not keep the computer busy."""

_Work: TypeAlias = Generator[None, None, None]


class FindPresenter(QObject):
    """Makes the bar and follows it; a message that leaves the screen's branch is found no more.

    A long chat is counted in slices between the window's events, from its end on: the newest place
    is shown as soon as it is met, the number of all when they are counted. Steps that are taken
    before that wait for it.
    """

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
        self._found: dict[str, int] = {}  # how many places each message has, from the first on
        self._needle = ""
        self._at = ""  # the message whose place is selected
        self._number = 0  # which of its places, from 0
        self._is_seeking = False  # the newest place is not met yet
        self._steps: list[int] = []  # wanted, and not taken yet
        self._slices = Slices(self)
        self._slices.finished.connect(self._on_finished)
        self._bar.looked_for.connect(self._on_text)
        self._bar.stepped.connect(self._on_step)
        self._bar.closed.connect(self._on_closed)
        controller.views_changed.connect(self._look_again)
        controller.view_changed.connect(self._follow)

    def open(self) -> None:
        """Bring the bar on screen."""
        self._window.show_page(CHAT_PAGE)
        if not self._window.is_first_run:
            self._bar.open_bar()

    # --- what is asked for ---

    @Slot(str)
    def _on_text(self, text: str) -> None:
        is_other = text.strip() != self._needle
        self._needle = text.strip()
        self._steps.clear()
        self._run(self._search(is_other=is_other))

    @Slot(int)
    def _on_step(self, by: int) -> None:
        if self._slices.is_running:
            self._steps.append(by)
        else:
            self._run(self._step(by))

    @Slot()
    def _look_again(self) -> None:
        """Count what has changed; what the reader looks at stays where it is."""
        if not self._bar.isHidden():
            self._run(self._search(is_other=False, go=self._is_seeking))

    @Slot()
    def _follow(self) -> None:
        """One message is another one."""
        if not self._bar.isHidden() and not self._slices.is_running:
            self._tell()

    @Slot()
    def _on_closed(self) -> None:
        self._steps.clear()
        self._is_seeking = False
        self._slices.cancel()
        self._transcript.places.leave()

    @Slot()
    def _on_finished(self) -> None:
        if self._steps:
            self._slices.start(self._step(self._steps.pop(0)))

    def _run(self, work: _Work) -> None:
        """Do the first part of some work now, and what is left between the window's events."""
        self._slices.cancel()
        for _ in work:
            self._slices.start(work)
            return
        self._on_finished()

    # --- how it is done, in parts ---

    def _search(self, *, is_other: bool, go: bool = True) -> _Work:
        """Count from the end on, and go to the newest place unless the reader is at one."""
        places = self._transcript.places
        places.look_for(self._needle)
        here = places.read(self._at) if go and self._at else 0
        if here:
            self._number = here - 1 if is_other else min(self._number, here - 1)
            self._show()
        elif go:
            self._at = ""
        self._is_seeking = wanted = go and not here
        found: dict[str, int] = {}
        reads = 0
        for part, step in enumerate(places.counting()):
            if part:
                yield
            for message, count in step:
                found[message] = count
                if not wanted or reads >= _MOST_READ:
                    continue
                shown = places.read(message)
                if shown:
                    # The newest first: what was said last is what one looks for most.
                    self._at, self._number = message, shown - 1
                    found[message] = self._show()
                    wanted = self._is_seeking = False
                else:
                    # It stands in the source alone, in the address of a link for one.
                    del found[message]
                    reads += 1
                    yield
        self._is_seeking = False
        self._found = dict(reversed(found.items()))
        self._tell()

    def _step(self, by: int) -> _Work:
        """Go to the next place (1), or the one before (-1)."""
        if not self._found:
            return
        if self._at not in self._found:
            self._at = ""
        if 0 <= self._number + by < self._found.get(self._at, 0):
            self._number += by
        else:
            yield from self._enter(by)
        if self._at:
            self._found[self._at] = self._show()
        self._tell()

    def _enter(self, by: int) -> _Work:
        """Move to the first place of the next message that shows the text, or the last before.

        A message is parsed before it is entered; where the text stands in its source alone, it
        counts no more and the next one has its turn.
        """
        for _ in range(_MOST_READ):
            if not self._found:
                break
            messages = list(self._found)
            place = 0 if by > 0 else -1
            if self._at in self._found:
                place = (messages.index(self._at) + by) % len(messages)
            message = messages[place]
            shown = self._transcript.places.read(message)
            if shown:
                self._found[message] = shown
                self._at, self._number = message, 0 if by > 0 else shown - 1
                return
            del self._found[message]
            yield
        self._at = ""

    def _show(self) -> int:
        """Show the place; return how many its message has now that it is unfolded."""
        places = self._transcript.places
        places.show(self._at, self._needle, self._number)
        return places.read(self._at)

    def _tell(self) -> None:
        """Say which place of how many is selected, by what the messages show now."""
        places = self._transcript.places
        shown = places.shown_counts()
        added = any(count and message not in self._found for message, count in shown.items())
        found = {**self._found, **shown}
        if added:
            found = dict(sorted(found.items(), key=lambda item: places.index_of(item[0])))
        self._found = {message: count for message, count in found.items() if count}
        at = 0
        if self._at in self._found:
            self._number = min(self._number, self._found[self._at] - 1)
            for message, count in self._found.items():
                if message == self._at:
                    break
                at += count
            at += self._number + 1
        self._bar.set_count(at, sum(self._found.values()))
