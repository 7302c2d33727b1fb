"""One reply on its way from the engine to the store.

It belongs to its conversation, not to what is on screen: the user may look at another chat, and
the reply fills where it was asked for. It is stored once a second while it streams.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.data.records import MessageState
from app.engine.protocol import (
    ChatPrompt,
    Chunk,
    Done,
    EngineMessage,
    Failed,
    Progress,
    PromptFit,
    SamplingOptions,
    Started,
)
from app.engine.qt_client import EngineProcess
from app.ui.chat_views import LiveReply
from app.ui.store_bridge import StoreBridge
from inspector.records import TurnStats

__all__ = ["FinishedReply", "ReplyRunner"]

_SAVE_MS = 1000
_FIGURES_S = 0.3


@dataclass
class _Running:
    conversation_id: str
    message_id: str
    request_id: int
    text: list[str]
    reasoning: list[str]
    waiting: bool = True
    progress: tuple[int, int] | None = None
    reply_tokens: int = 0
    reasoning_tokens: int = 0
    decode_per_s: float | None = None
    fit: PromptFit | None = None
    unsaved: bool = False
    figures_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FinishedReply:
    """How a reply ended; ``failed`` is set where there was an error."""

    conversation_id: str
    message_id: str
    state: MessageState
    stop_reason: str | None
    stats: TurnStats | None
    failed: Failed | None
    text: str


class ReplyRunner(QObject):
    """Runs one reply at a time.

    Signals:
        started(str conversation_id, PromptFit): the prompt was fitted and is being read.
        text_arrived(str message_id, str answer, str reasoning)
        changed(str message_id): waiting, progress or figures changed.
        finished(FinishedReply): after the final state was handed to the store.
    """

    started = Signal(str, object)
    text_arrived = Signal(str, str, str)
    changed = Signal(str)
    finished = Signal(object)

    def __init__(
        self, engine: EngineProcess, store: StoreBridge, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._store = store
        self._running: _Running | None = None
        self.load_id: str | None = None  # record of the load that replies run under
        self._timer = QTimer(self)
        self._timer.setInterval(_SAVE_MS)
        self._timer.timeout.connect(self._save)
        engine.message.connect(self._on_message)

    @property
    def is_running(self) -> bool:
        """Tell whether a reply is being written."""
        return self._running is not None

    @property
    def conversation_id(self) -> str | None:
        """Conversation of the running reply."""
        return None if self._running is None else self._running.conversation_id

    @property
    def live(self) -> LiveReply | None:
        """The running reply as it is now."""
        running = self._running
        if running is None:
            return None
        return LiveReply(
            message_id=running.message_id,
            text="".join(running.text),
            reasoning="".join(running.reasoning),
            reasoning_tokens=running.reasoning_tokens,
            reply_tokens=running.reply_tokens,
            waiting=running.waiting,
            progress=running.progress,
            decode_per_s=running.decode_per_s,
        )

    def run(
        self,
        conversation_id: str,
        message_id: str,
        chat: ChatPrompt,
        sampling: SamplingOptions,
        *,
        text: str = "",
        reasoning: str = "",
    ) -> None:
        """Ask the engine; ``text`` and ``reasoning`` are what a continued reply has already.

        The message stands in the store already, in the state ``streaming``.
        """
        assert self._running is None
        request_id = self._engine.generate(conversation_id, chat, sampling)
        self._running = _Running(
            conversation_id,
            message_id,
            request_id,
            [text] if text else [],
            [reasoning] if reasoning else [],
        )
        self._timer.start()

    def stop(self) -> None:
        """End the running reply; what there is of it stays."""
        if self._running is not None:
            self._engine.cancel(self._running.request_id)

    def discard(self, conversation_id: str) -> None:
        """Stop and forget the reply of a conversation that is being deleted."""
        if self._running is not None and self._running.conversation_id == conversation_id:
            self.stop()

    def save_now(self) -> None:
        """Store what there is (before the window closes)."""
        if self._running is not None:
            self._running.unsaved = True
            self._save(interrupted=True)

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        running = self._running
        if running is None or getattr(message, "id", None) != running.request_id:
            return
        if isinstance(message, Started):
            running.fit = message.fit
            running.progress = (0, message.new_tokens)
            self.started.emit(running.conversation_id, message.fit)
            self.changed.emit(running.message_id)
        elif isinstance(message, Progress):
            running.progress = (message.done_tokens, message.total_tokens)
            self.changed.emit(running.message_id)
        elif isinstance(message, Chunk):
            self._on_chunk(running, message)
        elif isinstance(message, Done):
            state: MessageState = "stopped" if message.stop == "stopped" else "complete"
            stats = msgspec.structs.replace(message.stats, load_id=self.load_id)
            self._finish(running, state, message.stop, stats, None)
        elif isinstance(message, Failed):
            has_text = bool(running.text or running.reasoning)
            self._finish(
                running, "interrupted" if has_text else "failed", message.message, None, message
            )

    def _on_chunk(self, running: _Running, chunk: Chunk) -> None:
        first = running.waiting
        running.waiting = False
        running.reply_tokens = chunk.reply_tokens
        running.reasoning_tokens = chunk.reasoning_tokens
        running.decode_per_s = chunk.decode_per_s
        if chunk.answer or chunk.reasoning:
            running.unsaved = True
        if chunk.answer:
            running.text.append(chunk.answer)
        if chunk.reasoning:
            running.reasoning.append(chunk.reasoning)
        now = time.monotonic()
        if first:
            running.figures_s = now
            self.changed.emit(running.message_id)
            return
        if chunk.answer or chunk.reasoning:
            self.text_arrived.emit(running.message_id, chunk.answer, chunk.reasoning)
        if now - running.figures_s >= _FIGURES_S:
            running.figures_s = now
            self.changed.emit(running.message_id)

    @Slot()
    def _save(self, *, interrupted: bool = False) -> None:
        running = self._running
        if running is None or not running.unsaved:
            return
        running.unsaved = False
        text, reasoning = "".join(running.text), "".join(running.reasoning)
        running.text = [text]
        running.reasoning = [reasoning] if reasoning else []
        message_id = running.message_id
        state: MessageState = "interrupted" if interrupted else "streaming"
        self._store.do(lambda store: store.save_reply(message_id, text, reasoning, state))

    def _finish(
        self,
        running: _Running,
        state: MessageState,
        stop_reason: str | None,
        stats: TurnStats | None,
        failed: Failed | None,
    ) -> None:
        self._running = None
        self._timer.stop()
        text, reasoning = "".join(running.text), "".join(running.reasoning)
        message_id = running.message_id
        self._store.do(
            lambda store: store.save_reply(message_id, text, reasoning, state, stop_reason, stats)
        )
        self.finished.emit(
            FinishedReply(
                running.conversation_id, message_id, state, stop_reason, stats, failed, text
            )
        )
