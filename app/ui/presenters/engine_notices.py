"""What is said above the transcript of loads and of the engine, with what helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from app.engine.protocol import Failed, ModelInfo
from app.engine.qt_client import EngineProcess, EngineState
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.presenters.load_choices import changes_of, way_back, ways_out
from app.ui.presenters.model_names import FileLook
from app.ui.shell.views import Choice, Notice

if TYPE_CHECKING:
    from app.data.records import Conversation

__all__ = ["LOSS_NOTICE", "EngineNotices"]

LOSS_NOTICE = "engine-lost"
_SILENT = "engine-silent"
_LOAD_FAILED = "load-failed"
_OTHER_MODEL = "other-model"
_SAID = "engine"
_CHOOSE = "choose"  # another model, from the list
_OPEN = "open-file"


class EngineNotices(QObject):
    """Shows the notices, and tells what was chosen in them.

    Signals:
        load_wanted(str): a model is to be loaded.
        reload_wanted(dict): the same model is to be loaded with these settings changed.
    """

    load_wanted = Signal(str)
    reload_wanted = Signal(dict)

    def __init__(
        self,
        engine: EngineProcess,
        window: MainWindow,
        settings: Settings,
        look: Callable[[str], FileLook],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._window = window
        self._notices = window.chat.notices
        self._settings = settings
        self._look = look
        self.path: str | None = None  # the model that is loaded or was asked for last
        self.previous: str | None = None  # the model that gave way to the one being loaded
        self._silent_s = 0.0  # as it was told last
        self._offered: str | None = None  # the model of the chat on screen
        self._notices.chosen.connect(self._on_choice)

    def clear(self) -> None:
        """Take away what another load makes out of date."""
        for key in (LOSS_NOTICE, _LOAD_FAILED, _OTHER_MODEL, _SAID):
            self._notices.remove_notice(key)

    def offer_model_of(self, conversation: Conversation | None) -> None:
        """Offer the model that a chat was held with, if another one is loaded."""
        self._notices.remove_notice(_OTHER_MODEL)
        if conversation is None or conversation.model_path in {None, self.path}:
            return
        if not Path(str(conversation.model_path)).is_file():
            return
        self._offered = conversation.model_path
        # With its type: of two variants of a model the names are equal.
        name = self._look(str(conversation.model_path)).title
        self._notices.show_notice(
            Notice(
                _OTHER_MODEL,
                self.tr("This chat was held with {0}.").format(name),
                choices=(Choice("load", self.tr("Load it")),),
            )
        )

    def tell_loss(self, state: EngineState) -> None:
        """Say that the engine is gone, why, and what helps."""
        sentence = state.sentence or self.tr("The engine ended.")
        self._notices.show_notice(
            Notice(LOSS_NOTICE, sentence, "error", state.detail, self._ways_out())
        )

    def tell_silence(self, state: EngineState) -> None:
        """Say that the engine was told to stop and gives no sign; take that back when it does."""
        before, self._silent_s = self._silent_s, state.silent_s
        if state.silent_s == before:
            return
        if not state.silent_s:
            self._notices.remove_notice(_SILENT)
            return
        text = self.tr(
            "The engine does not answer: it was told to stop and has given no sign since. "
            "One long step may keep it busy."
        )
        if state.status in {"prefill", "decode"}:
            text += " " + self.tr("If you end it, the reply stays as far as it came.")
        choices = (Choice("end", self.tr("End it"), "primary"), Choice("wait", self.tr("Wait")))
        self._notices.show_notice(Notice(_SILENT, text, "warning", choices=choices, closable=False))

    def tell_problem(self, sentence: str) -> None:
        """Say why a file was not even tried."""
        choices = (
            Choice(_CHOOSE, self.tr("Choose a model"), "primary"),
            Choice(_OPEN, self.tr("Open a file…")),
        )
        self._notices.show_notice(Notice(_LOAD_FAILED, sentence, "error", choices=choices))

    def tell_failure(self, failed: Failed) -> None:
        """Say that a load failed, and what helps."""
        choices = self._ways_out() if failed.kind != "bad_model" else self._way_back()
        self._notices.show_notice(
            Notice(_LOAD_FAILED, failed.message, "error", failed.detail, choices)
        )

    def tell_loaded(self, model: ModelInfo) -> None:
        """Say what was not as asked in a load that succeeded."""
        for index, sentence in enumerate((model.template_notice, *model.notices)):
            if sentence:
                severity = "warning" if index else "info"
                self._notices.show_notice(Notice(f"load-{index}", sentence, severity))  # type: ignore[arg-type]

    def say(self, sentence: str) -> None:
        """Say something of the engine."""
        self._notices.show_notice(Notice(_SAID, sentence, "info"))

    def _values(self) -> dict[str, Any]:
        return dict(self._settings.load_values(self.path))

    def _ways_out(self) -> tuple[Choice, ...]:
        if self.path is None:
            return ()
        state = self._engine.state
        has_gpu = state.model is not None and state.model.layers_offloaded > 0
        return (
            *ways_out(
                self._values(),
                state.lost_remotes,
                has_gpu=has_gpu,
                from_outside=state.status == "lost" and state.from_outside,
            ),
            *self._way_back(),
        )

    def _way_back(self) -> tuple[Choice, ...]:
        return way_back(None if self.previous is None else self._look(self.previous).title)

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice == _OTHER_MODEL and self._offered is not None:
            self._notices.remove_notice(notice)
            self.load_wanted.emit(self._offered)
            return
        if notice == _SILENT:
            self._notices.remove_notice(notice)
            if choice == "end":
                self._engine.end()
            else:
                self._engine.wait()
            return
        if notice == _LOAD_FAILED and choice == _CHOOSE:
            self._window.open_picker()  # the notice stays until something is loaded
            return
        if notice == _LOAD_FAILED and choice == _OPEN:
            self._window.choose_model_file()
            return
        if notice not in {LOSS_NOTICE, _LOAD_FAILED} or self.path is None:
            return
        self._notices.remove_notice(notice)
        if choice == "back" and self.previous is not None:
            self.load_wanted.emit(self.previous)
            return
        lost = self._engine.state.lost_remotes
        self.reload_wanted.emit(changes_of(choice, self._values(), lost))
