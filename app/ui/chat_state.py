"""A conversation as it was read from the store, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from app.data.records import ContextEvent, Conversation, DraftFile, Message, Siblings
from app.engine.protocol import ChatMessage, ChatPrompt, SamplingOptions
from app.settings import Settings
from app.ui.chat_prompt import Asked, asked_messages, chat_prompt, sampling_options
from app.ui.chat_views import StillViews, path_views, still_views
from app.ui.transcript.items import MessageView

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore

__all__ = ["ConversationReader", "NewChat", "Opened", "draft_prompt"]

_DRAFT_ID = "draft"


@dataclass(frozen=True, slots=True)
class NewChat:
    """What a chat that has no message yet will be held with."""

    system_prompt: str | None = None
    preset: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)

    @property
    def max_tokens(self) -> int | None:
        """The limit of a reply, None for none."""
        return sampling_options(self.sampling).max_tokens


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation, the branch that is shown, the versions along it, and when it was trimmed.

    ``views`` is how the messages are shown, and ``shown`` all of the transcript while nothing is
    written (None after `trimmed`), ``asked`` what the engine takes of them: made in the store's
    thread, since thousands take as long as several frames. ``draft_files`` are those that were
    kept with its draft when it was opened; reading it again does not look for them.
    """

    conversation: Conversation
    path: tuple[Message, ...]
    forks: dict[str, Siblings]
    events: tuple[ContextEvent, ...]
    views: StillViews = field(default_factory=StillViews)
    shown: tuple[MessageView, ...] | None = None
    asked: Asked = field(default_factory=dict)
    draft_files: tuple[DraftFile, ...] = ()

    def system_prompt(self, settings: Settings) -> str:
        """Return the system prompt in force: the chat's own, or that of new chats."""
        own = self.conversation.system_prompt
        return str(settings.get("system_prompt")) if own is None else own

    def sampling(self) -> SamplingOptions:
        """Return the sampling options in force."""
        return sampling_options(self.conversation.sampling)

    @property
    def max_tokens(self) -> int | None:
        """The limit of a reply, None for none."""
        return self.sampling().max_tokens

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
            asked=self.asked,
        )

    def trimmed(self, keep_from: str | None, event: ContextEvent | None) -> Opened:
        """Return the same after turns left the window (or came back)."""
        return replace(
            self,
            conversation=replace(self.conversation, keep_from=keep_from),
            events=self.events if event is None else (*self.events, event),
            shown=None,
        )


def draft_prompt(chat: Opened | NewChat, settings: Settings, content: str) -> ChatPrompt:
    """Return what the engine would be asked if a draft were sent now."""
    if isinstance(chat, Opened):
        prompt = chat.prompt(settings)
    else:
        own = chat.system_prompt
        system = str(settings.get("system_prompt")) if own is None else own
        prompt = chat_prompt((), system=system, keep_from=None, now=None)
    draft = ChatMessage(id=_DRAFT_ID, role="user", content=content)
    return msgspec.structs.replace(prompt, messages=(*prompt.messages, draft))


class ConversationReader:
    """Reads conversations, in the store's thread alone.

    What a message was when it was read before, and how it was shown, is kept and not made again
    while it has not changed, so reading a long chat after each reply makes one or two messages.

    Attributes:
        figures: whether replies are shown with their figures; set in any thread.
    """

    def __init__(self) -> None:
        self.figures = True
        self._last: Opened | None = None

    def read(self, store: ConversationStore, conversation_id: str) -> Opened | None:
        """Return a conversation, None if there is none."""
        conversation = store.get(conversation_id)
        if conversation is None:
            return None
        before = self._last
        if before is not None and before.conversation.id != conversation_id:
            before = None
        path = store.path(conversation_id)
        if before is not None:
            known = {message.id: message for message in before.path}
            path = [_kept(known.get(message.id), message) for message in path]
        forks = store.forks(conversation_id)
        views = still_views(
            path, forks, None if before is None else before.views, figures=self.figures
        )
        events = tuple(store.context_events(conversation_id))
        shown = path_views(
            path, forks, events, conversation.keep_from, {}, figures=views.figures, still=views
        )
        asked = asked_messages(path, {} if before is None else before.asked)
        files = before.draft_files if before else tuple(store.draft_files(conversation_id))
        self._last = Opened(
            conversation, tuple(path), forks, events, views, tuple(shown), asked, files
        )
        return self._last


def _kept(before: Message | None, now: Message) -> Message:
    return before if before is not None and before == now else now
