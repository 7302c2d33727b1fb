"""Whether a turn fits the context that is no draft: it is measured first, as a draft is."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.engine.protocol import EngineMessage, Failed, Loaded, Measured, PromptFit
from app.engine.qt_client import EngineProcess, EngineState
from app.settings import Settings
from app.ui.chat_controller import ChatController
from app.ui.wanted_turn import Sent, WantedTurn

__all__ = ["TurnFits"]


class TurnFits(QObject):
    """Measures an edit, another version or a continuation, and holds it back if it does not fit.

    What is held back begins when the user chooses so (`go`) or when a model was loaded in which it
    fits. It is given up with the messages it belongs to: another branch, another chat, another
    turn.

    Signals:
        changed(): one is held back, or no longer.
    """

    changed = Signal()

    def __init__(
        self,
        engine: EngineProcess,
        controller: ChatController,
        settings: Settings,
        judge: Callable[[PromptFit], bool],
        parent: QObject | None = None,
    ) -> None:
        """Make it; ``judge`` tells what does not fit, and whether that holds the turn back."""
        super().__init__(parent)
        self._engine = engine
        self._controller = controller
        self._settings = settings
        self._judge = judge
        self._turn: WantedTurn | None = None
        self._start: Callable[[], None] | None = None
        self._path: tuple[str, ...] = ()  # the messages that it belongs to
        self._request = 0
        self._fit: PromptFit | None = None
        engine.message.connect(self._on_message)
        engine.state_changed.connect(self._on_state)
        controller.asker.asked.connect(self._on_asked)
        controller.views_changed.connect(self._on_views)

    @property
    def fit(self) -> PromptFit | None:
        """How the turn that is held back does not fit, None if there is none."""
        return self._fit

    @property
    def new_text(self) -> str:
        """The text of an edit that is held back or measured, empty if it is none."""
        return "" if self._turn is None else self._turn.new_text

    def measure(self, turn: WantedTurn, sent: Sent, start: Callable[[], None]) -> None:
        """Begin a turn, with ``start``, if it fits."""
        self.forget()
        self._turn, self._start = turn, start
        self._path = tuple(message.id for message in self._controller.path)
        self._ask(sent)

    def go(self) -> None:
        """Begin the turn that is held back, as the user has chosen."""
        start = self._start
        self._end()
        if start is not None:
            start()

    @Slot()
    def forget(self) -> None:
        """Give the turn up; what was typed for it is kept."""
        turn = self._turn
        self._end()
        if turn is not None:
            turn.give_up()

    def _is_hopeless(self, fit: PromptFit) -> bool:
        """Tell whether no context of the loaded model is long enough."""
        model = self._engine.state.model
        trained = 0 if model is None else model.n_ctx_train
        return fit.problem is not None and 0 < trained < fit.needed_tokens

    def _ask(self, sent: Sent) -> None:
        self._fit = None
        self._request = self._engine.measure(sent.prompt(self._settings), sent.max_tokens)

    def _end(self) -> None:
        was_held = self._fit is not None
        self._turn = self._start = self._fit = None
        self._request = 0
        if was_held:
            self.changed.emit()

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Loaded) and self._fit is not None and self._turn is not None:
            sent = self._turn.sent()
            if sent is None:
                self.forget()
            else:
                self._ask(sent)
        elif not self._request or getattr(message, "id", 0) != self._request:
            return
        elif isinstance(message, Measured):
            self._request = 0
            if not self._judge(message.fit):
                self.go()
            elif self._turn is not None and self._turn.new_text and self._is_hopeless(message.fit):
                self.forget()  # what can only be made shorter has to be seen for that
            else:
                self._fit = message.fit
                self.changed.emit()
        elif isinstance(message, Failed):
            self.go()  # the engine will say of the turn itself what is wrong

    @Slot(object)
    def _on_state(self, state: EngineState) -> None:
        if state.model is None and state.status != "loading":
            self.forget()

    @Slot(object, object)
    def _on_asked(self, _opened: object, _shown: object) -> None:
        self.forget()  # another turn began in its place

    @Slot(object)
    def _on_views(self, _views: object) -> None:
        path = self._controller.path
        if self._turn is not None and self._path != tuple(message.id for message in path):
            self.forget()
