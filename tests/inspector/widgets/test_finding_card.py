"""Findings: texts, buttons that say what they do, the strip of layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import FindingView, LayerDevice, LayersView, LayerView
from inspector.widgets.finding_card import FindingsCard
from inspector.widgets.layer_strip import LayerStrip
from tests.helpers.panel_samples import GIB, MIB, OFFLOAD, SPLIT_LAYERS

Show = Callable[[QWidget], None]


def test_a_fix_says_what_it_does_and_is_asked_for(
    themes: ThemeManager, show: Show, qtbot: QtBot
) -> None:
    card = FindingsCard(themes)
    card.set_views((OFFLOAD,))
    show(card)
    finding = card.findings[0]
    assert [button.text() for button in finding.buttons] == [
        "KV cache to q8_0",
        "Context to 16K",
        "Open Q6_K",
    ]
    assert finding.effect.text().startswith("KV cache to q8_0: frees 1.27 GiB")
    finding.buttons[1].setFocus()
    qtbot.waitUntil(finding.buttons[1].hasFocus)
    assert finding.effect.text().startswith("Context to 16K: frees 1.35 GiB")
    assert "31 → 76 tok/s" in finding.buttons[1].toolTip()
    with qtbot.waitSignal(card.fix_requested) as asked:
        QTest.keyClick(finding.buttons[1], Qt.Key.Key_Space)
    assert asked.args == ["offload", "ctx_16k"]


def test_showing_another_effect_moves_nothing(
    themes: ThemeManager, show: Show, qtbot: QtBot
) -> None:
    long = replace(OFFLOAD.fixes[1], effect="frees a little, " * 20)
    card = FindingsCard(themes)
    card.set_views((replace(OFFLOAD, fixes=(OFFLOAD.fixes[0], long)),))
    show(card)
    finding = card.findings[0]
    before = finding.heightForWidth(finding.width())
    finding.buttons[1].setFocus()
    qtbot.waitUntil(lambda: finding.effect.text().startswith("Context"))
    assert finding.heightForWidth(finding.width()) == before


def test_a_finding_that_stays_keeps_its_buttons(themes: ThemeManager, show: Show) -> None:
    card = FindingsCard(themes)
    card.set_views((OFFLOAD,))
    show(card)
    finding, button = card.findings[0], card.findings[0].buttons[0]
    other = FindingView("full", "error", "The context is full.")
    card.set_views((other, replace(OFFLOAD, text="Predicted 30 tok/s.")))
    assert card.findings[1] is finding
    assert finding.buttons[0] is button
    assert "Predicted 30" in finding.text.text()
    card.set_views(())
    assert card.isHidden()


def test_names_from_files_are_text(themes: ThemeManager, show: Show) -> None:
    card = FindingsCard(themes)
    card.set_views((FindingView("x", "note", "<img src=x>", "a < b"),))
    show(card)
    assert "&lt;img src=x&gt;" in card.findings[0].text.text()
    assert "<img" not in card.findings[0].text.text()


def test_cells_of_the_strip_are_apart_and_coloured(themes: ThemeManager, show: Show) -> None:
    strip = LayerStrip(themes)
    strip.set_view(SPLIT_LAYERS)
    show(strip)
    cells = strip.cells()
    assert len(cells) == 33
    assert all(a.right() < b.left() for a, b in pairwise(cells))
    assert cells[-1].right() <= strip.width() + 0.01
    image = strip.grab().toImage()
    first, last = cells[0].center().toPoint(), cells[-1].center().toPoint()
    assert image.pixelColor(first) == themes.theme.colour("weights")
    assert image.pixelColor(last) == themes.theme.colour("danger")


def test_the_keyboard_walks_along_layers(themes: ThemeManager, show: Show, qtbot: QtBot) -> None:
    strip = LayerStrip(themes)
    strip.set_view(SPLIT_LAYERS)
    show(strip)
    strip.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(strip.hasFocus)
    QTest.keyClick(strip, Qt.Key.Key_Right)
    assert "blk.1: RTX 4070" in QToolTip.text()
    QTest.keyClick(strip, Qt.Key.Key_Left)
    QTest.keyClick(strip, Qt.Key.Key_Left)
    assert "blk.0: RTX 4070" in QToolTip.text()
    assert "blk.26 – output · CPU · 1.54 GiB" in strip.accessibleDescription()
    strip.clearFocus()
    QToolTip.hideText()


def test_a_split_layer_says_both_places(themes: ThemeManager, show: Show) -> None:
    devices = (LayerDevice("GPU"), LayerDevice("CPU", slow=True))
    strip = LayerStrip(themes)
    strip.set_view(LayersView(devices, (LayerView("blk.0", 0, 2 * GIB, 1, 1500 * MIB),)))
    show(strip)
    assert strip.explanation(0) == [
        "blk.0: GPU",
        "2.00 GiB",
        "1.46 GiB of it on CPU",
        "Planned from the model's file and the settings.",
    ]
    cell = strip.cells()[0]
    image = strip.grab().toImage()
    low = image.pixelColor(int(cell.center().x()), int(cell.bottom()) - 4)
    assert low == themes.theme.colour("danger")


def test_a_hundred_and_twenty_layers_are_all_shown(themes: ThemeManager, show: Show) -> None:
    layers = tuple(LayerView(f"blk.{n}", 0, MIB) for n in range(120))
    strip = LayerStrip(themes)
    strip.set_view(LayersView((LayerDevice("GPU"),), layers))
    show(strip)
    assert min(cell.width() for cell in strip.cells()) > 1.5
