"""Replies on their way from the engine to the store: one, or several to the same question.

They belong to their conversation, not to what is on screen: the user may look at another chat, and
a reply fills where it was asked for. Its first words are stored at once, what follows twice a
second: whatever ends the window loses less than a second of a reply.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from app.data.records import MessageState
from app.engine.protocol import (
    ChatPrompt,
    Chunk,
    Done,
    EngineMessage,
    Failed,
    Progress,
    ReplyDone,
    SamplingOptions,
    Started,
)
from app.engine.qt_client import EngineProcess
from app.ui.chat_views import LiveReply
from app.ui.store_bridge import StoreBridge
from inspector.judged import Judged
from inspector.records import TurnPart, TurnStats

__all__ = ["FinishedReply", "ReplyRunner"]

# A save of 40 kB takes the store 0.05 ms of processor time, one of 400 kB 0.14 ms.
_SAVE_MS = 500
_FIGURES_S = 0.3


@dataclass
class _Part:
    """One of the replies."""

    message_id: str
    text: list[str]
    reasoning: list[str]
    waiting: bool = True
    reply_tokens: int = 0
    reasoning_tokens: int = 0
    decode_per_s: float | None = None
    unsaved: bool = False
    figures_s: float = 0.0
    ended: bool = False
    before: tuple[TurnPart, ...] = ()  # what was measured of a reply that is continued


@dataclass
class _Running:
    """One request; the first of its parts is what `FinishedReply` tells of."""

    conversation_id: str
    request_id: int
    parts: list[_Part]
    progress: tuple[int, int] | None = None
    began: Started | None = None
    plain: bool = True  # no draft model guesses along


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
    """Runs one request at a time.

    ``load_id`` and ``judge`` are set by who knows: the record of the load that replies run under,
    and what a reply that ends is held against, which is stored with it.

    Signals:
        started(str conversation_id, PromptFit): the prompt was fitted and is being read.
        text_arrived(str message_id, str answer, str reasoning)
        changed(str message_id): waiting, progress or figures changed.
        version_finished(str conversation_id): one of several replies has ended and is stored.
        finished(FinishedReply): after the final state was handed to the store; of several
            replies, the first one's, when all have ended.
    """

    started = Signal(str, object)
    text_arrived = Signal(str, str, str)
    changed = Signal(str)
    version_finished = Signal(str)
    finished = Signal(object)

    def __init__(
        self, engine: EngineProcess, store: StoreBridge, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._store = store
        self._running: _Running | None = None
        self.load_id: str | None = None
        self.judge: Callable[[TurnStats], Judged | None] = lambda _stats: None
        self._saved_s = -math.inf
        self._timer = QTimer(self)
        self._timer.setInterval(_SAVE_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
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
    def message_ids(self) -> tuple[str, ...]:
        """The replies of the running request, those that have ended included."""
        return () if self._running is None else tuple(p.message_id for p in self._running.parts)

    @property
    def live(self) -> LiveReply | None:
        """The running reply as it is now, the first of several."""
        running = self._running
        return None if running is None else _live(running.parts[0], running.progress)

    @property
    def lives(self) -> Mapping[str, LiveReply]:
        """The replies that are being written, by message."""
        running = self._running
        if running is None:
            return {}
        return {
            part.message_id: _live(part, running.progress)
            for part in running.parts
            if not part.ended
        }

    def run(
        self,
        conversation_id: str,
        message_ids: Sequence[str],
        chat: ChatPrompt,
        sampling: SamplingOptions,
        *,
        text: str = "",
        reasoning: str = "",
        before: tuple[TurnPart, ...] = (),
    ) -> None:
        """Ask the engine for one reply or several.

        The messages stand in the store already, in the state ``streaming``; ``text``,
        ``reasoning`` and the figures ``before`` are what a continued reply has already.
        """
        assert self._running is None
        request_id = self._engine.generate(
            conversation_id, chat, sampling, replies=len(message_ids)
        )
        self._running = _Running(
            conversation_id,
            request_id,
            [
                _Part(
                    message_id,
                    [text] if text else [],
                    [reasoning] if reasoning else [],
                    before=before,
                )
                for message_id in message_ids
            ],
        )
        self._saved_s = -math.inf  # the first words don't wait
        self._timer.start()

    def stop(self) -> None:
        """End the running replies; what there is of them stays."""
        if self._running is not None:
            self._engine.cancel(self._running.request_id)

    def discard(self, conversation_id: str) -> None:
        """Stop and forget the reply of a conversation that is being deleted."""
        if self._running is not None and self._running.conversation_id == conversation_id:
            self.stop()

    def save_now(self) -> None:
        """Store what there is (before the window closes)."""
        if self._running is not None:
            for part in self._running.parts:
                part.unsaved = not part.ended
            self._save(interrupted=True)

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        running = self._running
        if running is None or getattr(message, "id", None) != running.request_id:
            return
        if isinstance(message, Started):
            running.progress = (0, message.new_tokens)
            running.began = message
            # Kept, since an engine that is lost has no model any more when its reply is stored.
            model = self._engine.state.model
            running.plain = model is not None and model.draft is None
            self.started.emit(running.conversation_id, message.fit)
            self._all_changed(running)
        elif isinstance(message, Progress):
            running.progress = (message.done_tokens, message.total_tokens)
            self._all_changed(running)
        elif isinstance(message, Chunk):
            if message.reply < len(running.parts):
                self._on_chunk(running.parts[message.reply], message)
        elif isinstance(message, ReplyDone):
            if message.reply < len(running.parts):
                self._end(running.parts[message.reply], message)
                self.version_finished.emit(running.conversation_id)
        elif isinstance(message, Done):
            self._finish(running, message, None)
        elif isinstance(message, Failed):
            self._finish(running, None, message)

    def _all_changed(self, running: _Running) -> None:
        for part in running.parts:
            self.changed.emit(part.message_id)

    def _on_chunk(self, part: _Part, chunk: Chunk) -> None:
        first = part.waiting
        part.waiting = False
        part.reply_tokens = chunk.reply_tokens
        part.reasoning_tokens = chunk.reasoning_tokens
        part.decode_per_s = chunk.decode_per_s
        if chunk.answer or chunk.reasoning:
            part.unsaved = True
        if chunk.answer:
            part.text.append(chunk.answer)
        if chunk.reasoning:
            part.reasoning.append(chunk.reasoning)
        now = time.monotonic()
        # Not by the timer alone: in a busy window it waits behind the chunks.
        if part.unsaved and now - self._saved_s >= _SAVE_MS / 1000:
            self._save()
        if first:
            part.figures_s = now
            self.changed.emit(part.message_id)
            return
        if chunk.answer or chunk.reasoning:
            self.text_arrived.emit(part.message_id, chunk.answer, chunk.reasoning)
        if now - part.figures_s >= _FIGURES_S:
            part.figures_s = now
            self.changed.emit(part.message_id)

    @Slot()
    def _save(self, *, interrupted: bool = False) -> None:
        for part in () if self._running is None else self._running.parts:
            if part.unsaved:
                self._saved_s = time.monotonic()
                part.unsaved = False
                self._store_part(part, "interrupted" if interrupted else "streaming", None, None)

    def _store_part(
        self, part: _Part, state: MessageState, stop_reason: str | None, stats: TurnStats | None
    ) -> str:
        """Hand a reply to the store as it is; return its text."""
        text, reasoning = "".join(part.text), "".join(part.reasoning)
        part.text = [text]
        part.reasoning = [reasoning] if reasoning else []
        message_id = part.message_id
        if stats is None:
            stats = self._so_far(part)
        if stats is None and part.before:
            # Figures of what was there before are not lost with the rest.
            last = part.before[-1]
            stats = msgspec.structs.replace(last.stats, earlier=part.before[:-1])
        self._store.do(
            lambda store: store.save_reply(message_id, text, reasoning, state, stop_reason, stats)
        )
        return text

    def _so_far(self, part: _Part) -> TurnStats | None:
        """Return what is known of a reply that has not ended, None before its first token."""
        began = None if self._running is None else self._running.began
        if self._running is None or began is None or not part.reply_tokens:
            return None
        # With a draft the time says nothing without the tokens drafted, which come at the end.
        per_s = part.decode_per_s if self._running.plain else None
        return TurnStats(
            n_ctx=began.fit.n_ctx,
            prompt_tokens=began.fit.prompt_tokens,
            reused_tokens=began.reused_tokens,
            evaluated_tokens=began.new_tokens,
            reply_tokens=part.reply_tokens,
            reasoning_tokens=part.reasoning_tokens,
            decode_s=(part.reply_tokens - 1) / per_s if per_s else 0.0,
            load_id=self.load_id,
            replies_at_once=len(self._running.parts),
            earlier=part.before,
        )

    def _end(self, part: _Part, done: Done | ReplyDone) -> tuple[str, MessageState, TurnStats]:
        part.ended = True
        part.unsaved = False
        state: MessageState = "stopped" if done.stop == "stopped" else "complete"
        stats = msgspec.structs.replace(
            done.stats,
            load_id=self.load_id,
            earlier=part.before,
            judged=self.judge(done.stats),
        )
        return self._store_part(part, state, done.stop, stats), state, stats

    def _fail(self, part: _Part, failed: Failed) -> tuple[str, MessageState]:
        part.ended = True
        has_text = bool("".join(part.text) or part.reasoning)
        state: MessageState = "interrupted" if has_text else "failed"
        return self._store_part(part, state, failed.message, None), state

    def _finish(self, running: _Running, done: Done | None, failed: Failed | None) -> None:
        self._timer.stop()
        first, *others = running.parts
        stats: TurnStats | None = None
        if done is not None:
            text, state, stats = self._end(first, done)
        else:
            assert failed is not None
            text, state = self._fail(first, failed)
            for part in others:
                if not part.ended:
                    self._fail(part, failed)
        self._running = None
        reason = done.stop if done is not None else failed.message if failed is not None else None
        self.finished.emit(
            FinishedReply(
                running.conversation_id, first.message_id, state, reason, stats, failed, text
            )
        )


def _live(part: _Part, progress: tuple[int, int] | None) -> LiveReply:
    return LiveReply(
        message_id=part.message_id,
        text="".join(part.text),
        reasoning="".join(part.reasoning),
        reasoning_tokens=part.reasoning_tokens,
        reply_tokens=part.reply_tokens,
        waiting=part.waiting,
        progress=progress,
        decode_per_s=part.decode_per_s,
    )
