"""Comparing in the window: variants are chosen, run one after another, kept, and opened again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, Slot

from app.compare.opener import opener
from app.compare.request import CompareError, CompareRequest, Prepared, prepare
from app.compare.texts import QualityText, TextError
from app.data.state import StateFile
from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.compare.page import ComparePage
from app.ui.main_window import MainWindow
from app.ui.presenters.compare_again import (
    disturbed_variants,
    measure_request,
    reading_request,
    run_offer,
)
from app.ui.presenters.compare_dialogs import ask_options, ask_variants
from app.ui.presenters.compare_kept import KeptComparisons, is_nothing
from app.ui.presenters.compare_report import write_report
from app.ui.presenters.compare_results import CompareResults
from app.ui.presenters.compare_run import CompareRun
from app.ui.presenters.compare_setup import setup_view, variant_choices
from app.ui.presenters.compare_views import column_views
from app.ui.presenters.compare_wish import keep_wish, quality_text, read_wish, request_of, wish_of
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.theme import ThemeManager
from inspector.compare.records import ComparisonRecord
from inspector.compare.reference import seen_from

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
        self._before: ComparisonRecord | None = None  # what stood there when the run began
        self.run = CompareRun(state, paths, self)
        self.page = ComparePage(themes, window)
        self._results = CompareResults(self.page, self)
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
        page.measure_wanted.connect(lambda index: self.measure_again((index,)))
        page.disturbed_wanted.connect(self._measure_disturbed)
        page.reading_wanted.connect(self.read_again)
        page.reference_wanted.connect(self.set_reference)
        page.removed.connect(self.remove)
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
        """Hold the other variants against this one, as far as what was kept tells.

        What a reference expects of the text is hundreds of megabytes and not kept after a run, so
        some figures against another one need the text to be read again: `read_again`.
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

    def _reference_of(self, record: ComparisonRecord) -> int:
        """Return the variant that the page holds the others against."""
        paths = [variant.path for variant in record.variants]
        if self.is_running or self.wish.reference not in paths:
            return record.reference
        return paths.index(self.wish.reference)

    @property
    def shown(self) -> ComparisonRecord | None:
        """`record`, seen from the reference that was chosen."""
        record = self.record
        return None if record is None else seen_from(record, self._reference_of(record))

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
        ask_variants(self._themes, choices, self.wish.chosen, self.choose, self._window)

    @Slot()
    def open_options(self) -> None:
        """Let the user change what all variants share."""
        ask_options(self._themes, self.wish.options, self.set_options, self._window)

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
        if self.record is None or not self._may_run():
            return
        self._wish(prompt=prompt, chosen=tuple(variant.path for variant in self.record.variants))
        try:
            text = quality_text(self.wish)
        except TextError as error:
            self.page.say(str(error))
            return
        self._start(request_of(self.wish, text))

    @Slot(object)
    def measure_again(self, indices: tuple[int, ...]) -> None:
        """Let some variants answer and be measured once more; the others, and quality, stay."""
        if self.record is not None and indices and self._may_run():
            self._start(measure_request(self.record, self.wish, indices))

    @Slot()
    def _measure_disturbed(self) -> None:
        if self.record is not None:
            self.measure_again(disturbed_variants(self.record))

    @Slot()
    def read_again(self) -> None:
        """Measure quality alone, against the reference that was chosen; replies and rates stay."""
        if self.record is None or not self._may_run():
            return
        try:
            text = quality_text(self.wish)
        except TextError as error:
            self.page.say(str(error))
            return
        reference = self._reference_of(self.record)
        self._start(reading_request(self.record, self.wish, text, reference))

    def _may_run(self) -> bool:
        """Tell whether a comparison can begin; say why where it can't."""
        if self.is_running:
            return False
        if self._engine.state.busy:
            self.page.say(self.tr("The chat's engine is busy; wait for it or stop it."))
            return False
        return True

    def _start(self, request: CompareRequest) -> None:
        self.page.say("")
        self._before = self.record
        self._results.forget()
        endpoints = tuple(self._settings.get("rpc"))
        self.run.start(request, opener(self._state, endpoints or None))
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
        before = self._before
        nothing = is_nothing(record) and not any(self.run.answers.values())
        if before is not None and nothing and not is_nothing(before):
            self._set_record(before)
            self.page.say(self.tr("Stopped before anything was known; this is the run before."))
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
        self._results.forget()
        of_run = wish_of(record, self.wish)
        self._wish(
            chosen=of_run.chosen,
            reference=of_run.reference,
            prompt=of_run.prompt,
            options=of_run.options,  # the line below the prompt is that of the run on screen
        )
        self.page.setup.prompt.setPlainText(self.wish.prompt)
        self._show()

    @Slot(str)
    def save_report(self, path: str) -> None:
        """Write the comparison as Markdown, JSON or a picture, by the name's ending."""
        if self.shown is not None:
            self.page.say(write_report(self.shown, path, self.page))

    # --- what is shown

    @Slot()
    def _on_shown(self) -> None:
        self.kept.list_all()
        if not self.is_running:
            self._scanner.scan()  # variants that came since are offered, too
        if self.record is None and self.wish.chosen and not self.is_running:
            self._prepare()

    def _show(self) -> None:
        self._show_setup()
        self._show_columns()
        record = self.shown
        if record is None or self.record is None:
            self.page.offer_run(None)
            self._results.show(None)
            return
        offer = None if self.is_running else run_offer(self.record, record.reference)
        self.page.offer_run(offer)
        self._results.show(record)

    def _show_columns(self) -> None:
        record, run = self.shown, self.run
        views = (
            ()
            if record is None
            else column_views(record, run.phases, run.answers, running=self.is_running)
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
