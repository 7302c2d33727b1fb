"""Plans the rows of the planner's page in slices, and draws what comes of them."""

from __future__ import annotations

from collections.abc import Generator

from PySide6.QtCore import QObject, Slot

from app.machine import hardware_table
from app.ui.planner.page import PlannerPage
from app.ui.planner.views import RowView
from app.ui.presenters.planner_machine import ThisMachine
from app.ui.presenters.planner_models import PlannerModels
from app.ui.presenters.planner_views import failed_row, machine_title, planned_row, say
from app.ui.presenters.slices import Slices
from inspector.planner_curves import batching_curve, growth_curve
from inspector.planner_reasons import balance_phrases, prefill_phrase
from inspector.planner_setup import PlannerSetup, RowSetup, machine_of
from inspector.planner_words import short_name
from inspector.planning import Engine, RowPlan, plan_row

__all__ = ["PlannerWork"]


class PlannerWork(QObject):
    """Rows first, the chosen one before the others, then its charts."""

    def __init__(
        self,
        page: PlannerPage,
        models: PlannerModels,
        this: ThisMachine,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._page = page
        self._models = models
        self._this = this
        self._setup = PlannerSetup()
        self._again = False
        self.planned: dict[str, RowPlan] = {}
        self.slices = Slices(self)
        self.slices.finished.connect(self._on_pass_done)

    @property
    def is_running(self) -> bool:
        """Tell whether a pass runs."""
        return self.slices.is_running

    def plan(self, setup: PlannerSetup) -> None:
        """Plan a page: at once, or after the pass that runs.

        Starting over at each step of a slider would starve the last rows.
        """
        self._setup = setup
        if self.slices.is_running:
            self._again = True
        else:
            self.slices.start(self._pass(setup))

    def title(self, row: RowSetup) -> str:
        """Return a row's first line."""
        return machine_title(row.machine, self._this.machine)

    @Slot()
    def _on_pass_done(self) -> None:
        if self._again:
            self._again = False
            self.slices.start(self._pass(self._setup))

    def _pass(self, setup: PlannerSetup) -> Generator[None, None, None]:
        chosen = setup.chosen_row
        self.planned = {key: row for key, row in self.planned.items() if setup.row(key)}
        for row in sorted(setup.rows, key=lambda row: row is not chosen):
            view = yield from self._plan(setup, row)
            self._page.table.set_row(view)
            yield
        if not self._again:  # the charts are for settings that hold; rows follow the slider
            yield from self._draw_charts(setup, chosen)

    def _plan(self, setup: PlannerSetup, row: RowSetup) -> Generator[None, None, RowView]:
        scenario = setup.scenario(row)
        self.planned.pop(row.key, None)
        title = self.title(row)
        try:
            machine = machine_of(row.machine, hardware_table(), self._this.machine)
            facts = self._models.facts(scenario.model)
            yield
            if facts is None:
                problem = self._models.problem(scenario.model)
                waits = self.tr("Reading the model's file …")
                return failed_row(row, title, problem or waits, is_error=bool(problem))
            if machine is None:
                waits = self.tr("Known once the engine has started.")
                return failed_row(row, title, waits, is_error=False)
            here = row.machine.source == "this"
            engine = self._this.planning if here else Engine()
            planned = yield from plan_row(facts, scenario.settings, machine, engine)
        except ValueError as error:
            return failed_row(row, title, str(error))
        self.planned[row.key] = planned
        return planned_row(row, machine, scenario, planned)

    def _draw_charts(
        self, setup: PlannerSetup, chosen: RowSetup | None
    ) -> Generator[None, None, None]:
        page = self._page
        planned = None if chosen is None else self.planned.get(chosen.key)
        if chosen is None or planned is None:
            page.growth_chart.set_curve(None)
            page.batching_chart.set_curve(None)
            for card in (page.growth, page.batching):
                card.set_words("", "")
            return
        growth = yield from growth_curve(planned, setup.scenario(chosen).settings)
        batching = yield from batching_curve(planned)
        yield
        page.growth_chart.set_curve(growth)
        yield
        page.batching_chart.set_curve(batching)
        title = self.title(chosen)
        memory = short_name(growth.pool)
        named = len(planned.bars) == 1 or memory == title
        about = self.tr("%1, as the context grows")
        name = title if named else f"{title}, {memory}"
        page.growth.set_words(about.replace("%1", name), planned.kv_formula)
        about = self.tr("%1, tokens per second in all")
        sentences = (*balance_phrases(planned), prefill_phrase(planned))
        page.batching.set_words(
            about.replace("%1", title), " ".join(say(phrase) for phrase in sentences)
        )
