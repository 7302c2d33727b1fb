"""What is fastest here: measured after a model's first load, told in a line, undone and redone.

It waits until nothing is asked of the engine and no other program uses the processors; a message
ends it at once, and the next load tries again. What the user set is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

from app.data.probe import busy_sentence
from app.data.tunings import KeptTuning, Tunings
from app.engine.protocol import EngineMessage, Failed, ModelInfo, Tuned, TuneRow
from app.engine.qt_client import EngineProcess, EngineState
from app.settings import Settings
from app.tuned import faster_rows, kept_of
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.numbers import grouped
from app.ui.presenters.engine import EnginePresenter
from app.ui.shell.views import Choice, Notice

__all__ = ["TuningPresenter"]

_NOTICE: Final = "tuned"
_WAIT_MS: Final = 1500
_BUSY_WAIT_MS: Final = 20_000
_MOST_TRIES: Final = 8


class TuningPresenter(QObject):
    """Has the engine measure, and tells what came of it.

    ``is_quiet`` tells whether the program itself leaves the processors alone; ``busy`` says in a
    sentence which other programs use them, beside the processes named.
    """

    def __init__(
        self,
        engine: EngineProcess,
        models: EnginePresenter,
        window: MainWindow,
        settings: Settings,
        is_quiet: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._models = models
        self._window = window
        self._settings = settings
        self._is_quiet = is_quiet
        self.enabled = True  # False: only when asked (tests)
        self.busy: Callable[[tuple[int, ...]], str] = busy_sentence
        self._request_id = 0
        self._undo_id = 0
        self._key = ""  # of the model that is being measured
        self._known: KeptTuning | None = None  # what was known of it before
        self._by_hand = False
        self._tries = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._when_idle)
        models.loading.connect(self._on_loading)
        models.model_loaded.connect(self._on_loaded)
        engine.state_changed.connect(self._on_state)
        engine.message.connect(self._on_message)
        window.chat.notices.chosen.connect(self._on_choice)
        self._on_state(engine.state)

    @Slot()
    def again(self) -> None:
        """Measure the loaded model because the user wants it, whatever is known."""
        if self._may_ask():
            self._timer.stop()
            self._begin(by_hand=True)

    def close(self) -> None:
        """The program ends by itself: what is not finished is not held against the model."""
        self._timer.stop()
        if self._engine.state.status == "measuring":
            self._take_back()

    # --- by itself ---

    @Slot(str, object)
    def _on_loading(self, _path: str, _options: object) -> None:
        self._timer.stop()
        self._window.chat.notices.remove_notice(_NOTICE)

    @Slot(object)
    def _on_loaded(self, model: ModelInfo) -> None:
        tunings, key = self._tunings, self._models.tuning_key
        everything_on_gpu = (
            bool(model.devices_used) and model.layers_offloaded >= model.layers_total
        )
        if not self.enabled or not self._settings.get("tune") or everything_on_gpu:
            return
        if tunings is None or not key or tunings.get(key) is not None:
            return
        self._tries = 0
        self._timer.start(_WAIT_MS)

    @Slot(object)
    def _on_state(self, state: EngineState) -> None:
        if state.status not in {"ready", "measuring"}:
            self._timer.stop()  # what is in the cache now is worth more
        self._window.actions_by_key["measure_again"].setEnabled(
            state.model is not None and state.status == "ready"
        )

    @Slot()
    def _when_idle(self) -> None:
        pid = self._engine.state.pid
        if self._engine.state.status != "ready" or pid is None:
            return
        if not self._is_quiet():
            self._timer.start(_WAIT_MS)
            return

        def looked(sentence: str) -> None:
            if self._engine.state.status != "ready" or self._engine.state.pid != pid:
                return
            if not sentence and self._is_quiet():
                self._begin(by_hand=False)
                return
            self._tries += 1
            if self._tries < _MOST_TRIES:
                self._timer.start(_BUSY_WAIT_MS)

        busy = self.busy
        tasks.run(lambda: busy((pid,)), looked, None, self)

    # --- measuring ---

    @property
    def _tunings(self) -> Tunings | None:
        return self._models.tunings

    def _begin(self, *, by_hand: bool) -> None:
        tunings, key = self._tunings, self._models.tuning_key
        if tunings is None or not key:
            return
        self._key, self._by_hand = key, by_hand
        self._known = tunings.get(key)
        tunings.begin(key)
        self._window.chat.notices.remove_notice(_NOTICE)
        self._request_id = self._engine.tune(self._models.asked)

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Tuned) and message.id == self._request_id:
            self._on_tuned(message)
        elif isinstance(message, Failed) and message.id == self._request_id:
            self._on_failed(message)
        elif isinstance(message, Tuned) and message.id == self._undo_id:
            self._say(self.tr("The engine's own settings are in use again."), again=True)

    def _on_tuned(self, tuned: Tuned) -> None:
        if self._tunings is not None:
            self._tunings.keep(self._key, kept_of(tuned.after))
        if tuned.after != tuned.before:
            self._say(self._sentence(tuned), undo=True, again=True)
        elif self._by_hand:
            text = self.tr("Measured: the engine's own settings are the fastest here.")
            self._say(f"{text} {tuned.note}".strip(), again=True)

    def _on_failed(self, failed: Failed) -> None:
        if failed.kind == "cancelled":
            self._take_back()
        elif self._by_hand and self._engine.state.status != "lost":
            self._say(failed.message)

    def _take_back(self) -> None:
        """Know what was known before; if that was nothing, the next load measures it."""
        tunings = self._tunings
        if tunings is None:
            return
        if self._known is None:
            tunings.forget(self._key)
        else:
            tunings.keep(self._key, self._known)

    def _sentence(self, tuned: Tuned) -> str:
        after = tuned.after
        words = (
            self.tr("{0} threads to write")
            if after.threads != 1
            else self.tr("{0} thread to write")
        )
        parts = [
            words.format(after.threads),
            self.tr("{0} to read").format(after.threads_batch),
        ]
        if tuned.model.flash_attention is not None:
            on = tuned.model.flash_attention
            parts.append(self.tr("flash attention on") if on else self.tr("flash attention off"))
        if after.n_ubatch != tuned.before.n_ubatch:
            parts.append(self.tr("micro-batch {0}").format(grouped(after.n_ubatch)))
        gains = ", ".join(self._gain(row) for row in faster_rows(tuned))
        text = self.tr("Measured what is fastest here: {0}").format(", ".join(parts))
        return f"{text}: {gains}." if gains else f"{text}."

    def _gain(self, row: TuneRow) -> str:
        share = f"+{round((row.after / row.before - 1) * 100)}\u00a0%"  # not broken there
        words = {
            ("decode", False): self.tr("{0} writing"),
            ("prefill", False): self.tr("{0} reading"),
            ("decode", True): self.tr("{0} writing at a depth of {1} tokens"),
            ("prefill", True): self.tr("{0} reading at a depth of {1} tokens"),
        }
        return words[row.test, row.depth > 0].format(share, grouped(row.depth))

    # --- undone and redone ---

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice != _NOTICE or not self._may_ask():
            return
        if choice == "again":
            self.again()
        elif choice == "undo" and self._tunings is not None:
            self._tunings.keep(self._models.tuning_key, KeptTuning(outcome="undone"))
            self._undo_id = self._engine.tune(self._models.asked, measure=False)

    def _may_ask(self) -> bool:
        state = self._engine.state
        if state.model is None or state.status != "ready":
            self._window.chat.notices.show_notice(
                Notice("engine", self.tr("The engine is busy; wait for it or stop it."))
            )
            return False
        return True

    def _say(self, text: str, *, undo: bool = False, again: bool = False) -> None:
        choices = []
        if undo:
            choices.append(
                Choice(
                    "undo",
                    self.tr("Undo"),
                    tooltip=self.tr("Use the engine's own settings for this model."),
                )
            )
        if again:
            choices.append(Choice("again", self.tr("Measure again")))
        self._window.chat.notices.show_notice(Notice(_NOTICE, text, choices=tuple(choices)))
