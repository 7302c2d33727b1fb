"""Details of a file, the question before the trash, and the dialog that makes variants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.ui.models.details import DetailsDialog
from app.ui.models.trash_dialog import TrashDialog
from app.ui.models.variant_dialog import VariantDialog
from app.ui.models.views import VariantOption
from app.ui.presenters.library_details import read_details
from app.ui.theme import ThemeManager
from tests.app.ui.models.conftest import FITS, LARGE


def texts(dialog: DetailsDialog) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel)]


def test_details_of_the_starter_model(qtbot: QtBot, themes: ThemeManager, starter: Path) -> None:
    dialog = DetailsDialog(themes, read_details(starter, "SmolLM2"))
    qtbot.addWidget(dialog)
    dialog.show()
    shown = texts(dialog)
    for text in ("Q4_1", "93.8 MiB", "30", "9 · 3", "8,192 tokens", "llama · GGUF v3"):
        assert text in shown, text
    assert any(text == "Q8_0" for text in shown)  # one of its tensor types
    assert dialog.table.model().rowCount() > 20
    dialog.search.setText("rope")
    assert 0 < dialog.proxy.rowCount() < 5
    assert dialog._count.text().startswith(f"{dialog.proxy.rowCount()} of ")
    dialog.table.selectAll()
    dialog._copy()
    assert "rope" in QGuiApplication.clipboard().text()


def test_a_file_of_hostile_metadata_is_plain_text(
    qtbot: QtBot, themes: ThemeManager, tmp_path: Path
) -> None:
    from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

    path = write_tiny_model(tmp_path / "x.gguf", TinyModel(name="<b>bold</b><img src=x>"))
    dialog = DetailsDialog(themes, read_details(path, "x"))
    qtbot.addWidget(dialog)
    (label,) = [item for item in dialog.findChildren(QLabel) if "<b>bold" in item.text()]
    assert label.textFormat() == Qt.TextFormat.PlainText


def test_the_trash_is_asked_for_with_cancel_as_default(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = TrashDialog(themes, "Move it?", "4 GiB.", ["/m/a.gguf"])
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.cancel.isDefault()
    with qtbot.waitSignal(dialog.rejected):
        QTest.keyClick(dialog, Qt.Key.Key_Return)
    with qtbot.waitSignal(dialog.accepted):
        dialog.confirm.click()


OPTIONS = (
    VariantOption("Q8_0", "Q8_0", size_bytes=8 << 30, bits_per_weight=8.5, fit=LARGE),
    VariantOption("Q4_K_M", "Q4_K_M", size_bytes=4 << 30, fit=FITS, recommended=True),
    VariantOption("IQ1_S", "IQ1_S", problem="needs an importance matrix"),
)
NAMES = {option.key: f"model-{option.key}.gguf" for option in OPTIONS}


@pytest.fixture(autouse=True)
def double_click_interval(qapp: QApplication) -> Iterator[None]:
    """Tests may change it; the next one finds it as it was."""
    before_ms = QApplication.doubleClickInterval()
    yield
    QApplication.setDoubleClickInterval(before_ms)


@pytest.fixture
def dialog(qtbot: QtBot, themes: ThemeManager, tmp_path: Path) -> VariantDialog:
    dialog = VariantDialog(themes, "Model", "/m/model.gguf", tmp_path)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_the_recommended_type_is_chosen_and_named(dialog: VariantDialog, tmp_path: Path) -> None:
    assert not dialog.start.isEnabled()
    dialog.set_options(OPTIONS, NAMES)
    assert dialog.target.text() == str(tmp_path / "model-Q4_K_M.gguf")
    assert dialog.start.isEnabled()
    dialog.table.selectRow(0)
    assert dialog.target.text() == str(tmp_path / "model-Q8_0.gguf")


def test_a_name_of_ones_own_stays(dialog: VariantDialog, tmp_path: Path) -> None:
    dialog.set_options(OPTIONS, NAMES)
    dialog.target.setText(str(tmp_path / "mine.gguf"))
    dialog.table.selectRow(0)
    assert dialog.target.text() == str(tmp_path / "mine.gguf")
    # A folder of one's own stays too, while the name follows.
    dialog.target.setText("/other/model-Q8_0.gguf")
    dialog.table.selectRow(1)
    assert Path(dialog.target.text()) == Path("/other/model-Q4_K_M.gguf")


def test_what_can_not_be_made_can_not_be_chosen(dialog: VariantDialog) -> None:
    dialog.set_options(OPTIONS, NAMES)
    model = dialog.table.model()
    assert model.flags(model.index(2, 0)) == Qt.ItemFlag.NoItemFlags
    assert "importance" in model.index(2, 5).data()
    spoken = model.index(1, 0).data(int(Qt.ItemDataRole.AccessibleTextRole))
    assert spoken == "Q4_K_M, 4.00 GiB, –, Fits, 9 GiB free, 30–40"


def test_quantised_weights_have_to_be_agreed_to(qtbot: QtBot, dialog: VariantDialog) -> None:
    dialog.set_options(OPTIONS, NAMES)
    dialog.set_warning("Made from weights in Q4_1.")
    assert not dialog.start.isEnabled()
    dialog.allowed.setChecked(True)
    with qtbot.waitSignal(dialog.start_requested) as asked:
        dialog.start.click()
    assert asked.args == ["Q4_K_M", dialog.target.text(), "", True]


def test_while_it_is_made_nothing_can_be_changed(qtbot: QtBot, dialog: VariantDialog) -> None:
    dialog.set_options(OPTIONS, NAMES)
    dialog.set_progress(0.4)
    assert dialog.progress.value() == 400
    assert not any(w.isEnabled() for w in (dialog.table, dialog.target, dialog.imatrix))
    assert dialog.start.isHidden()
    QApplication.setDoubleClickInterval(60_000)  # Stop stands where the other one stood
    with qtbot.assertNotEmitted(dialog.cancel_requested):
        QTest.mouseClick(dialog.stop, Qt.MouseButton.LeftButton)
    QApplication.setDoubleClickInterval(0)
    with qtbot.waitSignal(dialog.cancel_requested):
        dialog.stop.click()
    dialog.set_progress(None)
    assert dialog.table.isEnabled()
    assert dialog.stop.isHidden()


def test_an_importance_matrix_is_told(qtbot: QtBot, dialog: VariantDialog) -> None:
    dialog.imatrix.setText("/m/imatrix.gguf")
    with qtbot.waitSignal(dialog.imatrix_changed) as asked:
        QTest.keyClick(dialog.imatrix, Qt.Key.Key_Return)
    assert asked.args == ["/m/imatrix.gguf"]
