"""The planner in the real window, with the real engine's devices."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog
from pytestqt.qtbot import QtBot

from app.data.library.choices import LibraryChoices
from app.data.state import StateFile
from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.planner.machine_dialog import MachineDialog
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.planner import PlannerPresenter
from app.ui.presenters.slices import Slices
from app.ui.theme import ThemeManager
from inspector.planner_examples import EXAMPLES, first_setup
from inspector.planner_setup import MachineSpec, ModelSpec, decode_setup
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.window import Program

RTX4090 = MachineSpec("table", "NVIDIA GeForce RTX 4090")


class Page:
    """The planner in a real window; the engine is there and not started."""

    def __init__(self, qtbot: QtBot, paths: Paths) -> None:
        self.qtbot = qtbot
        self.themes = ThemeManager("dark")
        self.window = MainWindow(self.themes)
        qtbot.addWidget(self.window)
        self.window.resize(1440, 900)
        self.window.show()
        self.state = StateFile(paths.state)
        self.engine = EngineProcess(self.window)
        choices = LibraryChoices(self.state)
        scanner = LibraryScanner(Settings(paths.settings), paths, choices, self.window)
        self.planner = PlannerPresenter(
            scanner, choices, self.engine, self.state, self.window, self.themes, dict, self.window
        )

    def until(self, done: Any) -> None:
        """Let the window run until something is so."""
        self.qtbot.waitUntil(done)

    def close(self) -> None:
        """Keep what is kept when the program ends."""
        self.planner.close()


@pytest.fixture
def program(qtbot: QtBot, paths: Paths) -> Iterator[Page]:
    made = Page(qtbot, paths)
    yield made
    made.close()


def shown(program: Page) -> PlannerPresenter:
    program.window.show_page("planner")
    settled(program)
    return program.planner


def settled(program: Page) -> None:
    program.until(lambda: not program.planner.is_planning)


def texts(planner: PlannerPresenter, cell: Any = "verdict") -> list[str]:
    return [row.view.texts.get(cell, "") for row in planner.page.table.rows]


def test_a_first_visit_plans_a_model_on_six_machines(qtbot: QtBot, paths: Paths) -> None:
    Settings(paths.settings).set("load_last_model", False)
    program = Program(qtbot, paths)
    planner = program.app.planner
    try:
        program.app.window.show_page("planner")
        program.until(lambda: planner.knows_this_computer)
        program.until(lambda: not planner.is_planning)
        rows = planner.page.table.rows
        assert [row.view.title for row in rows[:2]] == ["RTX 4090", "RTX 4060"]
        assert rows[-1].view.title.startswith("This computer")
        assert rows[-1].view.bars[0].total_bytes
        assert texts(planner)[0].startswith("Fits, ")
        assert texts(planner)[1].startswith("KV breaks it at ")
        assert planner.page.growth_chart.curve is not None
        assert not planner.page.batching_chart.is_empty
        assert "operations a byte" in planner.page.batching.caption.text()
    finally:
        program.close()


def test_without_an_engine_only_this_computer_waits(program: Page) -> None:
    planner = shown(program)
    assert "engine" in planner.page.table.rows[-1].view.problem
    assert all(not row.view.problem for row in planner.page.table.rows[:-1])


def test_nothing_is_planned_before_anybody_looks(program: Page) -> None:
    planner = program.planner
    assert not planner.is_planning
    assert planner.page.table.rows == ()


def test_settings_of_the_form_hold_for_all_rows(program: Page) -> None:
    planner = shown(program)
    before = texts(planner, "context")
    form = planner.page.form
    form.cache.setCurrentText("q8_0")
    settled(program)
    assert texts(planner, "context")[1] != before[1]
    form.context_slider.setValue(form.context_slider.minimum())
    settled(program)
    assert form.context.value() == 256
    assert all(text.startswith("Fits") for text in texts(planner)[:5])
    form.chats.setValue(7)
    settled(program)
    assert planner.setup.common.settings.conversations == 7
    assert all(row.own is None for row in planner.setup.rows)


def test_a_row_can_have_settings_of_its_own(program: Page) -> None:
    planner = shown(program)
    second = planner.setup.rows[1].key
    planner.choose_row(second)
    settled(program)
    planner.page.form.own.click()
    planner.page.form.context.setValue(1024)
    settled(program)
    assert planner.setup.common.settings.context == 32_768
    assert texts(planner)[1].startswith("Fits")
    assert planner.page.table.rows[1].view.sub.startswith("Llama 3.1 8B · 1K")
    planner.choose_row(planner.setup.rows[0].key)
    settled(program)
    assert planner.page.form.context.value() == 32_768
    assert not planner.page.form.own.isChecked()


def test_the_chosen_row_drives_the_charts(program: Page) -> None:
    planner = shown(program)
    first = planner.page.growth.about.text()
    planner.choose_row(planner.setup.rows[1].key)
    settled(program)
    assert planner.page.growth.about.text() != first
    curve = planner.page.growth_chart.curve
    assert curve is not None
    assert curve.breaks_tokens is not None


def test_rows_are_added_duplicated_moved_removed_and_brought_back(program: Page) -> None:
    planner = shown(program)
    planner.add_row(msgspec.structs.replace(RTX4090, cards=2))
    settled(program)
    assert planner.page.table.rows[-1].view.title == "2 × RTX 4090"
    added = planner.setup.rows[-1].key
    planner.command("duplicate", added)
    planner.command("up", added)
    settled(program)
    assert [row.view.title for row in planner.page.table.rows].count("2 × RTX 4090") == 2
    assert planner.setup.rows[-3].key == added
    planner.command("remove", added)
    settled(program)
    assert planner.setup.row(added) is None
    planner.undo()
    settled(program)
    assert planner.setup.row(added) is not None
    for row in planner.setup.rows:
        planner.command("remove", row.key)
    settled(program)
    assert planner.page.table.rows == ()
    assert planner.page.growth_chart.is_empty
    assert not planner.page.growth.isVisible()


def test_a_machine_is_changed_in_its_dialog(program: Page) -> None:
    planner = shown(program)
    key = planner.setup.rows[0].key
    planner.command("change", key)
    dialog = next(
        item for item in QApplication.topLevelWidgets() if isinstance(item, MachineDialog)
    )
    dialog.memory.setValue(4)
    dialog.bandwidth.setValue(100)
    dialog._accept()
    settled(program)
    assert planner.setup.rows[0].machine.source == "typed"
    assert texts(planner)[0] == "Weights don't fit"
    program.until(lambda: not any(isinstance(w, QDialog) for w in QApplication.topLevelWidgets()))


def test_a_file_is_planned_and_what_is_none_is_said(program: Page, tmp_path: Path) -> None:
    planner = shown(program)
    good, bad = tmp_path / "shape.gguf", tmp_path / "note.gguf"
    ShapeModel(layers=8).builder().write(good)
    bad.write_text("not a model")
    before = planner.setup.common.model
    planner.choose_file(str(bad))
    program.until(planner.page.form.problem.isVisible)
    sentence = planner.page.form.problem.text()
    assert sentence.endswith(".")
    assert "note.gguf" in sentence
    assert planner.setup.common.model == before
    planner.plan_file(str(good))
    program.until(lambda: planner.setup.common.model == ModelSpec(str(good)))
    settled(program)
    program.until(lambda: planner.page.form.layers.maximum() == 9)
    settled(program)
    assert not planner.page.form.problem.isVisible()
    assert texts(planner)[0].startswith("Fits")


def test_a_file_that_went_leaves_a_sentence_in_its_rows(program: Page, tmp_path: Path) -> None:
    planner = program.planner
    planner.set_model(ModelSpec(str(tmp_path / "gone.gguf")))
    shown(program)
    program.until(lambda: "gone.gguf" in planner.page.table.rows[0].view.problem)
    planner.set_model(first_setup().common.model)
    settled(program)
    assert planner.page.table.rows[0].view.problem == ""


def test_examples_leave_the_way_back(program: Page) -> None:
    planner = shown(program)
    planner.add_row(RTX4090)
    mine = planner.setup
    for example in EXAMPLES:
        planner.show_example(example.key)
        settled(program)
        assert len(planner.page.table.rows) == len(example.setup.rows)
        assert not any(row.view.problem for row in planner.page.table.rows)
    planner.go_back()
    assert planner.setup == mine


def test_rows_that_an_example_replaced_come_back_by_a_click(program: Page) -> None:
    planner = shown(program)
    notices = planner.page.notices
    mine = planner.setup
    planner.show_example("h100")
    settled(program)
    assert notices.isVisible()
    assert notices.bar("replaced").text == f"Replaced {len(mine.rows)} rows."
    notices.chosen.emit("replaced", "undo")
    settled(program)
    assert planner.setup == mine
    assert not notices.isVisible()
    # After another change the offer is gone: it would take that one back.
    planner.show_example("h100")
    planner.add_row(RTX4090)
    assert notices.notices() == []


def test_a_context_beyond_the_trained_one_is_said(program: Page) -> None:
    planner = shown(program)
    form = planner.page.form
    form.context.setValue(131_072)
    settled(program)
    assert not form.remark.isVisible()
    form.context.setValue(262_144)
    settled(program)
    assert form.remark.isVisible()
    assert "trained for 131,072" in form.remark.text()
    assert planner.page.table.rows[0].view.subs["context"] == "trained"


def test_the_page_is_there_again_after_a_restart(qtbot: QtBot, paths: Paths, program: Page) -> None:
    planner = shown(program)
    planner.show_example("h100")
    settled(program)
    kept = planner.setup
    program.close()
    again = Page(qtbot, paths)
    assert again.planner.setup == kept
    assert decode_setup(again.state.blob("planner")) == kept


def test_reports_are_written(program: Page, tmp_path: Path) -> None:
    planner = shown(program)
    planner.show_example("three_bars")
    settled(program)
    planner.page._choose_report()
    (dialog,) = planner.page.findChildren(QFileDialog)
    model = planner.page.form.model.currentText().replace(" · ", " ").split()[0]
    assert Path(dialog.selectedFiles()[0]).name.startswith(f"Plan {model}")
    dialog.reject()
    for name in ("plan.md", "plan.json", "plan.png"):
        path = tmp_path / name
        planner.save_report(str(path))
        program.until(lambda path=path: path.is_file() and path.stat().st_size > 500)
    assert "Weights don't fit" in (tmp_path / "plan.md").read_text()
    rows = json.loads((tmp_path / "plan.json").read_text())["rows"]
    assert [row["breaks_first"] for row in rows] == ["cache", "weights", "cache"]
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    planner.save_report(str(tmp_path / "nowhere" / "plan.md"))
    program.until(lambda: "can't be written" in planner.page.said())


def test_a_slider_that_moves_starves_no_row(program: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = shown(program)
    slider = planner.page.form.context_slider
    # However fast this machine is, a slice ends after some steps, and the slider moves on.
    steps = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: 0.0005 * next(steps))
    monkeypatch.setattr("app.ui.presenters.slices.time", clock)
    moved_amid = 0
    seen: set[str] = set()
    for position in range(slider.minimum(), slider.maximum(), 2):
        moved_amid += planner.is_planning
        slider.setValue(position)
        slices: list[None] = []
        note = planner.work.slices._timer.timeout.connect(lambda slices=slices: slices.append(None))
        program.until(lambda slices=slices: len(slices) >= 2 or not planner.is_planning)
        planner.work.slices._timer.timeout.disconnect(note)
        seen.add(planner.page.table.rows[4].view.texts.get("ceiling", ""))
    settled(program)
    assert moved_amid > 20
    assert len(seen) > 5  # the fifth row followed while the slider moved
    context = planner.page.form.context.value()
    planned = list(planner.work.planned.values())
    assert {row.plan.memory.settings.context_sequence for row in planned} == {context}


def test_slices_end_drop_and_hand_errors_on(qtbot: QtBot) -> None:
    slices = Slices()
    done: list[int] = []

    def work(count: int) -> Any:
        for number in range(count):
            done.append(number)
            yield

    with qtbot.waitSignal(slices.finished):
        slices.start(work(3))
    assert done == [0, 1, 2]
    slices.start(work(3))
    slices.cancel()
    assert not slices.is_running
    assert done == [0, 1, 2]

    def broken() -> Any:
        yield
        raise RuntimeError("meant to be")

    with qtbot.captureExceptions() as caught:
        slices.start(broken())
        qtbot.waitUntil(lambda: bool(caught))
    assert not slices.is_running
