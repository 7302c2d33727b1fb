"""The Models page in the window: what was found is shown, planned, and acted on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QDialog

from app.data.library.changes import LibraryChanges
from app.data.library.choices import LibraryChoices
from app.data.library.entries import ModelEntry
from app.data.library.scan import ScanProgress
from app.data.state import StateFile
from app.engine.qt_client import EngineProcess, EngineState
from app.settings import Settings
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.models.files import open_folder, reveal
from app.ui.models.page import ModelsPage
from app.ui.models.views import ModelDetails, ScanView
from app.ui.presenters.library_details import read_details
from app.ui.presenters.library_files import LibraryFiles
from app.ui.presenters.library_predictions import LibraryPredictions
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.library_views import (
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
        self._window = window
        self._themes = themes
        self._slices = Slices(self)
        self._loaded: str | None = None
        self._gone: tuple[ModelEntry, ...] = ()  # that a notice tells of
        self.page = ModelsPage(themes, window)
        window.add_page(PAGE, self.tr("Models"), "models", self.page)
        self.files = LibraryFiles(
            self.page, scanner, choices, settings, window, themes, lambda: self._loaded,
            set_setting, self,
        )  # fmt: skip
        self.files.told.connect(self.tell)
        self.predictions = LibraryPredictions(
            self.page, self._variants, settings, state, engine, freed_bytes, self
        )
        self.predictions.told.connect(self.tell)
        self.predictions.bandwidth_known.connect(self.bandwidth_known)
        self._connect()
        engine.state_changed.connect(self._on_engine)
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

    @property
    def is_planning(self) -> bool:
        """Tell whether predictions are being made."""
        return self.predictions.is_planning

    def close(self) -> None:
        """End what runs in the background."""
        self._slices.cancel()
        self.predictions.close()

    # --- the list ---

    def _variants(self) -> list[ModelEntry]:
        return [entry for group in self._scanner.arranged.groups for entry in group.variants]

    def _entries(self) -> list[ModelEntry]:
        arranged = self._scanner.arranged
        return [*self._variants(), *arranged.others, *arranged.broken]

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
            basis=self.predictions.basis,
            is_rough=self.predictions.is_rough,
            seconds=self._scanner.seconds,
        )
        looked_in = tuple(dict.fromkeys(place.source for place in self._scanner.places))
        yield
        self.page.tree.set_view(view)
        yield
        self.page.set_library(view, looked_in, with_tree=False)
        # The computer may have become known between the slices.
        self.predictions.show_basis()
        yield
        self.page.set_fits(self.predictions.fits)
        self.predictions.plan()

    @Slot()
    def refresh_predictions(self) -> None:
        """Plan anew: what predictions rest on was measured better."""
        self.predictions.refresh()

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
        """Tell what a scan found different; what has gone is forgotten, unless it comes back."""
        if changes.gone:
            self._choices.forget(entry.path for entry in changes.gone)
        there = {entry.path for entry in changes.new}
        told = self._gone if "gone" in self.page.notices.notices() else ()
        self._gone = tuple(entry for entry in (*told, *changes.gone) if entry.path not in there)
        if not self._gone:
            self.page.notices.remove_notice("gone")
        elif self._gone != told:
            text = plural(
                len(self._gone),
                "A model has gone since the last look: {0}.",
                "%1 models have gone since the last look: {0}.",
            )
            self._say("gone", text.format(names_of(self._gone)), "warning")
        if changes.changed:
            text = plural(
                len(changes.changed),
                "A model's file has changed since the last look: {0}.",
                "The files of %1 models have changed since the last look: {0}.",
            )
            self._say("changed", text.format(names_of(changes.changed)), "info")

    def _say(self, key: str, sentence: str, severity: Severity) -> None:
        self.page.notices.show_notice(Notice(key, sentence, severity))

    # --- the engine ---

    @Slot()
    def _on_shown(self) -> None:
        self.predictions.forget_stale()
        self._scanner.scan()
        self.predictions.plan()

    @Slot(object)
    def _on_engine(self, state: EngineState) -> None:
        loaded = state.path if state.model is not None else None
        if loaded != self._loaded:
            self._loaded = loaded
            self.predictions.forget()  # other memory is free now
            self._show()
        else:
            self.predictions.plan()

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
