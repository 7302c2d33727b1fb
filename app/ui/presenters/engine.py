"""The engine in the window: the model in the header, the status line, failures and what helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Signal, Slot

from app.data.state import LoadOutcome, StateFile
from app.engine.protocol import EngineMessage, Failed, Hello, Load, Loaded, LoadOptions, ModelInfo
from app.engine.qt_client import EngineProcess, EngineState
from app.logs import engine_log
from app.settings import Settings
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.presenters.engine_notices import EngineNotices
from app.ui.presenters.model_names import FileLook, look_at, named_by_path
from app.ui.presenters.status import Bandwidth, elsewhere, header_model, status_facts

if TYPE_CHECKING:
    from app.data.tunings import Tunings

__all__ = ["EnginePresenter"]


class EnginePresenter(QObject):
    """Loads models and shows how the engine is.

    Signals:
        wanted(): a load is wanted; whoever follows it has to be there now.
        expected_changed(): `loading_name` is another one, though the engine's state is not.
        loading(str path, LoadOptions): a load was asked for.
        model_loaded(ModelInfo)
    """

    wanted = Signal()
    expected_changed = Signal()
    loading = Signal(str, object)
    model_loaded = Signal(object)

    def __init__(
        self,
        engine: EngineProcess,
        window: MainWindow,
        settings: Settings,
        state: StateFile,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._window = window
        self._settings = settings
        self.state = state
        self._load_id = 0
        self._expected: str | None = None  # will be loaded in a moment
        self._options: dict[str, Any] = {}
        self._after_load: Callable[[], object] | None = None
        self._unless_loaded: Callable[[], None] | None = None
        self._looks: dict[str, FileLook] = {}  # names and shapes of files, by path
        self._asked = LoadOptions()
        self._bandwidth: Bandwidth | None = None
        self.notices = EngineNotices(engine, window, settings, self.look, self)
        self.notices.load_wanted.connect(self.load)
        self.notices.reload_wanted.connect(self.reload)
        engine.settle_with(self._settled)
        engine.memory.host_memory = _main_memory
        engine.state_changed.connect(self._on_state)
        engine.message.connect(self._on_message)
        engine.notice.connect(self.notices.say)
        engine.compatibility_needed.connect(self._on_compatibility_needed)
        engine.repack_failed.connect(self._on_repack_failed)
        engine.log_line.connect(engine_log.info)
        window.header.model.cancel_requested.connect(self.cancel_load)
        self._on_state(engine.state)

    @property
    def path(self) -> str | None:
        """The model that is loaded or was asked for last."""
        return self.notices.path

    @property
    def expected(self) -> str | None:
        """The model that will be loaded once the program has come so far."""
        return self._expected

    def expect(self, path: str) -> None:
        """Show a model as being loaded, which somebody is going to `load` in a moment."""
        self._set_expected(path)

    @property
    def loading_name(self) -> str:
        """Name of the model that is being loaded, empty if none is."""
        shown = self._shown(self._engine.state)
        return self.look(shown.path or "").name if shown.status == "loading" else ""

    def load(
        self,
        path: str,
        *,
        changes: dict[str, Any] | None = None,
        once: dict[str, Any] | None = None,
        then: Callable[[], object] | None = None,
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        """Load a model with its own settings.

        Args:
            path: the model.
            changes: settings that are kept with the model's first.
            once: settings for this load alone.
            then: called when it is loaded.
            otherwise: called when it comes to nothing: it failed, or another load took its place.
        """
        self.wanted.emit()
        path = str(Path(path).absolute())
        was_expected = self._expected is not None
        if was_expected:
            self.expect(path)

        from app.engine.check import file_problem

        def look() -> tuple[str | None, FileLook]:
            problem = file_problem(path)
            return problem, look_at(path) if problem is None else named_by_path(path)

        def go_on(found: tuple[str | None, FileLook]) -> None:
            problem, self._looks[path] = found
            if was_expected and self._expected != path:
                (otherwise or _nothing)()
                return  # cancelled, or another one was chosen
            self._set_expected(None)
            if problem is None:
                self._no_load()
                self._load(path, changes or {}, once or {})
                # Only now: the load before it, if it still ran, has failed within.
                self._after_load, self._unless_loaded = then, otherwise
            else:
                self.notices.tell_problem(problem)
                (otherwise or _nothing)()

        # A file that can't be loaded must not cost the model that is.
        tasks.run(look, go_on, None, self)

    def _load(
        self,
        path: str,
        changes: dict[str, Any],
        once: dict[str, Any],
    ) -> None:
        self.notices.clear()
        if changes:
            self._keep(path, self._settings.load_values(path) | changes)
        options = LoadOptions(**(self._settings.load_values(path) | once))
        hello = self._engine.state.hello
        if hello is not None and self.state.compatibility(hello.cpu, hello.engine):
            options = msgspec.structs.replace(options, compatibility=True)
        self._asked = options
        if self._engine.state.model is not None and self.path != path:
            self.notices.previous = self.path
        self.notices.path = path
        self._options = msgspec.to_builtins(options)
        self.state.begin_load(Path(path), self._options)
        self.loading.emit(path, options)
        self._load_id = self._engine.load(path, options)

    # --- what was measured of it ---

    @property
    def asked(self) -> LoadOptions:
        """How the model was asked for, without what was measured."""
        return self._asked

    @property
    def tunings(self) -> Tunings | None:
        """What is known of this engine on this computer, None before it has said what it is."""
        from app.data.tunings import Tunings

        hello = self._engine.state.hello
        return None if hello is None else Tunings(self.state, cpu=hello.cpu, engine=hello.engine)

    @property
    def tuning_key(self) -> str:
        """The name under which the model's tuning is kept, empty for none."""
        from app.tuned import key_of

        return key_of(self.look(self.path or "").shape, self._asked)

    def look(self, path: str) -> FileLook:
        """What is known of a model's file: all there is to know once it was asked for."""
        return self._looks.get(path) or named_by_path(path)

    @property
    def is_tuned(self) -> bool:
        """Tell whether the model runs as it was measured to be fastest."""
        tunings = self.tunings if self._settings.get("tune") else None
        kept = None if tunings is None else tunings.get(self.tuning_key)
        return kept is not None and kept.outcome == "kept"

    def _settled(self, request: Load, hello: Hello) -> LoadOptions:
        """Return the options of a load, now that the engine is known."""
        needed = self.state.compatibility(hello.cpu, hello.engine)
        compatibility = needed or request.options.compatibility
        by_hand = self.path is not None and self._settings.load_values(self.path)["compatibility"]
        self._asked = msgspec.structs.replace(
            self._asked,
            compatibility=compatibility,
            repack=compatibility
            and not by_hand
            and not self.state.repack_fails(hello.cpu, hello.engine),
        )
        if not self._settings.get("tune"):
            return self._asked
        from app.data.tunings import Tunings
        from app.tuned import with_tuning

        tunings = Tunings(self.state, cpu=hello.cpu, engine=hello.engine)
        return with_tuning(self._asked, tunings.get(self.tuning_key))

    def forget_load(self) -> None:
        """The program ends by itself: a load that runs is not to be held against its model."""
        if self._engine.state.status == "loading" and self.path is not None:
            self.state.end_load(Path(self.path), self._options, "failed")

    def may_load_by_itself(self, path: str) -> bool:
        """Tell whether nothing speaks against loading a model without being asked."""
        options = msgspec.to_builtins(LoadOptions(**self._settings.load_values(path)))
        return self.state.bad_load(Path(path), options) is None

    def _keep(self, path: str, values: dict[str, Any]) -> None:
        try:
            self._settings.set_load_values(path, values)
        except OSError as error:
            self.notices.say(
                self.tr("The settings can't be saved: {0}.").format(error.strerror or error)
            )

    @Slot()
    def cancel_load(self) -> None:
        """Give up a running load."""
        self._set_expected(None)
        self._engine.cancel(self._load_id)

    @Slot()
    def unload(self) -> None:
        """Free the model."""
        self._engine.unload()

    def reload(self, changes: dict[str, Any] | None = None) -> None:
        """Load the same model again, with changed settings."""
        if self.path is not None:
            self.load(self.path, changes=changes)

    def revive(
        self, then: Callable[[], object] | None, otherwise: Callable[[], None] | None
    ) -> bool:
        """Load the model that was lost with its engine, and go on; False if none was lost."""
        if self._engine.state.status != "lost" or self.path is None:
            return False
        self.load(self.path, then=then, otherwise=otherwise)
        return True

    def raise_context(self, n_ctx: int | None = None) -> None:
        """Load the model again with a longer context: the given one, else twice the present."""
        model = self._engine.state.model
        if model is None:
            return
        wanted = n_ctx or model.n_ctx * 2
        if model.n_ctx_train:
            wanted = min(wanted, max(model.n_ctx_train, model.n_ctx))
        if wanted <= model.n_ctx:
            self.notices.say(
                self.tr("The context of {0} tokens is all that this model was trained for.").format(
                    f"{model.n_ctx:,}"
                )
            )
            return
        self.reload({"n_ctx": wanted})

    # --- what the engine tells ---

    @Slot(object)
    def _on_state(self, state: EngineState) -> None:
        window = self._window
        shown = self._shown(state)
        model = header_model(shown, self.look(shown.path or ""))
        window.header.model.set_model(model)
        title = f"{model.name} {model.quantization}".strip()
        window.setWindowTitle(f"{title} – Plimsoll" if title else "Plimsoll")
        window.status.set_facts(status_facts(state, self._bandwidth))
        window.actions_by_key["unload_model"].setEnabled(state.model is not None)
        window.chat.composer.set_unavailable(*self._why_not(shown))
        window.chat.composer.set_elsewhere(elsewhere(state))
        self.notices.tell_silence(state)
        if state.status == "lost":
            self.notices.tell_loss(state)

    def show_bandwidth(self, bandwidth: Bandwidth | None) -> None:
        """Say in the status line at what rate memory is read, as the plan has it."""
        if bandwidth != self._bandwidth:
            self._bandwidth = bandwidth
            self._window.status.set_facts(status_facts(self._engine.state, bandwidth))

    def _set_expected(self, path: str | None) -> None:
        if path != self._expected:
            self._expected = path
            self._on_state(self._engine.state)
            self.expected_changed.emit()

    def _shown(self, state: EngineState) -> EngineState:
        """Return what is shown of a state: a load that is about to come is one already."""
        if self._expected is None or state.path is not None or state.status == "lost":
            return state
        return replace(state, status="loading", path=self._expected)

    def _why_not(self, state: EngineState) -> tuple[str | None, str]:
        """Return why nothing can be sent, None where it can, and the same in few words."""
        if state.status == "loading":
            return self.tr("The model is loading; you can write already."), self.tr("Loading…")
        if state.status == "lost":
            return self.tr("The engine ended; load the model again."), self.tr("The engine ended")
        if state.model is None:
            return self.tr("Choose a model to chat with."), self.tr("Choose a model")
        return None, ""

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Loaded) and message.id == self._load_id:
            self._on_loaded(message.model)
        elif isinstance(message, Failed) and message.id == self._load_id:
            self._no_load()
            outcome: LoadOutcome = "out_of_memory" if message.kind == "out_of_memory" else "failed"
            if self.path is not None:
                self.state.end_load(Path(self.path), self._options, outcome)
            if message.kind == "cancelled" or self._engine.state.status == "lost":
                return  # asked for, or told with the loss
            self.notices.tell_failure(message)

    def _on_loaded(self, model: ModelInfo) -> None:
        self.notices.previous = None
        self.state.end_load(Path(model.path), self._options, "loaded")
        self.state.set_last_model(Path(model.path))
        self.notices.tell_loaded(model)
        self.model_loaded.emit(model)
        then, self._after_load, self._unless_loaded = self._after_load, None, None
        if then is not None:
            then()

    def _no_load(self) -> None:
        """What waits for a load waits in vain."""
        otherwise, self._after_load, self._unless_loaded = self._unless_loaded, None, None
        (otherwise or _nothing)()

    @Slot(object)
    def _on_compatibility_needed(self, hello: Hello) -> None:
        self.state.set_compatibility(hello.cpu, hello.engine, True)

    @Slot(object)
    def _on_repack_failed(self, hello: Hello) -> None:
        self.state.set_repack_fails(hello.cpu, hello.engine)


def _nothing() -> None:
    """Nobody waits."""


def _main_memory() -> tuple[int, int]:
    from app.data.probe import main_memory_bytes

    return main_memory_bytes()
