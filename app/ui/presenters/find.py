"""Finding text in the chat on screen: which messages have it, and going from one to the next."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Slot

from app.ui.chat_controller import ChatController
from app.ui.main_window import CHAT_PAGE, MainWindow
from app.ui.transcript.items import MessageView
from app.ui.transcript.view import Transcript

__all__ = ["FindPresenter", "messages_with"]


def messages_with(text: str, views: Iterable[MessageView]) -> tuple[str, ...]:
    """Return the ids of the messages that have a text, whatever its case, from the first on."""
    needle = text.strip().casefold()
    if not needle:
        return ()
    return tuple(
        view.id
        for view in views
        if view.role in {"user", "assistant"}
        and (needle in view.text.casefold() or needle in view.reasoning.casefold())
    )


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
        self._found: tuple[str, ...] = ()
        self._at = ""
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
            self._found = messages_with(self._bar.text(), self._transcript.views())
            self._tell()

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self._found = messages_with(text, self._transcript.views())
        if self._at not in self._found:
            # The newest first: what was said last is what one looks for most.
            self._at = self._found[-1] if self._found else ""
        self._go()

    @Slot(int)
    def _on_step(self, by: int) -> None:
        if not self._found:
            return
        place = 0 if by > 0 else -1
        if self._at in self._found:
            place = self._found.index(self._at) + by
        self._at = self._found[place % len(self._found)]
        self._go()

    def _go(self) -> None:
        self._tell()
        if self._at:
            self._transcript.reveal_text(self._at, self._bar.text())

    def _tell(self) -> None:
        at = self._found.index(self._at) + 1 if self._at in self._found else 0
        self._bar.set_count(at, len(self._found))
