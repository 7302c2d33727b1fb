"""The chat on screen: what is shown, what the user does with it, what the engine is asked.

No widgets here. Three facts decide what can be done: the conversation on screen, the reply that is
being written (perhaps in another conversation), and the loaded model. Everything that is typed is
stored before it is sent; nothing later is erased by an edit, which makes a new branch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from app.data.records import (
    Attachment,
    ContextEvent,
    Conversation,
    Message,
)
from app.engine.protocol import PromptFit
from app.engine.qt_client import EngineProcess
from app.settings import Settings
from app.ui.asker import Asker
from app.ui.chat_branches import ChatBranches
from app.ui.chat_state import ConversationReader, NewChat, Opened
from app.ui.chat_views import message_view, path_views
from app.ui.reply_runner import FinishedReply, ReplyRunner
from app.ui.store_bridge import StoreBridge
from app.ui.transcript.items import MessageAction, MessageView

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore

__all__ = ["ChatController"]

log = logging.getLogger("plimsoll.chat")


class ChatController(QObject):
    """See the module.

    Signals:
        left(): another conversation is about to be on screen; what is typed now is of the old one.
        conversation_changed(Conversation | None): another one is on screen, or its settings are.
        views_changed(Sequence[MessageView]): the whole transcript.
        view_changed(MessageView): one message of it.
        text_arrived(str message_id, str answer, str reasoning): a reply on screen goes on.
        answering_changed(str | None): conversation of the running reply.
        chats_changed(): the list of conversations is to be read again.
        refused(str): a sentence: why something can't be done now.
        reply_failed(FinishedReply): the engine gave no (whole) answer.
        model_wanted(str): message to regenerate with a model that is to be chosen.
        several_wanted(str): message to regenerate in several versions at once.
        link_opened(str): the user confirmed this address.
        context_wanted(): the user wants a larger context.
        dropped_wanted(): the user wants to see what left the context.
    """

    left = Signal()
    conversation_changed = Signal(object)
    views_changed = Signal(object)
    view_changed = Signal(object)
    text_arrived = Signal(str, str, str)
    answering_changed = Signal(object)
    chats_changed = Signal()
    refused = Signal(str)
    reply_failed = Signal(object)
    model_wanted = Signal(str)
    several_wanted = Signal(str)
    link_opened = Signal(str)
    context_wanted = Signal()
    dropped_wanted = Signal()

    def __init__(
        self,
        engine: EngineProcess,
        store: StoreBridge,
        settings: Settings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._store = store
        self._settings = settings
        self._opened: Opened | None = None
        self._wanted: str | None = None  # the conversation that was asked for last
        self.new_chat_values = NewChat()
        self.fit: PromptFit | None = None  # of the prompt that was sent last
        self.runner = ReplyRunner(engine, store, self)
        self._reader = ConversationReader()
        self.branches = ChatBranches(store, self.runner, self._on_screen, self)
        self.branches.changed.connect(self._read_again)
        self.branches.refused.connect(self.refused)
        self.asker = Asker(
            engine, store, settings, self.runner, self._reader, self._on_screen, self
        )
        self.asker.asked.connect(self._on_asked)
        self.asker.branched.connect(self.branches.branch_left)
        self.asker.refused.connect(self.refused)
        self.runner.started.connect(self._on_started)
        self.runner.text_arrived.connect(self._on_text)
        self.runner.changed.connect(self._on_reply_changed)
        self.runner.version_finished.connect(self._on_version_finished)
        self.runner.finished.connect(self._on_finished)

    # --- what is on screen ---

    @property
    def conversation(self) -> Conversation | None:
        """The conversation on screen, None for a new chat that has no message yet."""
        return None if self._opened is None else self._opened.conversation

    @property
    def path(self) -> tuple[Message, ...]:
        """Its messages, root to leaf."""
        return () if self._opened is None else self._opened.path

    @property
    def events(self) -> tuple[ContextEvent, ...]:
        """When messages left its window."""
        return () if self._opened is None else self._opened.events

    @property
    def opened(self) -> Opened | None:
        """All of the conversation on screen."""
        return self._opened

    def _on_screen(self) -> Opened | None:
        return self._opened

    @property
    def answering_here(self) -> bool:
        """Tell whether the reply that is being written is on screen."""
        here = self.conversation
        return here is not None and self.runner.conversation_id == here.id

    def new_chat(self) -> None:
        """Show an empty chat; it is stored with its first message."""
        self._wanted = None
        self.new_chat_values = NewChat()
        self._show(None)

    def set_chat_values(
        self, system_prompt: str | None, preset: str | None, sampling: Mapping[str, Any]
    ) -> None:
        """Hold the chat on screen with these; ``system_prompt`` None leaves it as it is."""
        here = self.conversation
        if here is None:
            before = self.new_chat_values
            self.new_chat_values = NewChat(
                before.system_prompt if system_prompt is None else system_prompt, preset, sampling
            )
            self.conversation_changed.emit(None)
            return
        system = here.system_prompt if system_prompt is None else system_prompt
        self._store.do(
            lambda store: store.update(
                here.id, system_prompt=system, preset=preset, sampling=sampling
            ),
            lambda _: self.reload(),
        )

    def open(self, conversation_id: str, then: Callable[[], None] | None = None) -> None:
        """Show a conversation, and then go on."""
        self._wanted = conversation_id

        def show(opened: Opened | None) -> None:
            if self._wanted != conversation_id:
                return  # another one was asked for meanwhile
            self._show(opened)
            if then is not None:
                then()

        self._reader.figures = self._figures
        self._store.do(lambda store: self._reader.read(store, conversation_id), show)

    def reload(self, then: Callable[[], None] | None = None) -> None:
        """Read the conversation on screen again."""
        here = self.conversation
        if here is not None:
            self.open(here.id, then)

    @Slot(str)
    def _read_again(self, conversation_id: str) -> None:
        """Read a conversation again if it is wanted, be it on screen or still being opened."""
        if self._wanted == conversation_id:
            self.open(conversation_id)

    def refresh_views(self) -> None:
        """Show the same messages again (a setting of the view changed)."""
        self.views_changed.emit(self._views())

    def _show(self, opened: Opened | None) -> None:
        here = self.conversation
        if here is not None and (opened is None or opened.conversation.id != here.id):
            self.left.emit()
        self._opened = opened
        self.conversation_changed.emit(self.conversation)
        self.views_changed.emit(self._views())

    def _views(self) -> Sequence[MessageView]:
        opened = self._opened
        if opened is None:
            return ()
        lives = self.runner.lives
        quiet = opened.views.by_id.keys().isdisjoint(lives)
        if opened.shown is not None and quiet and opened.views.figures is self._figures:
            return opened.shown
        return path_views(
            opened.path,
            opened.forks,
            opened.events,
            opened.conversation.keep_from,
            lives,
            figures=self._figures,
            versions_live=len(self.runner.message_ids) > 1,
            still=opened.views,
        )

    @property
    def _figures(self) -> bool:
        return bool(self._settings.get("show_statistics"))

    # --- asking ---

    def send(self, text: str, attachments: Sequence[Attachment] = (), *, trim: bool = True) -> bool:
        """Store a message and have it answered; False (and `refused`) if that can't be now."""
        return self.asker.send(
            self._opened, self.new_chat_values, text, attachments, shown=self._wanted, trim=trim
        )

    def regenerate(self, message_id: str, replies: int = 1) -> None:
        """Have the message before a reply answered once more, or in several versions at once."""
        self.asker.regenerate(message_id, shown=self._wanted, replies=replies)

    def edit(self, message_id: str, text: str) -> bool:
        """Put a changed version beside a message; a user's message is answered.

        False (and `refused`) if that can't be now; the caller keeps the text.
        """
        message = self._message(message_id)
        if message is None:
            return False
        if message.role == "user":
            return self.asker.edit(message_id, text, shown=self._wanted)
        self.branches.edit_reply(message, text)
        return True

    def continue_reply(self, message_id: str) -> None:
        """Go on with a reply that ended early."""
        message = self._message(message_id)
        if message is not None:
            self.asker.continue_reply(message, shown=self._wanted)

    @Slot(object, object)
    def _on_asked(self, opened: Opened, shown: str | None) -> None:
        chat_id = opened.conversation.id
        if self._wanted == shown:  # the user did not go elsewhere meanwhile
            self._wanted = chat_id
            self._show(opened)
        self.answering_changed.emit(chat_id)
        self.chats_changed.emit()

    def stop(self) -> None:
        """Stop the running reply."""
        self.runner.stop()

    # --- what the transcript asks for ---

    def act(self, action: MessageAction) -> None:
        """Do what a button of a message asks for."""
        message_id = action.message_id
        if action.kind == "edit" and action.payload is not None:
            self.edit(message_id, action.payload)
        elif action.kind == "regenerate":
            self.regenerate(message_id)
        elif action.kind == "regenerate_with":
            self.model_wanted.emit(message_id)
        elif action.kind == "regenerate_several":
            self.several_wanted.emit(message_id)
        elif action.kind == "continue":
            self.continue_reply(message_id)
        elif action.kind in {"previous_version", "next_version"}:
            self.branches.switch(message_id, -1 if action.kind == "previous_version" else 1)
        elif action.kind == "delete":
            self.branches.delete(message_id)
        elif action.kind == "open_link" and action.payload:
            self.link_opened.emit(action.payload)
        elif action.kind == "raise_context":
            self.context_wanted.emit()
        elif action.kind == "show_dropped":
            self.dropped_wanted.emit()

    def forget(self, conversation_id: str) -> None:
        """A conversation is being deleted: stop its reply, and leave it if it is on screen."""
        self.runner.discard(conversation_id)
        if self._wanted == conversation_id:
            self.new_chat()

    # --- what the reply tells ---

    @Slot(str, object)
    def _on_started(self, conversation_id: str, fit: PromptFit) -> None:
        self.fit = fit
        opened = self._opened
        here = opened is not None and opened.conversation.id == conversation_id
        before = self.asker.keep_from
        live = self.runner.live
        if not fit.dropped or live is None:
            if before is not None and fit.keep_from is None:
                self._store.do(lambda store: store.update(conversation_id, keep_from=None))
                if here:
                    self._note_trim(None, None)
            return
        if fit.keep_from == before:
            return
        message_id = live.message_id

        def work(store: ConversationStore) -> ContextEvent:
            return store.add_context_event(
                conversation_id,
                message_id,
                dropped=fit.dropped,
                dropped_tokens=fit.dropped_tokens,
                n_ctx=fit.n_ctx,
                keep_from=fit.keep_from,
            )

        def done(event: ContextEvent) -> None:
            if self._opened is not None and self._opened.conversation.id == conversation_id:
                self._note_trim(fit.keep_from, event)

        self._store.do(work, done)

    def _note_trim(self, keep_from: str | None, event: ContextEvent | None) -> None:
        if self._opened is not None:
            self._show(self._opened.trimmed(keep_from, event))

    @Slot(str, str, str)
    def _on_text(self, message_id: str, answer: str, reasoning: str) -> None:
        if self.answering_here and self._message(message_id) is not None:
            self.text_arrived.emit(message_id, answer, reasoning)

    @Slot(str)
    def _on_reply_changed(self, message_id: str) -> None:
        message = self._message(message_id)
        if message is None or self._opened is None:
            return  # of another chat, or a version that is not shown
        self.view_changed.emit(
            message_view(
                message,
                self._opened.forks.get(message_id),
                self.runner.lives.get(message_id),
                figures=self._figures,
                versions_live=len(self.runner.message_ids) > 1,
                is_last=message is self.path[-1],
            )
        )

    @Slot(str)
    def _on_version_finished(self, conversation_id: str) -> None:
        self._read_again(conversation_id)

    @Slot(object)
    def _on_finished(self, finished: FinishedReply) -> None:
        self.answering_changed.emit(None)
        self.chats_changed.emit()
        if self._settings.get("log_chat_text"):
            log.info("assistant: %s", finished.text)
        if finished.failed is not None and finished.failed.kind != "cancelled":
            self.reply_failed.emit(finished)
        self._read_again(finished.conversation_id)

    def _message(self, message_id: str) -> Message | None:
        return next((m for m in reversed(self.path) if m.id == message_id), None)

    @property
    def model_name(self) -> str | None:
        """Name of the loaded model."""
        model = self._engine.state.model
        return None if model is None else model.name
