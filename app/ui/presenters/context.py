"""The context window on screen: the gauge, the draft's figures, and the warning before overflow.

Nothing overflows silently: before sending, the user sees what would leave the window and can
choose; the default keeps the system prompt and the newest turns.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.protocol import (
    Counted,
    EngineMessage,
    Failed,
    Measured,
    PromptFit,
)
from app.engine.qt_client import EngineProcess
from app.settings import Settings
from app.ui.chat_controller import ChatController
from app.ui.chat_prompt import message_content
from app.ui.chat_state import NewChat, draft_prompt
from app.ui.main_window import MainWindow
from app.ui.presenters.chat import ChatPresenter
from app.ui.presenters.context_offer import OverflowSign, overflow_of
from app.ui.presenters.context_use import CachedChat, context_use, known_use
from app.ui.presenters.draft_use import DraftUse, FileCounts
from app.ui.presenters.turn_fits import TurnFits
from app.ui.reply_runner import FinishedReply
from app.ui.shell.views import DraftFacts
from app.ui.wanted_turn import WantedTurn

__all__ = ["ContextPresenter"]

_PAUSE_MS = 250
_MIN_MEASURED_SHARE = 0.5
_MEASURED_TOKENS = 4096  # cutting so many into tokens again takes some milliseconds


class ContextPresenter(QObject):
    """Counts the draft while it is written and measures the whole when it gets tight.

    Signals:
        context_wanted(int): load the model again with this context, in tokens.
        cache_wanted(int): the same with a q8_0 cache.
        summary_wanted(): go on in a new chat that begins with a summary.
        use_told(tokens, cached): what the chat on screen takes of the window, None is not known;
            and how much of that lies in the cache, None is all of it.
        draft_told(new, reused): tokens that the draft would have read and those it would find in
            the cache; None is no draft, or not known.
    """

    context_wanted = Signal(int)
    cache_wanted = Signal(int)
    summary_wanted = Signal()
    use_told = Signal(object, object)
    draft_told = Signal(object, object)

    def __init__(
        self,
        engine: EngineProcess,
        controller: ChatController,
        chat: ChatPresenter,
        window: MainWindow,
        settings: Settings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._controller = controller
        self._chat = chat
        self._window = window
        self._settings = settings
        self.is_counted = False  # whether the following is known
        self._used_tokens = 0  # of the conversation on screen, as far as it is known
        self._branch_tokens = 0  # of the other replies that are written at once
        self._count_id = 0
        self._measure_id = 0
        self._draft_measure_id = 0
        self._is_checked = False  # the draft was counted as it is now
        self._is_wanted = False  # it is to be sent as soon as it was
        self._unfit: tuple[str, PromptFit] | None = None  # a reply that failed for its prompt
        self._leaf: str | None = None  # last message of the branch that was measured
        self._draft = DraftUse()
        self._cached = CachedChat(engine, controller, self)
        self._cached.changed.connect(self.tell_use)
        self._turns = TurnFits(engine, controller, settings, self._holds_turn, self)
        self._turns.changed.connect(self._on_turn_held)
        controller.left.connect(self._turns.forget)
        window.closing.connect(self._turns.forget)  # before the draft is stored
        controller.asker.measures = self._measures_turn
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._count)
        engine.message.connect(self._on_message)
        window.chat.composer.send_requested.connect(self.send)
        window.chat.composer.draft_changed.connect(self._on_draft_changed)
        self._sign = OverflowSign(window, self)
        self._sign.chosen.connect(self._on_choice)
        self._files = FileCounts(engine, chat.files, self)
        controller.views_changed.connect(self._on_views)
        controller.reply_failed.connect(self._on_reply_failed)
        controller.runner.changed.connect(self._on_progress)
        controller.runner.finished.connect(self._on_finished)

    # --- how full it is ---

    def refresh(self) -> None:
        """Find out how much of the window the conversation on screen takes."""
        self._is_checked = self._is_wanted = False
        self._rest()
        self._branch_tokens = 0  # one reply alone stays in the cache
        self._leaf = self._controller.path[-1].id if self._controller.path else None
        known = self._known_use()
        self._draft.outgrow()
        self._used_tokens = known or 0
        self.is_counted = known is not None
        self._measure_id = 0 if known is not None else self._measure(with_draft=False)
        self.tell_use()
        self._timer.start()

    def _known_use(self) -> int | None:
        return known_use(self._controller.opened, self._engine.state.model)

    @Slot(object)
    def _on_views(self, _views: object) -> None:
        """Another branch, a deletion, or the end of a reply changes what is used."""
        path = self._controller.path
        leaf = path[-1].id if path else None
        if not self._controller.answering_here and (
            leaf != self._leaf or self._branch_tokens or self._used_tokens != self._known_use()
        ):
            self.refresh()
        elif not self._controller.answering_here:
            self.tell_use()

    @Slot(object)
    def _on_finished(self, _finished: object) -> None:
        """Count what could not be counted while another chat was being answered."""
        if self._is_unknown:
            self.refresh()

    def _n_ctx(self) -> int | None:
        model = self._engine.state.model
        return None if model is None else model.n_ctx

    @property
    def use_tokens(self) -> int | None:
        """What the chat on screen takes of the loaded model's window, None if not known."""
        return None if self._n_ctx() is None or not self.is_counted else self._used_tokens

    @Slot()
    def tell_use(self) -> None:
        """Tell what the chat on screen takes of the window and of the cache."""
        n_ctx = self._n_ctx()
        if n_ctx is None:
            self.use_told.emit(None, None)
            self._window.header.gauge.set_use(None)
            return
        use = context_use(
            self._controller,
            self._cached,
            used_tokens=self._used_tokens,
            branch_tokens=self._branch_tokens,
            n_ctx=n_ctx,
        )
        self.use_told.emit(self.use_tokens, use.cached_tokens)
        self._show_draft()
        self._window.header.gauge.set_use(None if self._is_unknown else use)

    @property
    def _is_unknown(self) -> bool:
        """Tell whether nobody can say now what the chat takes: another one is being answered."""
        return bool(self._controller.path) and not self.is_counted and not self._measure_id

    @Slot(str)
    def _on_progress(self, _message_id: str) -> None:
        live = self._controller.runner.live
        if live is None or not self._controller.answering_here:
            return
        fit = self._controller.fit
        if live.progress is not None and fit is not None:  # what is read now, without what left
            self.is_counted = True
            self._draft.outgrow()
            # The last token that is drawn finds no place in a full window.
            self._used_tokens = min(fit.prompt_tokens + live.reply_tokens, fit.n_ctx)
            others = self._controller.runner.lives
            self._branch_tokens = sum(
                other.reply_tokens for key, other in others.items() if key != live.message_id
            )
            self.tell_use()

    # --- the draft ---

    @Slot()
    def _count(self) -> None:
        text = message_content(self._chat.draft, self._chat.attachments)
        if self._engine.state.model is None:
            self._rest()
            self._draft.forget()
            self.draft_told.emit(None, None)
            self._window.chat.composer.set_draft_facts(DraftFacts())
            return
        if not text:
            self._on_counted(0)
            return
        self._count_id = self._engine.count(text)

    def _on_counted(self, tokens: int) -> None:
        self._draft.counted(tokens)
        self._draft_measure_id = 0
        n_ctx, after = self._n_ctx(), self._used_tokens + tokens
        is_tight = n_ctx is not None and after > n_ctx * _MIN_MEASURED_SHARE
        if tokens and (is_tight or after <= _MEASURED_TOKENS):
            self._draft_measure_id = self._measure(with_draft=True)
        self._show_draft()
        if not self._draft_measure_id:
            self.draft_told.emit(tokens or None, None)
            if not is_tight or not tokens:
                self._rest()
            self._on_checked()

    def _show_draft(self) -> None:
        """Show the draft's figures, if it was counted."""
        n_ctx = self._n_ctx()
        if n_ctx is not None and self._draft.tokens is not None:
            chat = self._controller.opened or self._controller.new_chat_values
            is_measured = bool(self._draft_measure_id)
            facts = self._draft.facts(
                None if self._is_unknown else self._used_tokens,
                n_ctx,
                chat.max_tokens,
                is_measured=is_measured,
            )
            self._window.chat.composer.set_draft_facts(facts)

    def _measure(self, *, with_draft: bool) -> int:
        """Have the engine fit the chat; return the request, 0 if it can't be asked now."""
        state = self._engine.state
        if state.status != "ready" or self._controller.runner.is_running:
            return 0
        chat = self._controller.opened or self._controller.new_chat_values
        if with_draft:
            content = message_content(self._chat.draft, self._chat.attachments)
            prompt = draft_prompt(chat, self._settings, content)
        elif isinstance(chat, NewChat) or not chat.path:
            return 0
        else:
            prompt = chat.prompt(self._settings)
        return self._engine.measure(prompt, chat.max_tokens)

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Counted) and message.id == self._count_id:
            self._on_counted(message.tokens)
        elif isinstance(message, Measured) and message.id == self._draft_measure_id:
            reused = message.reusable_tokens
            self.draft_told.emit(message.fit.prompt_tokens - reused, reused)
            self._draft_measure_id = 0
            self._draft.measured(message.fit)
            self._show_draft()
            self._tell(message.fit)
            self._on_checked()
        elif isinstance(message, Failed) and message.id in {self._count_id, self._draft_measure_id}:
            self._draft_measure_id = 0
            self._show_draft()
            self._on_checked()  # the engine will say of the turn itself what is wrong
        elif isinstance(message, Failed) and message.id == self._measure_id:
            self._measure_id = 0
            self.tell_use()
        elif isinstance(message, Measured) and message.id == self._measure_id:
            self._used_tokens = message.fit.prompt_tokens
            self.is_counted = True
            self.tell_use()
            self._see_refused(message.fit)

    # --- overflow ---

    def _see_refused(self, fit: PromptFit) -> None:
        """What was refused once is offered its ways out again, also after the next start."""
        last = self._controller.path[-1] if self._controller.path else None
        if fit.problem is None or last is None or last.id != self._leaf:
            return
        if last.role == "user" or last.state == "failed":
            self._unfit = (last.id, fit)
            if not self._draft.tokens:
                self._rest()

    def _tell(self, fit: PromptFit, *, of_draft: bool = True) -> bool:
        """Say what does not fit, if anything; return whether it is not to be sent so."""
        blocked = fit.problem is not None
        if blocked or fit.leaving:
            blocked = blocked or self._settings.get("overflow") == "ask"
            self._offer(fit, blocked=blocked, of_draft=of_draft)
        elif self._turns.fit is not None:
            self._rest()
        else:
            self._sign.show(None)
        return blocked

    def _offer(self, fit: PromptFit, *, blocked: bool, of_draft: bool = True) -> None:
        """Say what does not fit: the draft (``blocked``: it is not sent so), or a refused turn."""
        model, has_chat = self._engine.state.model, bool(self._controller.path)
        edit = "" if of_draft else self._turns.new_text
        overflow = overflow_of(fit, model, blocked=blocked, has_chat=has_chat, edit=edit)
        self._sign.show(overflow, blocks=blocked and of_draft)

    @Slot(str)
    def send(self, text: str) -> None:
        """Send the draft, unless it does not fit; one that may not is measured first.

        So it is also where the user wanted to be asked before turns are left out.
        """
        if self._sign.blocks:
            return
        content = message_content(self._chat.draft, self._chat.attachments)
        if not self._is_checked and self._may_overflow(content):
            self._is_wanted = True
            self._timer.stop()
            self._count()
        else:
            self._chat.send(text)

    def _measures_turn(self, turn: WantedTurn, start: Callable[[], None]) -> bool:
        """Measure a turn that is no draft before it begins, if it might not fit."""
        sent = turn.sent() if self._may_overflow(turn.new_text) else None
        if sent is None:
            return False
        self._turns.measure(turn, sent, start)
        return True

    def _holds_turn(self, fit: PromptFit) -> bool:
        return self._tell(fit, of_draft=False)

    @Slot()
    def _on_turn_held(self) -> None:
        self._rest()
        self._timer.start()  # the draft may have something to say as well

    def _may_overflow(self, content: str) -> bool:
        """Tell whether what was not counted might not fit: a token is a byte or more."""
        n_ctx, state = self._n_ctx(), self._engine.state
        if n_ctx is None or state.status != "ready" or self._controller.runner.is_running:
            return False
        used = self._used_tokens + len(content.encode())
        return not self.is_counted or used > n_ctx * _MIN_MEASURED_SHARE

    @Slot()
    def _on_draft_changed(self) -> None:
        self._is_checked = self._is_wanted = False
        self._count_id = self._draft_measure_id = 0  # what is on its way is of another draft
        if self._window.chat.composer.edit.document().isEmpty():
            self._draft.counted(0)  # it was sent: its figures would be added to what is read
        self._timer.start()

    def _on_checked(self) -> None:
        """The draft on screen was found to fit, or not; Send may have been pressed for it."""
        self._is_checked = True
        wanted, self._is_wanted = self._is_wanted, False
        if wanted and not self._sign.blocks:
            self._chat.send(self._chat.draft)

    def _rest(self) -> None:
        """Nothing is wrong with the draft: say what the message above it lacks, or nothing."""
        path, unfit, held = self._controller.path, self._unfit, self._turns.fit
        if held is None and unfit is not None and path and path[-1].id == unfit[0]:
            held = unfit[1]  # alone it would fail again
        if held is not None and held.n_ctx == self._n_ctx():
            self._offer(held, blocked=True, of_draft=False)
        else:
            self._sign.show(None)

    @Slot(str)
    def _on_choice(self, key: str) -> None:
        is_of_draft = self._sign.blocks
        self._sign.show(None)
        name, _, number = key.partition(":")
        if name == "send" and not is_of_draft:
            self._turns.go()
        elif name == "send":
            self._chat.send(self._chat.draft)
        elif name == "context":
            self.context_wanted.emit(int(number))
        elif name == "cache":
            self.cache_wanted.emit(int(number))
        elif name == "summary":
            self.summary_wanted.emit()

    @Slot(object)
    def _on_reply_failed(self, finished: FinishedReply) -> None:
        failed = finished.failed
        if failed is not None and failed.fit is not None:
            self._unfit = (finished.message_id, failed.fit)
            self._offer(failed.fit, blocked=True, of_draft=False)
