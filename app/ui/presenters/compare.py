"""Comparing in the window: variants are chosen, run one after another, kept, and opened again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, Qt, Slot

from app.compare.opener import opener
from app.compare.request import CompareError, Prepared, prepare
from app.compare.texts import QualityText, TextError
from app.data.state import StateFile
from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.compare.chooser import VariantsDialog
from app.ui.compare.options import CompareOptionsDialog
from app.ui.compare.page import ComparePage
from app.ui.compare.views import TableView
from app.ui.main_window import MainWindow
from app.ui.presenters.compare_kept import KeptComparisons
from app.ui.presenters.compare_report import write_report
from app.ui.presenters.compare_run import CompareRun
from app.ui.presenters.compare_setup import run_offer, setup_view, variant_choices
from app.ui.presenters.compare_views import (
    bar_views,
    column_views,
    common_name,
    difference_views,
    dot_views,
    no_quality_sentence,
    table_view,
)
from app.ui.presenters.compare_wish import keep_wish, quality_text, read_wish, request_of
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.theme import ThemeManager
from inspector.compare.records import ComparisonRecord

__all__ = ["ComparePresenter"]

PAGE: Final = "compare"


class ComparePresenter(QObject):
    """Drives the Compare page."""

    def __init__(
        self,
        scanner: LibraryScanner,
        engine: EngineProcess,
        settings: Settings,
        state: StateFile,
        paths: Paths,
        window: MainWindow,
        themes: ThemeManager,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._scanner = scanner
        self._engine = engine
        self._settings = settings
        self._state = state
        self._paths = paths
        self._window = window
        self._themes = themes
        self.wish = read_wish(state)
        self._problem = ""
        self._shown_variant: int | None = None
        self.run = CompareRun(state, paths, self)
        self.page = ComparePage(themes, window)
        self.kept = KeptComparisons(paths, self.page, self)
        window.add_page(PAGE, self.tr("Compare"), "compare", self.page)
        self._connect()
        self.page.setup.prompt.setPlainText(self.wish.prompt)
        self._show()

    def _connect(self) -> None:
        page = self.page
        page.setup.run_wanted.connect(self.start)
        page.setup.stop_wanted.connect(self.stop)
        page.setup.options_wanted.connect(self.open_options)
        page.setup.variants_wanted.connect(self.open_chooser)
        page.shown.connect(self._on_shown)
        page.report_wanted.connect(self.save_report)
        page.opened.connect(self.open_kept)
        page.run_again_wanted.connect(self._run_again)
        page.reference_wanted.connect(self.set_reference)
        page.removed.connect(self.remove)
        page.differences.variant_chosen.connect(self._on_variant_chosen)
        self._engine.state_changed.connect(self._on_engine)
        self.kept.opened.connect(self._show_kept)
        run = self.run
        run.record_changed.connect(self._show)
        run.phase_changed.connect(self._on_phase)
        run.piece_arrived.connect(page.append)
        run.noticed.connect(page.say)
        run.finished.connect(self._on_done)
        run.failed.connect(self._on_failed)

    @property
    def is_running(self) -> bool:
        """Tell whether variants are being compared."""
        return self.run.is_running

    @property
    def record(self) -> ComparisonRecord | None:
        """What is shown: a run, a kept comparison, or what the files say before a run."""
        return self.run.record

    def _set_record(self, record: ComparisonRecord | None) -> None:
        self.run.clear()
        self.run.record = record

    # --- what is to be compared

    @Slot(object)
    def choose(self, paths: Sequence[str]) -> None:
        """Take variants and come on screen (from the Models page or the chooser)."""
        self._window.show_page(PAGE)
        if self.is_running:
            self.page.say(self.tr("A comparison is running; stop it first."))
            return
        self._wish(chosen=tuple(paths))
        self._prepare()

    @Slot(int)
    def set_reference(self, index: int) -> None:
        """Hold the other variants against this one from the next run on; what was found stays.

        What a reference expects of the text is hundreds of megabytes and not kept after a run, so
        figures against another one need the text to be read again.
        """
        record = self.record
        if self.is_running or record is None:
            return
        paths = tuple(variant.path for variant in record.variants)
        self._wish(chosen=paths, reference=paths[index])
        if all(variant.status == "waiting" for variant in record.variants):
            self._prepare()
        else:
            self._show()

    @property
    def _next_reference(self) -> int | None:
        """The variant that the next run holds the others against, if it is another than shown."""
        record = self.record
        if record is None or self.is_running:
            return None
        paths = [variant.path for variant in record.variants]
        if self.wish.reference not in paths:
            return None
        index = paths.index(self.wish.reference)
        return None if index == record.reference else index

    @Slot()
    def _run_again(self) -> None:
        self.start(self.page.setup.prompt.toPlainText())

    @Slot(int)
    def remove(self, index: int) -> None:
        """Take a variant out."""
        if self.is_running or self.record is None:
            return
        left = [v.path for i, v in enumerate(self.record.variants) if i != index]
        self.choose(left)

    @Slot()
    def open_chooser(self) -> None:
        """Let the user choose variants."""
        choices = variant_choices(self._scanner.arranged.groups)
        dialog = VariantsDialog(self._themes, choices, self.wish.chosen, self._window)
        known = {choice.path for choice in choices}
        for path in self.wish.chosen:
            if path not in known:
                dialog.add_file(path)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.taken.connect(self.choose)
        dialog.open()

    @Slot()
    def open_options(self) -> None:
        """Let the user change what all variants share."""
        dialog = CompareOptionsDialog(self._themes, self.wish.options, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.taken.connect(self.set_options)
        dialog.open()

    @Slot(object)
    def set_options(self, values: dict[str, Any]) -> None:
        """Take what all variants share."""
        self._wish(options={**self.wish.options, **values})
        self._show_setup()

    def _prepare(self) -> None:
        """Read the files and show what they say, without running anything."""
        self._problem = ""
        if len(self.wish.chosen) < 2:
            self._set_record(None)
            self._show()
            return
        request = request_of(self.wish, QualityText("", ""))

        def done(prepared: Prepared) -> None:
            if prepared.request.paths == tuple(Path(path) for path in self.wish.chosen):
                self._set_record(
                    ComparisonRecord(
                        at_ms=0,
                        settings=prepared.request.settings,
                        variants=prepared.variants,
                        reference=prepared.reference,
                    )
                )
                self._show()

        def failed(error: Exception) -> None:
            if not isinstance(error, CompareError):
                raise error
            self._set_record(None)
            self._problem = str(error)
            self._show()

        tasks.run(lambda: prepare(request), done, failed, self)

    def _wish(self, **changes: Any) -> None:
        """Take another wish and keep it."""
        wish = replace(self.wish, **changes)
        if wish.reference not in wish.chosen:
            wish = replace(wish, reference=None)
        self.wish = wish
        keep_wish(self._state, wish)

    # --- the run

    @Slot(str)
    def start(self, prompt: str) -> None:
        """Run the comparison."""
        if self.is_running or self.record is None:
            return
        if self._engine.state.busy:
            self.page.say(self.tr("The chat's engine is busy; wait for it or stop it."))
            return
        self._wish(prompt=prompt, chosen=tuple(variant.path for variant in self.record.variants))
        try:
            text = quality_text(self.wish)
        except TextError as error:
            self.page.say(str(error))
            return
        self.page.say("")
        self._shown_variant = None
        endpoints = tuple(self._settings.get("rpc"))
        self.run.start(request_of(self.wish, text), opener(self._state, endpoints or None))
        self._show()

    @Slot()
    def stop(self) -> None:
        """End the run; what is known so far stays."""
        self.run.stop()

    @Slot()
    def _on_engine(self) -> None:
        self._note_chat()
        self._show_setup()

    def _note_chat(self) -> None:
        """Mark what is being measured while the chat's engine computes as well."""
        if self.is_running and self._engine.state.busy:
            self.run.disturb()

    @Slot(bool)
    def _on_phase(self, is_another: bool) -> None:
        self._note_chat()
        if is_another:
            self._show_columns()
        self._show_setup()

    def close(self) -> None:
        """End the run because the program ends."""
        self.stop()
        self._wish(prompt=self.page.setup.prompt.toPlainText())

    @Slot(object)
    def _on_done(self, record: ComparisonRecord) -> None:
        self.kept.keep(record)
        self._show()

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        if not isinstance(error, CompareError):
            self._show()
            raise error
        self._problem = str(error)
        self._show()

    # --- what was kept

    @Slot(str)
    def open_kept(self, key: str) -> None:
        """Show a comparison that was kept."""
        if self.is_running:
            self.page.say(self.tr("A comparison is running; stop it first."))
        else:
            self.kept.open(key)

    @Slot(object)
    def _show_kept(self, record: ComparisonRecord) -> None:
        self._set_record(record)
        self._problem = ""
        self._shown_variant = None
        paths = tuple(variant.path for variant in record.variants)
        self._wish(chosen=paths, reference=paths[record.reference], prompt=record.settings.prompt)
        self.page.setup.prompt.setPlainText(self.wish.prompt)
        self._show()

    @Slot(str)
    def save_report(self, path: str) -> None:
        """Write the comparison as Markdown, JSON or a picture, by the name's ending."""
        if self.record is not None:
            self.page.say(write_report(self.record, path, self.page))

    # --- what is shown

    @Slot()
    def _on_shown(self) -> None:
        self.kept.list_all()
        if self.record is None and self.wish.chosen and not self.is_running:
            self._prepare()

    def _show(self) -> None:
        self._show_setup()
        self._show_columns()
        record = self.record
        if record is None:
            self.page.set_title("")
            self.page.offer_run("")
            self.page.set_results(TableView(), (), ())
            self.page.differences.hide()
            return
        self.page.set_title(common_name(record))
        offer = "" if self.is_running else run_offer(record, self._next_reference)
        self.page.offer_run(offer)
        table = table_view(record)
        self.page.set_results(table, bar_views(record) if table.rows else (), dot_views(record))
        self.page.set_no_quality(no_quality_sentence(record))
        self._show_differences(record)

    def _show_differences(self, record: ComparisonRecord) -> None:
        with_places = tuple(
            (index, variant.label)
            for index, variant in enumerate(record.variants)
            if variant.quality is not None and variant.quality.worst
        )
        keys = [key for key, _ in with_places]
        if self._shown_variant not in keys:
            self._shown_variant = keys[-1] if keys else None
        card = self.page.differences
        card.setVisible(bool(keys))
        card.set_variants(with_places, self._shown_variant)
        if self._shown_variant is not None:
            card.set_places(difference_views(record, self._shown_variant))

    @Slot(int)
    def _on_variant_chosen(self, index: int) -> None:
        self._shown_variant = index
        if self.record is not None:
            self.page.differences.set_places(difference_views(self.record, index))

    def _show_columns(self) -> None:
        record = self.record
        views = (
            ()
            if record is None
            else column_views(
                record,
                self.run.phases,
                self.run.answers,
                running=self.is_running,
                next_reference=self._next_reference,
            )
        )
        self.page.set_columns(views, running=self.is_running)

    @Slot()
    def _show_setup(self) -> None:
        self.page.setup.set_view(
            setup_view(
                self.wish.options,
                self.run,
                problem=self._problem,
                can_run=self.record is not None,
            )
        )
