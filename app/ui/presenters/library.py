"""The Models page in the window: what was found is shown, planned, and acted on."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QDialog

from app.data.library.changes import LibraryChanges
from app.data.library.choices import LibraryChoices
from app.data.library.entries import ModelEntry
from app.data.library.fit import VariantFit
from app.data.library.scan import ScanProgress
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES
from app.engine.qt_client import EngineProcess, EngineState
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for
from app.settings import Settings
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.models.files import open_folder, reveal
from app.ui.models.page import ModelsPage
from app.ui.models.views import FitView, ModelDetails, ScanView
from app.ui.presenters.bandwidth_probe import outcome_words
from app.ui.presenters.library_details import read_details
from app.ui.presenters.library_files import LibraryFiles
from app.ui.presenters.library_plans import LibraryPlanner, PlanRequest
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.library_views import (
    basis_line,
    fit_view,
    group_views,
    library_view,
    names_of,
    plural,
    title_of,
)
from app.ui.presenters.slices import Slices
from app.ui.shell.views import Notice, Severity
from app.ui.theme import ThemeManager
from gguf_tools.header import HeaderError
from gguf_tools.machine import Machine
from inspector.records import BandwidthRecord

__all__ = ["LibraryPresenter"]

PAGE = "models"
_STALE_S = 30.0
_DEFAULT_CONTEXT = 8192


class LibraryPresenter(QObject):
    """Drives the Models page.

    Signals:
        chat_wanted(str): a model is to be loaded and chatted with.
        load_settings_wanted(str)
        plan_wanted(str): the planner is to show a model.
        compare_wanted(tuple of str): two to six variants are to be compared.
        make_wanted(str, str): a variant of a model is to be made; its path and title.
        get_models_wanted(): models are to be found on the internet.
        bandwidth_known(): main memory was measured; others predict with it as well.
    """

    chat_wanted = Signal(str)
    load_settings_wanted = Signal(str)
    plan_wanted = Signal(str)
    compare_wanted = Signal(object)
    make_wanted = Signal(str, str)
    get_models_wanted = Signal()
    bandwidth_known = Signal()

    def __init__(
        self,
        scanner: LibraryScanner,
        choices: LibraryChoices,
        settings: Settings,
        state: StateFile,
        engine: EngineProcess,
        window: MainWindow,
        themes: ThemeManager,
        freed_bytes: Callable[[], dict[str, int]],
        set_setting: Callable[[str, Any], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._scanner = scanner
        self._choices = choices
        self._settings = settings
        self._state = state
        self._engine = engine
        self._window = window
        self._themes = themes
        self._freed_bytes = freed_bytes
        self._planner = LibraryPlanner(state, self)
        self._slices = Slices(self)
        self._fits: dict[str, FitView] = {}
        self._planned: dict[str, str] = {}  # stamps of what was planned, by path
        self._asked: dict[str, str] = {}
        self._planned_at = 0.0
        self._machine: Machine | None = None
        self._fastest_bytes_per_s = 0.0  # the most that a row's prediction rests on
        self._loaded: str | None = None
        self.page = ModelsPage(themes, window)
        window.add_page(PAGE, self.tr("Models"), "models", self.page)
        self.files = LibraryFiles(
            self.page, scanner, choices, settings, window, themes, lambda: self._loaded,
            set_setting, self,
        )  # fmt: skip
        self.files.told.connect(self.tell)
        self._connect()
        # What was told before there was a page to show it.
        if scanner.is_scanning:
            self._on_started()
        self._on_engine(engine.state)
        if scanner.entries or not scanner.is_scanning:
            self._show()

    def _connect(self) -> None:
        page, scanner = self.page, self._scanner
        scanner.started.connect(self._on_started)
        scanner.progressed.connect(self._on_progress)
        scanner.changed.connect(self._show)
        scanner.finished.connect(self._on_finished)
        self._planner.planned.connect(self._on_planned)
        self._planner.finished.connect(self._plan)
        self._planner.machine_known.connect(self._on_machine)
        self._engine.state_changed.connect(self._on_engine)
        page.shown.connect(self._on_shown)
        page.chat_requested.connect(self.chat_wanted)
        page.load_settings_requested.connect(self.load_settings_wanted)
        page.plan_requested.connect(self.plan_wanted)
        page.compare_requested.connect(self.compare_wanted)
        page.make_requested.connect(self._make)
        page.get_models_requested.connect(self.get_models_wanted)
        page.details_requested.connect(self.open_details)
        page.folder_opened.connect(lambda key: open_folder(Path(key)))
        page.revealed.connect(lambda key: reveal(Path(key)))
        page.scan_requested.connect(scanner.scan)
        page.cancel_requested.connect(scanner.cancel)
        page.measure_requested.connect(self._measure_again)

    @property
    def is_planning(self) -> bool:
        """Tell whether predictions are being made."""
        return self._planner.is_planning

    def close(self) -> None:
        """End what runs in the background."""
        self._slices.cancel()
        self._planner.cancel()

    # --- the list ---

    def _entries(self) -> list[ModelEntry]:
        arranged = self._scanner.arranged
        models = [entry for group in arranged.groups for entry in group.variants]
        return [*models, *arranged.others, *arranged.broken]

    def _entry(self, key: str) -> ModelEntry | None:
        return next((entry for entry in self._entries() if str(entry.path) == key), None)

    @Slot(str)
    def _make(self, key: str) -> None:
        entry = self._entry(key)
        if entry is not None:
            self.make_wanted.emit(key, title_of(self._scanner.arranged, entry))

    @Slot(str, str)
    def tell(self, sentence: str, severity: Severity) -> None:
        """Show a notice above the list."""
        self._say("told", sentence, severity)

    @property
    def is_filling(self) -> bool:
        """Tell whether the list is being brought on screen."""
        return self._slices.is_running

    @Slot()
    def _show(self) -> None:
        """Bring the library on screen between the window's events: hundreds of rows take time."""
        self._slices.start(self._filling())

    def _filling(self) -> Generator[None, None, None]:
        arranged, hidden = self._scanner.arranged, self._choices.hidden
        groups = []
        for group in group_views(arranged, hidden, self._loaded):
            groups.append(group)
            yield
        view = library_view(
            arranged,
            groups,
            hidden=hidden,
            loaded=self._loaded,
            budget_context=self._budget_context(),
            basis=self._basis,
            is_rough=self._is_rough,
            seconds=self._scanner.seconds,
        )
        looked_in = tuple(dict.fromkeys(place.source for place in self._scanner.places))
        yield
        self.page.tree.set_view(view)
        yield
        self.page.set_library(view, looked_in, with_tree=False)
        # The computer may have become known between the slices.
        self.page.set_basis(self._basis, is_rough=self._is_rough)
        yield
        self.page.set_fits(self._fits)
        self._plan()

    @property
    def _basis(self) -> str:
        if not self._scanner.entries:
            return ""
        return basis_line(self._machine, self._fastest_bytes_per_s)

    @property
    def _is_rough(self) -> bool:
        """Tell whether predictions rest on a bandwidth that was measured while busy."""
        machine = self._machine
        return (
            bool(self._scanner.entries)
            and machine is not None
            and not machine.accelerators
            and machine.cpu.measured_busy
        )

    @Slot()
    def _measure_again(self) -> None:
        """Measure main memory anew and plan with it; not beside a reply, which would disturb it."""
        hello = self._engine.state.hello
        if hello is None or self._engine.state.status not in {"idle", "ready"}:
            self.tell(self.tr("Memory is measured once the engine is done."), "info")
            return
        state, threads = self._state, clamp_threads(None)

        def done(record: BandwidthRecord | None) -> None:
            self.page.toolbar.set_measuring(False)
            self.tell(*outcome_words(record))
            self.refresh_predictions()
            self.bandwidth_known.emit()

        def failed(error: Exception) -> None:
            done(None)
            if not isinstance(error, MemoryError):
                raise error

        self.page.toolbar.set_measuring(True)
        tasks.run(
            lambda: bandwidth_for(state, hello.cpu, threads, LARGE_BYTES, again=True),
            done, failed, self,
        )  # fmt: skip

    @Slot()
    def refresh_predictions(self) -> None:
        """Plan anew: what predictions rest on was measured better."""
        self._plan_anew()
        self._plan()

    def _budget_context(self) -> int:
        return int(self._settings.load_values()["n_ctx"] or _DEFAULT_CONTEXT)

    @Slot()
    def _on_started(self) -> None:
        self.page.set_scan(ScanView(0.0, self.tr("Looking for models…")))

    @Slot(object)
    def _on_progress(self, progress: ScanProgress) -> None:
        if not self._scanner.is_scanning:
            return
        share = progress.places_done / max(progress.places, 1)
        words = self.tr("Looking in {0}: {1} found").format(progress.source, progress.found)
        self.page.set_scan(ScanView(share, words))

    @Slot(object)
    def _on_finished(self, changes: LibraryChanges) -> None:
        self.page.set_scan(None)
        self.take(changes)

    def take(self, changes: LibraryChanges) -> None:
        """Tell what a scan found different; what has gone is forgotten."""
        if changes.gone:
            self._choices.forget(entry.path for entry in changes.gone)
            count = len(changes.gone)
            text = plural(
                count,
                "A model has gone since the last look: {0}.",
                "%1 models have gone since the last look: {0}.",
            )
            self._say("gone", text.format(names_of(changes.gone)), "warning")
        if changes.changed:
            text = plural(
                len(changes.changed),
                "A model's file has changed since the last look: {0}.",
                "The files of %1 models have changed since the last look: {0}.",
            )
            self._say("changed", text.format(names_of(changes.changed)), "info")

    def _say(self, key: str, sentence: str, severity: Severity) -> None:
        self.page.notices.show_notice(Notice(key, sentence, severity))

    # --- predictions ---

    @Slot()
    def _on_shown(self) -> None:
        if time.monotonic() - self._planned_at > _STALE_S:
            self._plan_anew()
        self._scanner.scan()
        self._plan()

    @Slot(object)
    def _on_engine(self, state: EngineState) -> None:
        loaded = state.path if state.model is not None else None
        if loaded != self._loaded:
            self._loaded = loaded
            self._plan_anew()  # other memory is free now
            self._show()
        else:
            self._plan()

    def _plan_anew(self) -> None:
        """Forget what was planned; figures stay on screen until there are new ones."""
        self._fastest_bytes_per_s = 0.0
        self._planned.clear()
        self._planner.cancel()

    @Slot()
    def _plan(self) -> None:
        """Plan what is not planned yet, if anybody looks; after the round that runs, if any."""
        state = self._engine.state
        hello = state.hello
        if hello is None or state.status in {"stopped", "starting", "lost"}:
            return
        if not self.page.isVisible() or self._planner.is_planning:
            return
        wanted = [
            entry
            for group in self._scanner.arranged.groups
            for entry in group.variants
            if entry.usable and self._planned.get(str(entry.path)) != entry.stamp
        ]
        if not wanted:
            return
        self._asked = {str(entry.path): entry.stamp for entry in wanted}
        self._planned_at = time.monotonic()
        self._planner.plan(
            PlanRequest(
                hello=hello,
                entries=wanted,
                values={
                    str(entry.path): self._settings.load_values(str(entry.path)) for entry in wanted
                },
                freed_bytes=self._freed_bytes(),
                may_measure=state.status in {"idle", "ready"},
                tuned=bool(self._settings.get("tune")),
            )
        )

    @Slot(object)
    def _on_planned(self, fits: dict[str, VariantFit]) -> None:
        views = {key: fit_view(fit) for key, fit in fits.items()}
        self._fits.update(views)
        self._planned.update({key: self._asked[key] for key in fits})
        self.page.set_fits(views)
        fastest = max((fit.bandwidth_bytes_per_s or 0.0 for fit in fits.values()), default=0.0)
        if fastest > self._fastest_bytes_per_s:
            self._fastest_bytes_per_s = fastest
            self.page.set_basis(self._basis, is_rough=self._is_rough)

    @Slot(object)
    def _on_machine(self, machine: Machine) -> None:
        before, self._machine = self._machine, machine
        if basis_line(machine) != basis_line(before):
            self.page.set_basis(self._basis, is_rough=self._is_rough)
            # What was planned with other figures is planned again, after this round.
            self._planned.clear()

    # --- details ---

    @Slot(str)
    def open_details(self, key: str) -> None:
        """Show everything about a file; one that can't be read is told in a sentence."""
        entry = self._entry(key)
        if entry is None:
            return
        title = title_of(self._scanner.arranged, entry)

        def done(details: ModelDetails) -> None:
            from app.ui.models.details import DetailsDialog

            _open(DetailsDialog(self._themes, details, self._window))

        def failed(error: Exception) -> None:
            if not isinstance(error, HeaderError | OSError):
                raise error
            self._say("details", str(error), "warning")

        tasks.run(lambda: read_details(entry.path, title), done, failed, self)


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
