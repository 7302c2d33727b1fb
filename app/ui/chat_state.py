"""A conversation as it was read from the store, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.data.records import ContextEvent, Conversation, Message, Siblings
from app.engine.protocol import ChatPrompt, SamplingOptions
from app.settings import Settings
from app.ui.chat_prompt import chat_prompt, sampling_options

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore

__all__ = ["NewChat", "Opened", "read_conversation"]


@dataclass(frozen=True, slots=True)
class NewChat:
    """What a chat that has no message yet will be held with."""

    system_prompt: str | None = None
    preset: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation, the branch that is shown, the versions along it, and when it was trimmed."""

    conversation: Conversation
    path: tuple[Message, ...]
    forks: dict[str, Siblings]
    events: tuple[ContextEvent, ...]

    def system_prompt(self, settings: Settings) -> str:
        """Return the system prompt in force: the chat's own, or that of new chats."""
        own = self.conversation.system_prompt
        return str(settings.get("system_prompt")) if own is None else own

    def sampling(self) -> SamplingOptions:
        """Return the sampling options in force."""
        return sampling_options(self.conversation.sampling)

    def prompt(
        self,
        settings: Settings,
        path: Sequence[Message] | None = None,
        *,
        trim: bool = True,
        continue_reply: bool = False,
    ) -> ChatPrompt:
        """Return what the engine is asked: the branch, or a part of it."""
        return chat_prompt(
            self.path if path is None else path,
            system=self.system_prompt(settings),
            keep_from=self.conversation.keep_from,
            now=self.conversation.pinned_now,
            trim=trim,
            continue_reply=continue_reply,
        )

    def trimmed(self, keep_from: str | None, event: ContextEvent | None) -> Opened:
        """Return the same after turns left the window (or came back)."""
        return replace(
            self,
            conversation=replace(self.conversation, keep_from=keep_from),
            events=self.events if event is None else (*self.events, event),
        )


def read_conversation(store: ConversationStore, conversation_id: str) -> Opened | None:
    """Return a conversation, None if there is none; in the store's thread."""
    conversation = store.get(conversation_id)
    if conversation is None:
        return None
    return Opened(
        conversation,
        tuple(store.path(conversation_id)),
        store.forks(conversation_id),
        tuple(store.context_events(conversation_id)),
    )
