"""How much of a chat lies in the engine's cache: what was read and written last, no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal, Slot

from app.data.records import Message
from app.engine.protocol import EngineMessage, Loaded, ModelInfo, PromptFit, Tuned
from app.engine.qt_client import EngineProcess
from app.ui.chat_controller import ChatController
from app.ui.chat_state import Opened
from app.ui.reply_runner import FinishedReply
from app.ui.shell.views import ContextUse

__all__ = ["CachedChat", "context_use", "known_use"]


class _Turn(NamedTuple):
    """The turn that ended last, and the tokens that it left in the cache."""

    conversation_id: str
    message_id: str
    tokens: int


class CachedChat(QObject):
    """Follows which chat's tokens lie in the cache, and how many.

    Signals:
        changed(): by a load, or by a turn of another chat than the one on screen.
    """

    changed = Signal()

    def __init__(
        self, engine: EngineProcess, controller: ChatController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._controller = controller
        self._last: _Turn | None = None
        self._branch: frozenset[str] = frozenset()  # messages up to that turn's, once seen
        engine.message.connect(self._on_message)
        controller.runner.started.connect(self._on_started)
        controller.runner.finished.connect(self._on_finished)

    def tokens(self, path: Sequence[Message], used_tokens: int) -> int | None:
        """Return how many of a chat's tokens lie in the cache; None: all of them, or not known.

        Args:
            path: the branch that is shown.
            used_tokens: what it takes of the window, 0 if that is not known.
        """
        last = self._last
        if not path:
            return None
        if last is None or last.conversation_id != path[0].conversation_id:
            return 0
        if all(message.id != last.message_id for message in reversed(path)):
            return self._common(path)
        if last.message_id not in self._branch:  # once a turn: the branch may have thousands
            ids = [message.id for message in path]
            self._branch = frozenset(ids[: ids.index(last.message_id) + 1])
        return last.tokens if last.tokens < used_tokens else None

    def _common(self, path: Sequence[Message]) -> int | None:
        """Return what another branch has in common with the one in the cache, None if not known.

        As far as a reply in both was measured: what was asked after it is read again in any case.
        """
        last = self._last
        if last is None or last.message_id not in self._branch:
            return None
        shared = [message for message in path if message.id in self._branch]
        return next(
            (item.stats.context_used_tokens for item in reversed(shared) if item.stats is not None),
            0,
        )

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Loaded | Tuned):
            self._last = None
            self.changed.emit()

    @Slot(str, object)
    def _on_started(self, conversation_id: str, _fit: PromptFit) -> None:
        """A prompt is read over what lies there."""
        if self._last is not None and self._last.conversation_id != conversation_id:
            self._last = None
            self._tell(conversation_id)

    @Slot(object)
    def _on_finished(self, finished: FinishedReply) -> None:
        stats = finished.stats
        if stats is not None:
            read = stats.reused_tokens + stats.evaluated_tokens
            tokens = stats.context_used_tokens if stats.has_read_all else read
            self._last = _Turn(finished.conversation_id, finished.message_id, tokens)
            self._tell(finished.conversation_id)

    def _tell(self, conversation_id: str) -> None:
        """Of its own turn the chat on screen is told once that was read back from the store."""
        here = self._controller.conversation
        if here is None or here.id != conversation_id:
            self.changed.emit()


def known_use(opened: Opened | None, model: ModelInfo | None) -> int | None:
    """Return what the last reply measured, None if the branch on screen has more or less.

    Args:
        opened: the chat on screen, None for a new one.
        model: the loaded model, None if there is none.
    """
    if opened is None or not opened.path:
        return 0
    last = opened.path[-1]
    stats = last.stats
    if stats is None or model is None or last.model_name != model.name:
        return None
    used = stats.context_used_tokens
    # Another context makes no other figure, if all of the chat fitted and fits.
    whole = opened.conversation.keep_from is None
    return used if stats.n_ctx == model.n_ctx or (whole and used <= model.n_ctx) else None


def context_use(
    controller: ChatController,
    cached: CachedChat,
    *,
    used_tokens: int,
    branch_tokens: int,
    n_ctx: int,
) -> ContextUse:
    """Return what the gauge shows of the chat on screen.

    Args:
        controller: has the chat.
        cached: what of it lies in the cache.
        used_tokens: what its branch takes of the window.
        branch_tokens: what other replies take that are written at once.
        n_ctx: tokens of the window.
    """
    here = controller.conversation
    event = controller.events[-1] if controller.events else None
    if here is None or here.keep_from is None:
        event = None
    is_written = controller.answering_here
    return ContextUse(
        used_tokens + branch_tokens,
        n_ctx,
        0 if event is None else len(event.dropped),
        0 if event is None else event.dropped_tokens,
        len(controller.runner.message_ids) if branch_tokens else 1,
        None if is_written else cached.tokens(controller.path, used_tokens),
    )
