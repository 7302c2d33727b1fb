"""Questions on their way to the engine: stored first, then asked.

A question is a job for the store (a message, an edit, the place of another reply) after which
the conversation is read back and its branch sent. One question at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal, Slot

from app.data.load_records import parts_of
from app.data.records import Attachment, Message
from app.engine.qt_client import EngineProcess, EngineState
from app.settings import Settings
from app.ui.chat_state import ConversationReader, NewChat, Opened
from app.ui.reply_runner import ReplyRunner
from app.ui.store_bridge import StoreBridge
from app.ui.wanted_turn import Sent, WantedTurn

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore

__all__ = ["Asker", "BranchedBy"]

log = logging.getLogger("plimsoll.chat")

BranchedBy: TypeAlias = Literal["edit", "regenerate"]
_Fits: TypeAlias = Callable[[WantedTurn, Callable[[], None]], bool]
_Hold: TypeAlias = Callable[[Callable[[], object] | None, Callable[[], None] | None], bool]


def _at_once(_turn: WantedTurn, _start: Callable[[], None]) -> bool:
    return False


def _never(_again: Callable[[], object] | None, _give_back: Callable[[], None] | None) -> bool:
    return False


class _Left:
    """The branch that was shown when a turn began another one; ``leaf`` is its last message.

    None where nothing would be missed: a reply that never got a word is not worth going back to.
    """

    def __init__(self, by: BranchedBy) -> None:
        self.by = by
        self.leaf: str | None = None

    def look(self, store: ConversationStore, message: Message) -> None:
        """Note what is shown before a version is put beside a message; in the store's thread."""
        chat = store.get(message.conversation_id)
        leaf = None if chat is None else chat.leaf_id
        is_empty = message.role == "assistant" and not (message.text or message.reasoning)
        self.leaf = None if leaf == message.id and is_empty else leaf


