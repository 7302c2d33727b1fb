"""The planner in the window: rows are planned in slices whenever something they rest on changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QFileDialog, QVBoxLayout, QWidget

from app.data.library.choices import LibraryChoices
from app.data.state import StateFile
from app.engine.qt_client import EngineProcess
from app.machine import hardware_table
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.planner.machine_dialog import MachineDialog
from app.ui.planner.model_dialog import ModelDialog
from app.ui.planner.page import PlannerPage
from app.ui.planner.views import ExampleView
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.planner_choices import TYPED, describe_typed, form_facts, model_groups
from app.ui.presenters.planner_machine import ThisMachine
from app.ui.presenters.planner_models import PlannerModels, plannable
from app.ui.presenters.planner_saving import ReportSaver
from app.ui.presenters.planner_views import waiting_row
from app.ui.presenters.planner_work import PlannerWork
from app.ui.shell.views import Choice, Notice
from app.ui.theme import ThemeManager
from gguf_tools.facts import ModelFacts
from inspector.planner_examples import EXAMPLES, first_setup, model_named
from inspector.planner_report import ReportRow
from inspector.planner_setup import (
    MachineSpec,
    ModelSpec,
    PlannerSettings,
    PlannerSetup,
    Scenario,
    decode_setup,
    encode_setup,
)

__all__ = ["PlannerPresenter"]

PAGE: Final = "planner"
_BLOB: Final = "planner"
_BEFORE: Final = "planner before"
_REPLACED: Final = "replaced"
_KEEP_MS: Final = 800
_MOST_UNDONE: Final = 30


class PlannerPresenter(QObject):
    """Drives the planner's page."""

    def __init__(
        self,
        scanner: LibraryScanner,
        choices: LibraryChoices,
        engine: EngineProcess,
        state: StateFile,
        window: MainWindow,
        themes: ThemeManager,
        freed_bytes: Callable[[], dict[str, int]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._scanner = scanner
        self._choices = choices
        self._state = state
        self._window = window
        self._themes = themes
        self._undo: list[PlannerSetup] = []
        self.setup = decode_setup(state.blob(_BLOB)) or first_setup()
        self._before = decode_setup(state.blob(_BEFORE))
        self.models = PlannerModels(self)
        self.this = ThisMachine(engine, state, freed_bytes, self)
        self._keep_timer = QTimer(self)
        self._keep_timer.setSingleShot(True)
        self._keep_timer.setInterval(_KEEP_MS)
        self._keep_timer.timeout.connect(self.keep)
        # The page is made when it is first looked at: the window's start must not wait for it.
        self._host = QWidget(window)
        self._made: tuple[PlannerPage, PlannerWork] | None = None
        QVBoxLayout(self._host).setContentsMargins(0, 0, 0, 0)
        window.add_page(PAGE, self.tr("Planner"), "planner", self._host)
        window.page_changed.connect(self._on_page)
        self.models.known.connect(self._on_known)
        self.this.changed.connect(self._on_known)

    def _make(self) -> tuple[PlannerPage, PlannerWork]:
        page = PlannerPage(self._themes, self._host)
        layout = self._host.layout()
        if layout is not None:
            layout.addWidget(page)
        work = PlannerWork(page, self.models, self.this, self)
        self._connect(page)
        return page, work

    @property
    def page(self) -> PlannerPage:
        """The page."""
        self._made = self._made or self._make()
        return self._made[0]

    @property
    def work(self) -> PlannerWork:
        """What plans the rows of the page."""
        self._made = self._made or self._make()
        return self._made[1]

    def _connect(self, page: PlannerPage) -> None:
        page.form.changed.connect(self._on_settings)
        page.form.own_toggled.connect(self._on_own)
        page.form.model_wanted.connect(self._show_models)
        page.models.chosen.connect(self._on_model)
        page.models.file_wanted.connect(self._choose_file)
        page.models.typing_wanted.connect(self.type_model)
        page.table.chosen.connect(self.choose_row)
        page.machine_wanted.connect(self.add_machine)
        page.row_command.connect(self.command)
        page.example_wanted.connect(self.show_example)
        page.rows_wanted_back.connect(self.go_back)
        page.notices.chosen.connect(self._on_choice)
        page.report_wanted.connect(self.save_report)
        undo = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), page)
        undo.activated.connect(self.undo)

    @property
    def is_planning(self) -> bool:
        """Tell whether rows are being planned."""
        return self._made is not None and self.work.is_running

    @property
    def knows_this_computer(self) -> bool:
        """Tell whether this computer's devices are known."""
        return self.this.machine is not None

    # --- what is on the page

    def _change(self, setup: PlannerSetup, *, undoable: bool = False) -> None:
        """Take another page and plan it."""
        if setup == self.setup:
            return
        if undoable:
            self._undo = [*self._undo, self.setup][-_MOST_UNDONE:]
        is_other = msgspec.structs.replace(setup, chosen=self.setup.chosen) != self.setup
        self.setup = setup
        # What it offers to undo is no longer the last change; choosing a row, as Tab does, is none.
        if self._made is not None and is_other:
            self.page.notices.remove_notice(_REPLACED)
        self._keep_timer.start()
        self.refresh()

    @Slot()
    def keep(self) -> None:
        """Write the page into the state file."""
        self._keep_timer.stop()
        self._state.set_blob(_BLOB, encode_setup(self.setup))

    def close(self) -> None:
        """Keep the page and end what runs."""
        if self._keep_timer.isActive():
            self.keep()
        if self._made is not None:
            self.work.slices.cancel()

    def _offer_undo(self, replaced: int) -> None:
        """Say that an example took the place of rows, and offer them back."""
        text = self.tr("Replaced %1 rows.") if replaced > 1 else self.tr("Replaced %1 row.")
        choices = (Choice("undo", self.tr("Undo")),)
        notice = Notice(_REPLACED, text.replace("%1", str(replaced)), choices=choices)
        self.page.notices.show_notice(notice)

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if (notice, choice) == (_REPLACED, "undo"):
            self.undo()

    @Slot()
    def undo(self) -> None:
        """Take the last change of the rows back."""
        if self._undo:
            *self._undo, before = self._undo
            self._change(before)
            self.page.say(self.tr("Taken back."))

    @property
    def _scenario(self) -> Scenario:
        return self.setup.scenario(self.setup.chosen_row)

    @Slot(object)
    def _on_settings(self, settings: PlannerSettings) -> None:
        scenario = msgspec.structs.replace(self._scenario, settings=settings)
        self._change(self.setup.with_scenario(scenario))

    @Slot(bool)
    def _on_own(self, own: bool) -> None:
        row = self.setup.chosen_row
        if row is not None:
            scenario = self.setup.scenario(row) if own else None
            self._change(
                self.setup.with_row(msgspec.structs.replace(row, own=scenario)), undoable=True
            )

    def set_model(self, model: ModelSpec) -> None:
        """Plan another model, where the form's settings hold."""
        self.page.form.set_problem("")
        scenario = msgspec.structs.replace(self._scenario, model=model)
        self._change(self.setup.with_scenario(scenario), undoable=True)

    @Slot(str)
    def choose_row(self, key: str) -> None:
        """Let a row drive the charts, and the form if it has settings of its own."""
        if key != self.setup.chosen:
            self._change(msgspec.structs.replace(self.setup, chosen=key))

    # --- models

    @Slot()
    def _show_models(self) -> None:
        self.page.models.set_groups(model_groups(self._scanner.entries, self._choices.hidden))
        self.page.open_models()

    @Slot(str)
    def _on_model(self, key: str) -> None:
        if key.startswith(TYPED):
            self.set_model(ModelSpec(typed=model_named(key.removeprefix(TYPED))))
        else:
            self.choose_file(key)

    @Slot()
    def _choose_file(self) -> None:
        dialog = QFileDialog(self._window, self.tr("Plan a GGUF file"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("GGUF models (*.gguf *.GGUF)"), self.tr("All files (*)")])
        self._open(dialog)
        dialog.fileSelected.connect(self.choose_file)

    @Slot(str)
    def choose_file(self, path: str) -> None:
        """Plan a file; one that can't be planned leaves the page as it is and says why."""

        def done(_facts: ModelFacts) -> None:
            self.models.forget_problems()
            self.set_model(ModelSpec(path))

        def failed(error: Exception) -> None:
            if not isinstance(error, ValueError):
                raise error
            self.page.form.set_problem(str(error))

        tasks.run(lambda: plannable(path), done, failed, self)

    @Slot(str)
    def plan_file(self, path: str) -> None:
        """Come on screen with a file of the library."""
        self._window.show_page(PAGE)
        self.choose_file(path)

    @Slot()
    def type_model(self) -> None:
        """Ask for a model's figures, beginning with those on the page."""
        model = self._scenario.model.typed or model_named("Llama 3.1 8B")
        dialog = ModelDialog(self._themes, model, describe_typed, self._window)
        dialog.typed.connect(lambda typed: self.set_model(ModelSpec(typed=typed)))
        self._open(dialog)

    # --- rows

    @Slot()
    def add_machine(self) -> None:
        """Ask for a machine and add a row for it."""
        dialog = MachineDialog(self._themes, hardware_table().rows, None, self._window)
        dialog.wanted.connect(self.add_row)
        self._open(dialog)

    @Slot(object)
    def add_row(self, machine: MachineSpec, own: Scenario | None = None) -> None:
        """Add a row at the end, and choose it."""
        self._change(self.setup.with_new_row(machine, own), undoable=True)

    @Slot(str, str)
    def command(self, name: str, key: str) -> None:
        """Do a row's command."""
        row = self.setup.row(key)
        if row is None:
            return
        if name == "change":
            dialog = MachineDialog(self._themes, hardware_table().rows, row.machine, self._window)
            dialog.wanted.connect(lambda spec: self._change_machine(key, spec))
            self._open(dialog)
        elif name == "duplicate":
            self.add_row(row.machine, row.own)
        elif name == "remove":
            self._change(self.setup.without_row(key), undoable=True)
            title = self.work.title(row)
            text = self.tr("%1 removed; %2 brings it back.").replace("%1", title)
            keys = QKeySequence(QKeySequence.StandardKey.Undo)
            self.page.say(text.replace("%2", keys.toString(QKeySequence.SequenceFormat.NativeText)))
        elif name in {"up", "down"}:
            moved = self.setup.with_row_moved(key, -1 if name == "up" else 1)
            self._change(moved, undoable=True)

    def _change_machine(self, key: str, machine: MachineSpec) -> None:
        row = self.setup.row(key)
        if row is not None:
            changed = msgspec.structs.replace(row, machine=machine)
            self._change(self.setup.with_row(changed), undoable=True)

    @Slot(str)
    def show_example(self, key: str) -> None:
        """Put an example on the page; the rows before can be had back."""
        example = next(item for item in EXAMPLES if item.key == key)
        if all(item.setup != self.setup for item in EXAMPLES):
            self._before = self.setup
            self._state.set_blob(_BEFORE, encode_setup(self.setup))
        replaced = len(self.setup.rows)
        self._change(example.setup, undoable=True)
        self.page.say("")
        if replaced:
            self._offer_undo(replaced)

    @Slot()
    def go_back(self) -> None:
        """Show the rows from before the examples."""
        if self._before is not None:
            self._change(self._before, undoable=True)

    @property
    def _is_shown(self) -> bool:
        return self._window.page == PAGE

    @Slot(str)
    def _on_page(self, key: str) -> None:
        if key == PAGE:
            self.models.forget_problems()
            self.this.ask(self.models.facts(self.setup.common.model))
            self.refresh()

    @Slot()
    def _on_known(self, _spec: object = None) -> None:
        self.refresh()

    # --- showing

    def refresh(self) -> None:
        """Show the page as it is now, and plan it, if anybody looks."""
        if self._is_shown:
            self.this.follow(self.models.facts(self.setup.common.model))
            self._show_form()
            self._show_rows()
            self.work.plan(self.setup)

    def _show_rows(self) -> None:
        known = {row.key: row.view for row in self.page.table.rows}
        views = []
        for row in self.setup.rows:
            view = known.get(row.key)
            title = self.work.title(row)
            views.append(view if view is not None else waiting_row(row, title))
        chosen = self.setup.chosen_row
        self.page.table.set_rows(tuple(views), "" if chosen is None else chosen.key)
        self.page.set_has_rows(bool(views))
        self.page.set_examples(
            tuple(ExampleView(item.key, self.tr(item.title)) for item in EXAMPLES),
            can_go_back=self._before is not None and self._before != self.setup,
        )

    def _show_form(self) -> None:
        scenario = self._scenario
        facts = self.models.facts(scenario.model)
        row = self.setup.chosen_row
        self.page.form.set_state(
            scenario.settings,
            form_facts(scenario, facts),
            own=row is not None and row.own is not None,
            has_row=row is not None,
        )

    @Slot(str)
    def save_report(self, path: str) -> None:
        """Write the page as Markdown, JSON or a picture, by the name's ending."""
        rows = []
        views = {row.key: row.view for row in self.page.table.rows}
        for row in self.setup.rows:
            planned = self.work.planned.get(row.key)
            problem = views[row.key].problem if planned is None and row.key in views else ""
            settings = self.setup.scenario(row).settings
            rows.append(ReportRow(self.work.title(row), settings, planned, problem))
        ReportSaver(self.page, self.page).save(path, rows)

    def _open(self, dialog: QDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
