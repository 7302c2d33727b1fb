"""The dialog of a model's load settings says what will be taken where they are left open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.paths import Paths
from app.ui.dialogs.editors import NumberField
from app.ui.dialogs.load_dialog import LoadDialog
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]


@pytest.fixture
def model(paths: Paths) -> Path:
    paths.make()
    return write_tiny_model(paths.models / "Tiny-1M-F32.gguf", TinyModel(context=3000))


def opened(program: Program, path: Path) -> LoadDialog:
    program.app.preferences.open_load_settings(str(path))
    (dialog,) = program.app.window.findChildren(LoadDialog)
    return dialog


def number(dialog: LoadDialog, key: str) -> str:
    field = dialog.form.row(key).editor.findChild(NumberField)
    assert field is not None
    return str(field.text())


def test_what_is_left_open_is_shown_as_the_engine_takes_it(open_program: Open, model: Path) -> None:
    program = open_program(model).ready()
    loaded = program.app.engine.state.model
    assert loaded is not None
    dialog = opened(program, model)
    assert dialog._name.text() == "Tiny-1M F32"
    program.until(lambda: number(dialog, "n_ctx") != "")
    # Trained for 3,000 tokens, in steps of the engine: what the plan says is what it took.
    assert int(number(dialog, "n_ctx")) == loaded.n_ctx
    assert int(number(dialog, "threads")) == loaded.threads
    assert int(number(dialog, "threads_batch")) == loaded.threads_batch
    row = dialog.form.row("n_ctx")
    assert row._used.text().startswith(f"used: {loaded.n_ctx:,} · up to ")
    assert dialog.form.values()["n_ctx"] is None
    dialog.reject()


def test_what_fits_follows_what_is_chosen(open_program: Open, paths: Paths) -> None:
    paths.make()
    wide = TinyModel(context=1_000_000, layers=8, kv_heads=4)
    path = write_tiny_model(paths.models / "Wide-1M-F32.gguf", wide)
    program = open_program()
    program.until(lambda: program.app.engine.state.hello is not None)
    dialog = opened(program, path)
    row = dialog.form.row("n_ctx")
    program.until(lambda: number(dialog, "n_ctx") == "8192")
    assert row._used.text().startswith("up to ")
    editor = dialog.form.row("type_k").editor
    editor.set_value("q8_0")
    with program.qtbot.waitSignal(dialog.values_changed):
        editor.edited.emit()
    program.until(lambda: number(dialog, "n_ctx") == "8192")
    dialog.reject()


def test_a_file_that_says_nothing_is_no_fault(open_program: Open, tmp_path: Path) -> None:
    program = open_program()
    path = tmp_path / "broken-Q4_0.gguf"
    path.write_bytes(b"GGUF")
    dialog = opened(program, path)
    program.qtbot.wait(100)
    assert dialog._name.text() == "broken Q4_0"
    assert number(dialog, "n_ctx") == ""
    dialog.reject()
