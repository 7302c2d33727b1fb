"""The planner's charts: what they draw, say, and explain to the keyboard."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.machine import hardware_table
from app.ui.planner.batching_chart import BatchingChart
from app.ui.planner.growth_chart import GrowthChart
from app.ui.theme import ThemeManager
from gguf_tools.typed import typed_facts
from inspector.planner_curves import BatchingCurve, GrowthCurve, batching_curve, growth_curve
from inspector.planner_examples import model_named
from inspector.planner_setup import MachineSpec, PlannerSettings, machine_of
from inspector.planning import finish, plan_row


def curves(name: str, context: int) -> tuple[GrowthCurve, BatchingCurve]:
    machine = machine_of(MachineSpec("table", name), hardware_table(), None)
    assert machine is not None
    settings = msgspec.structs.replace(PlannerSettings(), context=context)
    row = finish(plan_row(typed_facts(model_named("8B, plain Q4")), settings, machine))
    return finish(growth_curve(row, settings)), finish(batching_curve(row))


def test_the_growth_chart_says_where_it_breaks(qtbot: QtBot, themes: ThemeManager) -> None:
    chart = GrowthChart(themes)
    qtbot.addWidget(chart)
    chart.resize(500, 170)
    assert chart.is_empty
    chart.set_curve(curves("NVIDIA GeForce RTX 4060", 131_072)[0])
    assert "tokens: the cache, not the weights" in chart.summary()
    chart.set_curve(curves("NVIDIA GeForce RTX 4090", 8192)[0])
    assert chart.summary() == "Up to 131,072 tokens nothing breaks."
    chart.grab()
    labels = [text for _, text in chart.y_ticks()]
    assert labels[0] == "0"
    assert 3 <= len(labels) <= 7
    assert [text for _, text in chart.x_ticks()] == ["0", "32K", "64K", "96K", "128K"]


def test_the_crosshair_moves_by_keyboard_and_explains(qtbot: QtBot, themes: ThemeManager) -> None:
    chart = GrowthChart(themes)
    qtbot.addWidget(chart)
    chart.resize(500, 170)
    chart.set_curve(curves("NVIDIA GeForce RTX 4060", 131_072)[0])
    with qtbot.waitActive(chart):
        chart.show()
    chart.setFocus()
    QTest.keyClick(chart, Qt.Key.Key_Right)
    said = chart.accessibleDescription()
    assert "65,536 tokens a chat" in said
    assert "Cache 8.00 GiB" in said
    assert "more than the 8.00 GiB there is" in said
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert chart.accessibleDescription() != said
    for _ in range(40):
        QTest.keyClick(chart, Qt.Key.Key_Left)
    assert "0 tokens" in chart.accessibleDescription()


def test_the_batching_chart_marks_where_the_memory_is_full(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    chart = BatchingChart(themes)
    qtbot.addWidget(chart)
    chart.resize(500, 170)
    curve = curves("NVIDIA GeForce RTX 4090", 8192)[1]
    chart.set_curve(curve)
    chart.grab()
    assert [text for _, text in chart.x_ticks()] == ["1", "2", "4", "8", "16", "32"]
    assert chart.summary().startswith("One chat: 190 tok/s at most; 32 together:")
    inside = " ".join(chart.explanation(0.0))
    assert "1 chat alone" in inside
    assert "don't fit" not in inside
    assert "don't fit" in " ".join(chart.explanation(1.0))
    place = chart.snapped(0.33)
    assert chart.stepped(place, 1) > place > chart.stepped(place, -1)
    assert chart.stepped(1.0, 1) == 1.0


def test_a_chart_without_bandwidth_stays_empty(qtbot: QtBot, themes: ThemeManager) -> None:
    chart = BatchingChart(themes)
    qtbot.addWidget(chart)
    curve = curves("NVIDIA GeForce RTX 4090", 8192)[1]
    unknown = tuple(replace(point, ceiling=None) for point in curve.points)
    chart.set_curve(replace(curve, points=unknown))
    assert chart.is_empty
    assert chart.y_ticks()
    chart.grab()


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_charts_draw_in_both_themes(qtbot: QtBot, themes: ThemeManager, mode: str) -> None:
    growth, batching = GrowthChart(themes), BatchingChart(themes)
    for chart in (growth, batching):
        qtbot.addWidget(chart)
        chart.resize(420, 160)
    first, second = curves("NVIDIA GeForce RTX 4060", 32_768)
    growth.set_curve(first)
    batching.set_curve(second)
    before = growth.grab().toImage(), batching.grab().toImage()
    themes.set_mode("light" if mode == "dark" else "dark")
    themes.set_mode(mode)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: not themes.is_laying_on)  # what is hidden comes later
    after = growth.grab().toImage(), batching.grab().toImage()
    assert (before == after) == (mode == "dark")
