"""The turns that the panel shows: those of the chat on screen, and the one that is written."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.data.load_records import LoadRecords, turn_records
from app.data.probe import busy_sentence
from app.data.records import Message
from app.engine.protocol import Chunk, Done, EngineMessage, Failed, Hello, Started
from app.engine.qt_client import EngineProcess
from app.ui import tasks
from app.ui.chat_controller import ChatController
from app.ui.presenters.inspector_plan import InspectorPlan
from app.ui.presenters.replay import Replay
from app.ui.presenters.turn_events import follow_turn
from inspector.records import TurnRecord, TurnStats
from inspector.session import Session

__all__ = ["InspectorTurns"]

_WATCH_S = 20.0  # within one reply
_WATCHING_S = 0.3
_HELD_UP_MS = 3000  # without a token, a rate is no longer that of now


class InspectorTurns(QObject):
    """Follows turns into a session.

    Signals:
        changed(): the session knows more.
    """

    changed = Signal()

    def __init__(
        self,
        engine: EngineProcess,
        controller: ChatController,
        session: Session,
        plan: InspectorPlan,
        loads: LoadRecords,
        replay: Replay,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._controller = controller
        self._session = session
        self._plan = plan
        self._loads = loads
        self._replay = replay
        self._watched_s = -_WATCH_S
        self._watching = 0  # looks at other programs that have not ended
        self._unlearnt: tuple[int, Hello, TurnStats] | None = None  # of the load made then
        self._path: tuple[Message, ...] = ()  # what `_turns` were made of
        self._turns: tuple[TurnRecord, ...] = ()
        self._chat: str | None = None
        self._cached_chat: str | None = None  # whose tokens lie in the cache
        self._running: Started | None = None
        self._may_replay = False
        # Told twice of each change; followed once, when the chat itself has been laid out.
        self._follow = QTimer(self)
        self._follow.setSingleShot(True)
        self._follow.setInterval(0)
        self._follow.timeout.connect(self.look)
        self._held_up = QTimer(self)
        self._held_up.setSingleShot(True)
        self._held_up.setInterval(_HELD_UP_MS)
        self._held_up.timeout.connect(self._on_held_up)
        controller.conversation_changed.connect(self._follow.start)
        controller.views_changed.connect(self._follow.start)

    # --- the turn that is written ---

    def cache_emptied(self) -> None:
        """A model was loaded, or runs another way now: its cache is empty."""
        self._cached_chat = None

    def take(self, message: EngineMessage) -> None:
        """Follow what the engine says of the turn that is running, of whichever chat."""
        if isinstance(message, Started):
            if message.conversation != self._cached_chat:
                self._cached_chat = None  # another prompt is read over it
            self._running = message
        running, session = self._running, self._session
        if running is None or isinstance(message, Hello) or message.id != running.id:
            return
        self._see_where()
        if isinstance(message, Started) and not session.turn_is_elsewhere:
            session.busy = ""  # of this turn from here on
            self._watched_s = -_WATCH_S
        if isinstance(message, Started) or (isinstance(message, Chunk) and message.reply == 0):
            if not session.turn_is_elsewhere:
                self._watch_others()
            self._held_up.start()
        follow_turn(session, message, int(time.time() * 1000))
        if isinstance(message, Done | Failed):
            self._running = None
        if isinstance(message, Done):
            self._cached_chat = message.conversation if message.stats.has_read_all else None
            hello = self._engine.state.hello
            if hello is not None and session.load is not None and not session.turn_is_elsewhere:
                self._unlearnt = (session.load.at_ms, hello, message.stats)
                self._learn()
        if not session.turn_is_elsewhere or self._running is None:
            self.changed.emit()  # what is written elsewhere changes nothing that is shown

    def _see_where(self) -> None:
        """Tell the session whether the chat of the turn that is running is on screen."""
        here, running = self._controller.conversation, self._running
        self._session.turn_is_elsewhere = running is not None and (
            here is None or here.id != running.conversation
        )

    @Slot()
    def _on_held_up(self) -> None:
        self._session.held_up()
        self.changed.emit()

    def _watch_others(self) -> None:
        """Look once in a while, in a thread, whether other programs use the processors."""
        now, pid = time.monotonic(), self._engine.state.pid
        if now < self._watched_s + _WATCH_S or pid is None:
            return
        self._watched_s = now

        def done(sentence: str) -> None:
            self._watching -= 1
            # One quiet look does not make a reply undisturbed.
            self._session.busy = self._session.busy or sentence
            self._learn()

        self._watching += 1
        tasks.run(lambda: busy_sentence([pid], _WATCHING_S), done, None, self)

    def _learn(self) -> None:
        """Keep the rates of the turn that ended, once it is known whether it was disturbed."""
        if self._unlearnt is None or self._watching:
            return
        (at_ms, hello, stats), self._unlearnt = self._unlearnt, None
        load = self._session.load
        if load is not None and load.at_ms == at_ms:
            self._plan.learn(hello, stats, busy=bool(self._session.busy))

    def show_draft(self, new_tokens: int | None, reused_tokens: int | None) -> None:
        """Tell when the draft's first token would come.

        Where the prompt was only counted, what is reused is the chat that was answered last.
        """
        if new_tokens is not None and reused_tokens is None:
            used = self._session.used_tokens
            reused_tokens = used if self._cached_chat == self._chat else 0
            new_tokens += used - reused_tokens
        self._session.draft(new_tokens, reused_tokens)
        self.changed.emit()

    # --- the chat on screen ---

    @Slot()
    def look(self) -> None:
        """Take the turns of the chat on screen."""
        path = self._controller.path
        if path is not self._path:
            self._path = path
            ended = [message for message in path if message.state != "streaming"]
            self._turns = tuple(turn_records(ended, self._loads))
        turns = self._turns
        self._see_where()
        here = self._controller.conversation
        is_other = (None if here is None else here.id) != self._chat
        if self._session.live is None or is_other:
            self._session.conversation(turns)
            self.changed.emit()
        self._replay_of(turns)

    def show_turn(self, message_id: str) -> bool:
        """Show a recorded turn of the chat on screen; tell whether there is a record of it."""
        return self._replay.show_turn(turn_records(self._controller.path, self._loads), message_id)

    def _replay_of(self, turns: Sequence[TurnRecord]) -> None:
        """Leave a record that is not of this chat; show the last one where no model is loaded."""
        chat = self._controller.conversation
        key = None if chat is None else chat.id
        if key != self._chat:
            self._chat = key
            self._may_replay = self._is_idle
            self._replay.back()
        # Once a chat, so that going back to what is live is not undone by its next change.
        if self._may_replay and self._is_idle and self._replay.show_last(turns):
            self._may_replay = False

    @property
    def _is_idle(self) -> bool:
        return self._engine.state.model is None and self._engine.state.status != "loading"
