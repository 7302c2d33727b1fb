"""A model has one name wherever it is named: window, panel, pages, reports, command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import run
from app.paths import Paths
from app.ui.presenters.compare_setup import variant_choices
from app.ui.presenters.model_entries import picker_entries
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
NAME = "Nice-Model-1M"


@pytest.fixture
def model(paths: Paths) -> Path:
    """A model whose metadata has the name of a training run."""
    paths.make()
    return write_tiny_model(paths.models / f"{NAME}-F32.gguf", TinyModel(name="run 7 mix1 ep2"))


def test_in_the_window(open_program: Open, model: Path) -> None:
    program = open_program(model).ready()
    app = program.app
    program.until(lambda: not app.scanner.is_scanning and bool(app.scanner.entries))
    assert app.engine.state.model is not None
    assert app.engine.state.model.name == NAME
    assert app.window.windowTitle() == f"{NAME} F32 – Plimsoll"
    assert app.window.header.model.button.accessibleName() == f"Model: {NAME} F32"
    entries = [entry for entry in app.scanner.entries if entry.path == model]
    assert [entry.name for entry in picker_entries(entries)] == [NAME]
    (group,) = [group for group in app.scanner.arranged.groups if model in
                [entry.path for entry in group.variants]]  # fmt: skip
    assert group.title == NAME
    assert {choice.name for choice in variant_choices([group])} == {NAME}
    app.window.show_page("models")
    program.until(lambda: not app.models_page.is_filling)
    titles = [view.title for view in app.models_page.page.tree.library.groups]
    assert NAME in titles
    app.planner.plan_file(str(model))
    program.until(lambda: NAME in app.planner.page.form.model.currentText())
    # The panel, and what a chat's report says of it.
    program.until(lambda: app.inspector.session.load is not None)
    load = app.inspector.session.load
    assert load is not None
    assert load.identity.model_name == NAME
    program.until(lambda: load.plan is not None or app.inspector.session.plan is not None)
    assert app.inspector.session.plan is not None
    assert app.inspector.session.plan.model.name == NAME


def test_on_the_command_line(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("facts", "plan"):
        assert run([command, str(model)]) == 0
        assert capsys.readouterr().out.startswith(NAME), command
    assert run(["facts", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shown_name"], found["name"]) == (NAME, "run 7 mix1 ep2")
    assert run(["models"]) == 0
    assert any(line.startswith(NAME) for line in capsys.readouterr().out.splitlines())
