"""Dialogs and popup of the planner: a model typed, a machine found or typed, a model chosen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox, QScrollArea
from pytestqt.qtbot import QtBot

from app.machine import hardware_table
from app.ui.planner.machine_dialog import MachineDialog
from app.ui.planner.model_dialog import ModelDialog
from app.ui.planner.model_popup import ModelPopup
from app.ui.shell.views import ModelEntry
from app.ui.theme import ThemeManager
from gguf_tools.typed import TypedModel, TypedModelError, typed_facts
from inspector.planner_examples import MODELS, model_named
from inspector.planner_setup import MachineSpec

GIB = 1 << 30


def describe(model: TypedModel) -> tuple[str, str]:
    try:
        return f"{typed_facts(model).weights_bytes:,} bytes", ""
    except TypedModelError as error:
        return "", str(error)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_typed_model_comes_back_as_it_was(
    qtbot: QtBot, themes: ThemeManager, model: TypedModel
) -> None:
    dialog = ModelDialog(themes, model, describe)
    qtbot.addWidget(dialog)
    back = dialog.model()
    assert back.parameters == pytest.approx(model.parameters, abs=500_000)  # three decimals
    assert (back.layers, back.kv_heads, back.head_length) == (
        model.layers, model.kv_heads, model.head_length,
    )  # fmt: skip
    assert (back.heads, back.vocabulary, back.experts) == (
        model.heads, model.vocabulary, model.experts,
    )  # fmt: skip
    assert dialog.says.text().endswith("bytes")


def test_figures_that_make_no_model_can_not_be_taken(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = ModelDialog(themes, model_named("Llama 3.1 8B"), describe)
    qtbot.addWidget(dialog)
    ok = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert ok.isEnabled()
    dialog.parameters.setValue(0.01)
    assert not ok.isEnabled()
    assert "no room" in dialog.says.text()
    dialog.parameters.setValue(14)
    assert ok.isEnabled()
    heard: list[TypedModel] = []
    dialog.typed.connect(heard.append)
    ok.click()
    assert heard[0].parameters == 14_000_000_000


def test_experts_are_asked_for_only_where_there_are_any(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = ModelDialog(themes, model_named("Llama 3.1 8B"), describe)
    qtbot.addWidget(dialog)
    assert not dialog.used.isEnabled()
    assert dialog.model().parameters_active == 0
    dialog.experts.setValue(64)
    assert dialog.used.isEnabled()
    assert "how many parameters" in dialog.says.text()


def machines(qtbot: QtBot, themes: ThemeManager, spec: MachineSpec | None = None) -> MachineDialog:
    dialog = MachineDialog(themes, hardware_table().rows, spec)
    qtbot.addWidget(dialog)
    return dialog


@pytest.mark.parametrize(
    "spec",
    [
        MachineSpec(),
        MachineSpec("table", "NVIDIA H100 SXM", memory_bytes=80 * GIB),
        MachineSpec("table", "NVIDIA GeForce RTX 3090", cards=2, memory_bytes=24 * GIB),
        MachineSpec("table", "Apple M4", "unified", memory_bytes=16 * GIB),
        MachineSpec("table", "AMD EPYC 9004", "cpu", host_bytes=384 * GIB),
        MachineSpec(
            "typed",
            "Dream",
            "gpu",
            cards=2,
            memory_bytes=48 * GIB,
            bandwidth_bytes_per_s=1.8e12,
            flops_per_s=4e14,
            link_bytes_per_s=64e9,
        ),
        MachineSpec("typed", "Box", "unified", memory_bytes=128 * GIB, bandwidth_bytes_per_s=273e9),
    ],
)
def test_a_machine_comes_back_as_it_was(
    qtbot: QtBot, themes: ThemeManager, spec: MachineSpec
) -> None:
    assert machines(qtbot, themes, spec).spec() == spec


def test_searching_finds_a_row_of_the_table(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = machines(qtbot, themes)
    QTest.keyClicks(dialog.search, "h100 sxm")
    spec = dialog.spec()
    assert (spec.source, spec.name) == ("table", "NVIDIA H100 SXM")
    assert spec.memory_bytes == 80 * GIB
    assert dialog.bandwidth.value() == 3350.0
    assert "data sheet" in dialog.basis.text()


def test_figures_typed_over_the_tables_make_a_machine_of_ones_own(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    dialog = machines(qtbot, themes, MachineSpec("table", "NVIDIA GeForce RTX 4090"))
    dialog.bandwidth.setValue(2000)
    spec = dialog.spec()
    assert spec.source == "typed"
    assert spec.name == "RTX 4090"
    assert spec.bandwidth_bytes_per_s == 2e12
    assert spec.memory_bytes == 24 * GIB
    assert "Typed" in dialog.basis.text()
    # The size of the memory is a choice that the table leaves open.
    other = machines(qtbot, themes, MachineSpec("table", "NVIDIA GeForce RTX 4060 Ti"))
    other.memory.setValue(8)
    assert (other.spec().source, other.spec().memory_bytes) == ("table", 8 * GIB)


def test_return_takes_the_machine(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = machines(qtbot, themes)
    with qtbot.waitActive(dialog):
        dialog.show()
    QTest.keyClicks(dialog.search, "M4 Max")
    with qtbot.waitSignal(dialog.wanted) as heard:
        QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert heard.args[0].name.startswith("Apple M4 Max")


def test_the_popup_filters_and_chooses_by_keyboard(qtbot: QtBot, themes: ThemeManager) -> None:
    popup = ModelPopup(themes)
    qtbot.addWidget(popup)
    entries = (
        ModelEntry("/a.gguf", "Alpha 7B", "Q4_K_M", 4 * GIB),
        ModelEntry("/b.gguf", "Beta 3B", "Q8_0", 3 * GIB, problem="Incomplete."),
        ModelEntry("/c.gguf", "Gamma 1B", "Q8_0", 1 * GIB),
    )
    popup.set_groups((("Here", entries), ("None", ())))
    assert popup.list.count() == 4  # a heading, and no empty group
    chosen: list[str] = []
    popup.chosen.connect(chosen.append)
    QTest.keyClick(popup.search, Qt.Key.Key_Down)
    assert popup.list.currentItem().text().startswith("Alpha")
    QTest.keyClick(popup.search, Qt.Key.Key_Down)
    assert popup.list.currentItem().text().startswith("Gamma")  # past what can't be used
    QTest.keyClicks(popup.search, "alpha")
    QTest.keyClick(popup.search, Qt.Key.Key_Return)
    assert chosen == ["/a.gguf"]


def test_a_typed_model_needs_no_scrolling(qtbot: QtBot, themes: ThemeManager) -> None:
    """Two lines of what follows from the figures have room as well."""
    says = (
        "4.21 GiB of weights at 4.50 bits, 128 KiB of cache a token in f16. Assumed: width 4,096."
    )
    dialog = ModelDialog(themes, model_named("Llama 3.1 8B"), lambda _model: (f"{says} {says}", ""))
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitExposed(dialog)
    area = dialog.findChild(QScrollArea)
    assert isinstance(area, QScrollArea)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
