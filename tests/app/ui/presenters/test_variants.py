"""Variants made from the window: by the real engine, from a tiny model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.data.state import StateFile
from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import Settings
from app.ui.models.variant_dialog import VariantDialog
from app.ui.presenters.variants import VariantPresenter
from app.ui.theme import ThemeManager
from gguf_tools.facts import read_facts
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.tiny_gguf import write_tiny_model


@pytest.fixture(autouse=True)
def no_double_clicks(qapp: QApplication) -> Iterator[None]:
    """Clicks of a test follow each other faster than a person's who means each of them."""
    before_ms = QApplication.doubleClickInterval()
    QApplication.setDoubleClickInterval(0)
    yield
    QApplication.setDoubleClickInterval(before_ms)


@pytest.fixture
def presenter(qtbot: QtBot, paths: Paths) -> Iterator[VariantPresenter]:
    """A presenter whose chat engine is not started: variants have an engine of their own."""
    engine = EngineProcess()
    presenter = VariantPresenter(
        engine, Settings(paths.settings), StateFile(None), paths, ThemeManager("dark")
    )
    yield presenter
    presenter.close()
    engine.deleteLater()
    presenter.deleteLater()


def opened(qtbot: QtBot, presenter: VariantPresenter, source: Path) -> VariantDialog:
    presenter.open(str(source), "Tiny")
    dialog = presenter.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: not dialog._words.text().startswith("Working out"))
    return dialog


def choose(dialog: VariantDialog, kind: str) -> None:
    names = [option.key for option in dialog.table.options]
    dialog.table.selectRow(names.index(kind))


def test_a_variant_is_made(qtbot: QtBot, presenter: VariantPresenter, paths: Paths) -> None:
    source = write_tiny_model(paths.models / "Tiny-1M-F32.gguf")
    dialog = opened(qtbot, presenter, source)
    options = {option.key: option for option in dialog.table.options}
    assert options["Q8_0"].size_bytes is not None
    assert options["F32"].problem == "what the file is already"
    assert dialog.allowed.isHidden()  # nothing is quantised yet
    choose(dialog, "Q8_0")
    target = paths.models / "Tiny-1M-Q8_0.gguf"
    assert Path(dialog.target.text()) == target
    with qtbot.waitSignal(presenter.made) as made:
        dialog.start.click()
        assert not dialog.start.isVisible()
    assert made.args == [str(target)]
    assert read_facts(target).quantization == "Q8_0"
    assert target.stat().st_size == options["Q8_0"].size_bytes
    assert "was made" in dialog._words.text()
    # The same again is refused, and what is there stays.
    before = target.read_bytes()
    dialog.start.click()
    qtbot.waitUntil(lambda: "exists already" in dialog._words.text())
    assert target.read_bytes() == before
    # From the quantised file another one needs a word of consent.
    dialog.close()
    again = opened(qtbot, presenter, target)
    qtbot.waitUntil(lambda: not again.allowed.isHidden())
    choose(again, "Q4_0")
    assert not again.start.isEnabled()
    again.allowed.setChecked(True)
    with qtbot.waitSignal(presenter.made):
        again.start.click()


def test_a_cancelled_variant_leaves_nothing(
    qtbot: QtBot, presenter: VariantPresenter, paths: Paths, starter: Path
) -> None:
    dialog = opened(qtbot, presenter, starter)
    qtbot.waitUntil(lambda: not dialog.allowed.isHidden())
    choose(dialog, "F16")
    dialog.allowed.setChecked(True)
    dialog.start.click()
    # Closed while it works, the dialog is kept and shown again when it is asked for.
    dialog.close()
    presenter.open(str(starter), "Another")
    assert presenter.dialog is dialog
    assert dialog.isVisible()
    dialog.close()
    with qtbot.waitSignal(presenter.told) as told:
        dialog.stop.click()
    assert told.args == ["Cancelled; nothing was kept.", "info"]
    assert list(paths.models.iterdir()) == []
    assert presenter.dialog is None


def test_types_with_few_bits_need_an_importance_matrix(
    qtbot: QtBot, presenter: VariantPresenter, tmp_path: Path
) -> None:
    shape = ShapeModel(
        layers=2, embedding=256, heads=4, kv_heads=2, feed_forward=512, vocabulary=256, kind="F16"
    )
    source = shape.builder().write(tmp_path / "shape-F16.gguf")
    dialog = opened(qtbot, presenter, source)
    problems = {option.key: option.problem for option in dialog.table.options}
    assert problems["IQ1_S"] == "needs an importance matrix"
    assert problems["Q4_K_M"] == ""
    chosen = dialog.table.chosen()
    assert chosen is not None
    assert chosen.key == "Q4_K_M"
    about = {option.key: option.about for option in dialog.table.options}
    assert "larger than the source" in about["F32"]
    # With one it can be made.
    dialog.imatrix.setText(str(tmp_path / "imatrix.gguf"))
    dialog.imatrix_changed.emit(dialog.imatrix.text())
    qtbot.waitUntil(lambda: not next(o for o in dialog.table.options if o.key == "IQ1_S").problem)


def test_a_file_that_is_none_is_told(
    qtbot: QtBot, presenter: VariantPresenter, tmp_path: Path
) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"")
    dialog = opened(qtbot, presenter, path)
    qtbot.waitUntil(lambda: "is empty" in dialog._words.text())
    assert not dialog.start.isEnabled()
