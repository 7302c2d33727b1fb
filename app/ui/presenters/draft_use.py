"""What the draft takes: its tokens, those of its files, and how full the window is then."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.engine.fit import reply_room
from app.engine.protocol import Counted, EngineMessage, PromptFit
from app.engine.qt_client import EngineProcess
from app.ui.presenters.draft_files import DraftFiles
from app.ui.shell.views import DraftFacts

__all__ = ["DraftUse", "FileCounts"]


class DraftUse:
    """Figures of the draft on screen, counted and then measured with the chat before it.

    Only the measured ones know what is left out so that the draft fits. What was only counted
    has a share as long as nothing has to be left out: a sum of more is never sent.

    Attributes:
        tokens: of the draft alone; None is not known.
    """

    def __init__(self) -> None:
        self.tokens: int | None = None
        self._fit: PromptFit | None = None
        self._share: float | None = None  # as it was told last

    def forget(self) -> None:
        """Neither the draft nor the chat before it is the one that was counted."""
        self.tokens = None
        self.outgrow()

    def outgrow(self) -> None:
        """The chat before the draft has changed since it was measured."""
        self._fit = self._share = None

    def counted(self, tokens: int) -> None:
        """Take the tokens of the draft alone."""
        self.tokens = tokens
        self._fit = None

    def measured(self, fit: PromptFit) -> None:
        """Take what would be sent with it."""
        self._fit = fit

    def facts(
        self, used_tokens: int | None, n_ctx: int, max_tokens: int | None, *, is_measured: bool
    ) -> DraftFacts:
        """Return what stands below it.

        Args:
            used_tokens: what the chat before it takes, None if that is not known.
            n_ctx: tokens of the window.
            max_tokens: limit of the reply, None for none.
            is_measured: the engine is at it; until it answers the last share stands.
        """
        if self.tokens is None:
            return DraftFacts()
        after = n_ctx if used_tokens is None else used_tokens + self.tokens
        if self._fit is not None and self._fit.n_ctx == n_ctx:
            self._share = self._fit.prompt_tokens / n_ctx
        elif after <= n_ctx - reply_room(n_ctx, max_tokens):
            self._share = after / n_ctx
        elif not is_measured:
            self._share = None
        return DraftFacts(self.tokens, self._share)


class FileCounts(QObject):
    """Has the engine count each file that is attached, if a model is loaded."""

    def __init__(
        self, engine: EngineProcess, files: DraftFiles, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._files = files
        self._asked: dict[int, str] = {}  # requests, and the files they count
        files.attached.connect(self._count)
        engine.message.connect(self._on_message)

    @Slot(str, str)
    def _count(self, key: str, text: str) -> None:
        if self._engine.state.model is not None:
            self._asked[self._engine.count(text)] = key

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Counted) and message.id in self._asked:
            self._files.set_tokens(self._asked.pop(message.id), message.tokens)
