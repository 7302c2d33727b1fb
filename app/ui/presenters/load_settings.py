"""The dialog of how a model is loaded: its settings, what is taken where they are left open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.data.state import StateFile
from app.drafts import draft_facts
from app.engine.protocol import Hello, LoadOptions
from app.engine.qt_client import EngineProcess
from app.engine.threads import clamp_threads
from app.machines import Machines
from app.settings import Settings
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.numbers import grouped
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.loaded import loaded_values
from app.ui.theme import ThemeManager
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.units import format_bytes
from inspector.planned import load_settings

if TYPE_CHECKING:
    from app.ui.dialogs.load_dialog import LoadDialog

__all__ = ["Automatic", "LoadSettingsPresenter", "automatic_of"]

_REPLAN_MS = 250


@dataclass(frozen=True, slots=True)
class Automatic:
    """What is taken for settings that are left open, in tokens and threads.

    ``fits`` is the longest context that fits this computer by the plan, None where that is unknown.
    ``draft_problem`` says why the draft model would not be used, ``draft_bytes`` what it takes.
    """

    n_ctx: int
    threads: int
    threads_batch: int
    fits: int | None = None
    draft_problem: str = ""
    draft_bytes: int = 0


def automatic_of(
    facts: ModelFacts,
    values: Mapping[str, Any],
    *,
    state: StateFile,
    hello: Hello | None,
    tune: bool,
    freed_bytes: dict[str, int],
) -> Automatic:
    """Return what would be taken if a model were loaded with ``values`` now.

    Reads no file but a draft model's header.

    Args:
        facts: the model.
        values: load settings by key; what is None is left open.
        state: where measurements are kept.
        hello: of the engine; None while it has not said what it runs on.
        tune: what was measured to be fastest is taken.
        freed_bytes: what unloading the present model gives back, by memory pool.
    """
    open_values = dict(values) | {"n_ctx": None, "threads": None, "threads_batch": None}
    load = load_settings(open_values, facts)
    options = LoadOptions(**open_values)
    fits = None
    if hello is not None:
        machines = Machines(state, hello, may_measure=False, tuned=tune)
        options = machines.options(facts, open_values)
        fits = machines.fit(facts, open_values, freed_bytes=freed_bytes).max_context_tokens
    with_draft = load_settings(open_values, facts, draft_facts(options.draft))
    problem, taken = _draft(facts, with_draft, options.draft)
    return Automatic(
        load.context,
        clamp_threads(options.threads),
        clamp_threads(options.threads_batch),
        fits,
        problem,
        taken,
    )


def _draft(facts: ModelFacts, load: LoadSettings, path: str | None) -> tuple[str, int]:
    """Return why a draft model would not be used, or the bytes that it takes."""
    if path is None:
        return "", 0
    if load.draft is None:
        missing = not Path(path).is_file()
        return ("There is no such file." if missing else "This file is no model."), 0
    draft = memory_plan(facts, load, cpu_only()).draft
    return ("", 0) if draft is None else (draft.problem, draft.total_bytes)


class LoadSettingsPresenter(QObject):
    """Opens the dialog.

    Signals:
        told(str): a sentence on what could not be kept.
    """

    told = Signal(str)

    def __init__(
        self,
        settings: Settings,
        engine: EngineProcess,
        models: EnginePresenter,
        themes: ThemeManager,
        window: MainWindow,
        freed_bytes: Callable[[], dict[str, int]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._engine = engine
        self._models = models
        self._themes = themes
        self._window = window
        self._freed_bytes = freed_bytes

    @Slot(str)
    def open(self, path: str) -> None:
        """Show how a model is loaded, and what llama.cpp made of it if it is loaded."""
        from app.engine.templates.builtin import BUILTIN_TEMPLATES
        from app.ui.dialogs.load_dialog import LoadDialog

        state = self._engine.state
        model = state.model if state.path == path else None
        formats = [(name, template.title) for name, template in BUILTIN_TEMPLATES.items()]
        dialog = LoadDialog(
            self._themes,
            self._models.look(path).title,
            path,
            self._settings.load_values(path),
            self._window,
            is_loaded=model is not None,
            choices={"template": formats},
        )
        if model is not None:
            dialog.form.set_used(loaded_values(model))
        dialog.saved.connect(lambda values, for_all: self._keep(path, values, for_all))

        def load(values: dict[str, Any], for_all: bool) -> None:
            self._keep(path, values, for_all)
            self._models.load(path)

        dialog.load_requested.connect(load)
        _Filling(self, dialog, path)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def automatic(self, facts: ModelFacts, values: Mapping[str, Any]) -> Callable[[], Automatic]:
        """Return the work that finds what is taken for settings left open, for a pool thread."""
        hello, freed = self._engine.state.hello, self._freed_bytes()
        tune = bool(self._settings.get("tune"))
        state = self._models.state

        def work() -> Automatic:
            return automatic_of(
                facts, values, state=state, hello=hello, tune=tune, freed_bytes=freed
            )

        return work

    def _keep(self, path: str, values: dict[str, Any], for_all: bool) -> None:
        try:
            self._settings.set_load_values(path, values)
            if for_all:
                self._settings.set_load_values(None, values)
        except OSError as error:
            self.told.emit(
                self.tr("The settings can't be saved ({0}).").format(error.strerror or error)
            )


class _Filling(QObject):
    """Fills one dialog with what its model's file says, and again as values change."""

    def __init__(self, presenter: LoadSettingsPresenter, dialog: LoadDialog, path: str) -> None:
        super().__init__(dialog)
        self._presenter = presenter
        self._dialog = dialog
        self._facts: ModelFacts | None = None
        self._replan: tasks.Throttle[[]] = tasks.Throttle(_REPLAN_MS, self._plan, self)
        dialog.values_changed.connect(self._on_values)
        tasks.run(lambda: read_facts(path), self._on_facts, self._on_unreadable, self)

    def _on_facts(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._dialog.set_name(f"{facts.shown_name} {facts.quantization or ''}".strip())
        if facts.loadable:
            self._plan()

    def _on_unreadable(self, error: Exception) -> None:
        if not isinstance(error, HeaderError | OSError):
            raise error  # the load itself says what is wrong with a file

    @Slot(dict)
    def _on_values(self, _values: dict[str, Any]) -> None:
        if self._facts is not None and self._facts.loadable:
            self._replan.call()

    def _plan(self) -> None:
        if self._facts is None or not self._dialog.form.is_valid():
            return
        work = self._presenter.automatic(self._facts, self._dialog.form.values())
        tasks.run(work, self._show, self._on_refused, self)

    def _on_refused(self, error: Exception) -> None:
        if not isinstance(error, ValueError | msgspec.ValidationError):
            raise error

    def _show(self, found: Automatic) -> None:
        hint = ""
        if found.fits is not None:
            hint = self.tr("up to %1 fit").replace("%1", grouped(found.fits))
        self._dialog.set_automatic("n_ctx", found.n_ctx, hint)
        taken = format_bytes(found.draft_bytes)
        takes = self.tr("takes %1").replace("%1", taken) if found.draft_bytes else ""
        self._dialog.set_automatic("draft", None, takes)
        self._dialog.set_warning("draft", found.draft_problem)
        self._dialog.set_automatic("threads", found.threads)
        self._dialog.set_automatic("threads_batch", found.threads_batch)