class Asker(QObject):
    """Stores what is asked and starts the reply.

    Methods take ``shown``, the conversation that was on screen (None: a new chat), and give it
    back with `asked`, since the user may have gone elsewhere by then.

    ``hold`` is asked before each turn, with what begins it again (None: the draft is still where it
    was) and what keeps its text if it never begins; True holds it back. ``revive`` is asked in the
    same way where the engine was lost: True loads its model again and begins the turn then.
    ``measures`` is asked last, of any turn but the draft, with what starts it: True measures first
    whether it fits. ``opened`` gives the chat on screen.

    Signals:
        asked(Opened, str | None shown): the reply has begun.
        branched(str conversation_id, str leaf_id, BranchedBy): it has begun beside the branch that
            ended with this message.
        blocked(str | None): a reply is being written in this conversation.
        refused(str): a sentence: why nothing can be asked now.
        answers_again(): the engine was the reason of the last refusal, and is no longer.
        unsent(str text, Sequence[Attachment]): what was typed and could not be stored.
    """

    asked = Signal(object, object)
    branched = Signal(str, str, str)
    blocked = Signal(object)
    refused = Signal(str)
    answers_again = Signal()
    unsent = Signal(str, object)

    def __init__(
        self,
        engine: EngineProcess,
        store: StoreBridge,
        settings: Settings,
        runner: ReplyRunner,
        reader: ConversationReader,
        opened: Callable[[], Opened | None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._reader = reader
        self._opened = opened
        self._engine = engine
        self._store = store
        self._settings = settings
        self._runner = runner
        self.hold: _Hold = _never
        self.revive: _Hold = _never
        self.measures: _Fits = _at_once
        self._engine_refused = False
        engine.state_changed.connect(self._on_engine_state)
        self._asking = False  # a question is on its way into the store
        self.keep_from: str | None = None  # where the last trim of the asked conversation cut

    def send(
        self,
        opened: Opened | None,
        new_chat: NewChat,
        text: str,
        attachments: Sequence[Attachment],
        *,
        shown: str | None,
        trim: bool,
    ) -> bool:
        """Add a message to a conversation, or begin one with it; False if that can't be now."""
        if not self._may_ask() or self.hold(None, None):
            return False
        model = self._model_name()
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        model_path = self._engine.state.path
        parent = opened.path[-1].id if opened is not None and opened.path else None

        def work(store: ConversationStore) -> tuple[Opened | None, Message]:
            conversation_id = (
                opened.conversation.id
                if opened is not None
                else store.create(
                    pinned_now=now,
                    system_prompt=new_chat.system_prompt,
                    preset=new_chat.preset,
                    sampling=new_chat.sampling,
                ).id
            )
            asked = store.add_message(
                conversation_id, parent, "user", text, attachments=tuple(attachments)
            )
            store.update(conversation_id, model_path=model_path, model_name=model, draft="")
            reply = store.start_reply(conversation_id, asked.id, model_name=model)
            return self._reader.read(store, conversation_id), reply

        self._ask(work, shown, trim=trim, typed=(text, attachments))
        return True

    def regenerate(self, message_id: str, *, shown: str | None, replies: int = 1) -> None:
        """Have the message before a reply answered once more, beside the reply.

        Several ``replies`` are written at once; the first of them is shown.
        """
        self._want(
            WantedTurn(
                lambda: Sent.before(self._opened(), message_id),
                lambda: self._regenerate(message_id, shown, replies),
            )
        )

    def _regenerate(self, message_id: str, shown: str | None, replies: int) -> None:
        model = self._model_name()
        others: list[str] = []
        left = _Left("regenerate")

        def work(store: ConversationStore) -> tuple[Opened | None, Message]:
            message = store.message(message_id)
            assert message is not None
            asked = message_id if message.role == "user" else message.parent_id
            chat_id = message.conversation_id
            left.look(store, message)
            reply, *more = [
                store.start_reply(chat_id, asked, model_name=model) for _ in range(replies)
            ]
            others.extend(version.id for version in more)
            if more:
                store.select_branch(reply.id)
            return self._reader.read(store, chat_id), reply

        self._ask(work, shown, others=others, left=left)

    def edit(self, message_id: str, text: str, *, shown: str | None) -> bool:
        """Put a changed version beside a user's message and have it answered; False if not now."""
        return self._want(
            WantedTurn(
                lambda: Sent.edited(self._opened(), message_id, text),
                lambda: self._edit(message_id, text, shown),
                lambda: self.unsent.emit(text, ()),
                text,
            )
        )

    def _edit(self, message_id: str, text: str, shown: str | None) -> None:
        model = self._model_name()
        left = _Left("edit")

        def work(store: ConversationStore) -> tuple[Opened | None, Message]:
            message = store.message(message_id)
            assert message is not None
            left.look(store, message)
            edited = store.edit(message_id, text)
            reply = store.start_reply(edited.conversation_id, edited.id, model_name=model)
            return self._reader.read(store, edited.conversation_id), reply

        self._ask(work, shown, left=left)

    def continue_reply(self, message: Message, *, shown: str | None) -> None:
        """Go on with a reply that ended early."""
        self._want(
            WantedTurn(
                lambda: Sent.continued(self._opened(), message.id),
                lambda: self._continue(message, shown),
            )
        )

    def _continue(self, message: Message, shown: str | None) -> None:
        def work(store: ConversationStore) -> tuple[Opened | None, Message]:
            store.save_reply(
                message.id, message.text, message.reasoning, "streaming", stats=message.stats
            )
            return self._reader.read(store, message.conversation_id), message

        self._ask(work, shown, continued=message)

    def _want(self, turn: WantedTurn) -> bool:
        """Begin a turn, now or when nothing is in its way; False if it can't be now."""

        def again() -> None:
            if not self._want(turn):
                turn.give_up()

        def start() -> None:
            if self._may_ask():
                turn.begin()
            else:
                turn.give_up()

        if self._is_lost and self.revive(again, turn.give_back):
            return True  # it begins when the model is there
        if not self._may_ask():
            return False
        if not self.hold(again, turn.give_back) and not self.measures(turn, start):
            turn.begin()
        return True

    def _ask(
        self,
        work: Callable[[ConversationStore], tuple[Opened | None, Message]],
        shown: str | None,
        *,
        trim: bool = True,
        continued: Message | None = None,
        others: Sequence[str] = (),
        left: _Left | None = None,
        typed: tuple[str, Sequence[Attachment]] | None = None,
    ) -> None:
        def begin(result: tuple[Opened | None, Message]) -> None:
            self._asking = False
            opened, reply = result
            if opened is None:
                return
            self.keep_from = opened.conversation.keep_from
            self._log_text(opened.path[-2:-1] if continued is None else opened.path[-1:])
            self._runner.run(
                opened.conversation.id,
                (reply.id, *others),
                opened.prompt(
                    self._settings,
                    opened.path if continued is not None else opened.path[:-1],
                    trim=trim,
                    continue_reply=continued is not None,
                ),
                opened.sampling(),
                text="" if continued is None else continued.text,
                reasoning="" if continued is None else continued.reasoning,
                before=() if continued is None else parts_of(continued),
            )
            self.asked.emit(opened, shown)
            if left is not None and left.leaf not in {None, *(item.id for item in opened.path)}:
                self.branched.emit(opened.conversation.id, left.leaf, left.by)

        def failed(error: Exception) -> None:
            # Imported here: a window takes keys before anything of the database is read.
            from app.data.errors import StoreUnavailable

            self._asking = False
            if isinstance(error, StoreUnavailable):
                self._store.unavailable.emit(str(error))  # told once, with the store's trouble
            else:
                self.refused.emit(str(error))
            if typed is not None:
                self.unsent.emit(*typed)

        self._asking = True
        self._store.do(work, begin, failed)

    def _log_text(self, messages: Sequence[Message]) -> None:
        """Write what is sent to the log, if the user asked for that."""
        if self._settings.get("log_chat_text"):
            for message in messages:
                log.info("%s: %s", message.role, message.text)

    @property
    def _is_lost(self) -> bool:
        return self._engine.state.status == "lost" and not (self._runner.is_running or self._asking)

    def _may_ask(self) -> bool:
        """Tell whether a turn can begin; say why not."""
        state = self._engine.state
        if self._runner.is_running or self._asking:
            self.blocked.emit(self._runner.conversation_id)
        elif state.answers:
            return True
        else:
            self._engine_refused = True
            self.refused.emit(self._why_not())
        return False

    def _why_not(self) -> str:
        state = self._engine.state
        if state.status == "loading":
            return self.tr("The model is still loading.")
        if state.busy:
            return self.tr("The engine is busy; wait for it or stop it.")
        if state.status == "lost":
            return self.tr("The engine ended; load the model again.")
        return self.tr("Choose a model first.")

    @Slot(object)
    def _on_engine_state(self, state: EngineState) -> None:
        if state.answers and self._engine_refused:
            self._engine_refused = False
            self.answers_again.emit()

    def _model_name(self) -> str | None:
        model = self._engine.state.model
        return None if model is None else model.name
