"""A turn that is wanted and has not begun: an edit, another version, a reply that goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.data.records import Message
from app.engine.protocol import ChatPrompt
from app.settings import Settings
from app.ui.chat_state import Opened

__all__ = ["Sent", "WantedTurn"]

_EDITED = "edited"


@dataclass(frozen=True, slots=True)
class Sent:
    """What a turn of the chat on screen would send."""

    opened: Opened
    messages: tuple[Message, ...]
    continues: bool = False

    @classmethod
    def before(cls, opened: Opened | None, message_id: str) -> Sent | None:
        """Return what another version of a reply answers; None for a message of another chat."""
        at = _place(opened, message_id)
        if opened is None or at is None:
            return None
        return cls(opened, opened.path[: at + (opened.path[at].role == "user")])

    @classmethod
    def edited(cls, opened: Opened | None, message_id: str, text: str) -> Sent | None:
        """Return what is sent with another text of a message."""
        at = _place(opened, message_id)
        if opened is None or at is None:
            return None
        edited = replace(opened.path[at], id=_EDITED, text=text)
        return cls(opened, (*opened.path[:at], edited))

    @classmethod
    def continued(cls, opened: Opened | None, message_id: str) -> Sent | None:
        """Return what is sent so that a reply goes on."""
        at = _place(opened, message_id)
        if opened is None or at is None:
            return None
        return cls(opened, opened.path[: at + 1], continues=True)

    @property
    def max_tokens(self) -> int | None:
        """The limit of the reply, None for none."""
        return self.opened.max_tokens

    def prompt(self, settings: Settings) -> ChatPrompt:
        """Return what the engine is asked."""
        return self.opened.prompt(settings, self.messages, continue_reply=self.continues)


@dataclass(frozen=True, slots=True)
class WantedTurn:
    """See the module.

    Attributes:
        sent: None where the chat is not on screen.
        begin: stores and asks it; whoever held the turn back asks before whether it still may.
        give_back: keeps what was typed if the turn never begins; None where nothing was.
        new_text: what would be sent that no reply has answered yet.
    """

    sent: Callable[[], Sent | None]
    begin: Callable[[], None]
    give_back: Callable[[], None] | None = None
    new_text: str = ""

    def give_up(self) -> None:
        """It does not begin after all."""
        if self.give_back is not None:
            self.give_back()


def _place(opened: Opened | None, message_id: str) -> int | None:
    path: Sequence[Message] = () if opened is None else opened.path
    return next((at for at, message in enumerate(path) if message.id == message_id), None)
