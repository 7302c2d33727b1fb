from __future__ import annotations

from typing import Any

import pyqtgraph as pg
import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.widgets.plots.base import BasePlot


@pytest.fixture
def plot(qtbot: QtBot, themes: ThemeManager) -> BasePlot:
    made = BasePlot(themes)
    qtbot.addWidget(made)
    made.resize(300, 100)
    made.show()
    return made


def _lines(plot: BasePlot) -> list[Any]:
    return [item for item in plot.item.items if isinstance(item, pg.InfiniteLine)]


def _ticks(*values: float) -> list[tuple[float, str]]:
    return [(value, f"{value:g}") for value in values]


def test_a_line_goes_across_at_each_tick(plot: BasePlot) -> None:
    for values in ((0.0, 5.0, 10.0), (0.0, 8.0), (0.0, 2.0, 4.0, 6.0)):
        plot.set_axes(100, 10, _ticks(0, 100), _ticks(*values))
        assert sorted(line.value() for line in _lines(plot)) == list(values)


def test_lines_are_moved_where_there_are_some(plot: BasePlot) -> None:
    plot.set_axes(100, 10, _ticks(0, 100), _ticks(0, 10))
    before = _lines(plot)
    plot.set_axes(200, 20, _ticks(0, 200), _ticks(0, 20))
    assert _lines(plot) == before
    assert [line.value() for line in before] == [0, 20]


def test_equal_axes_are_set_once(plot: BasePlot) -> None:
    plot.set_axes(100, 10, _ticks(0, 100), _ticks(0, 10))
    changed: list[object] = []
    plot.item.getViewBox().sigRangeChanged.connect(lambda *_: changed.append(None))
    plot.set_axes(100, 10, _ticks(0, 100), _ticks(0, 10))
    assert not changed
    plot.set_axes(120, 10, _ticks(0, 120), _ticks(0, 10))
    assert changed


def test_lines_and_room_follow_the_theme(plot: BasePlot, themes: ThemeManager) -> None:
    ticks = _ticks(0, 100), _ticks(0, 10)
    plot.set_axes(100, 10, *ticks)
    dark, narrow = _lines(plot)[0].pen.color().name(), plot.item.getAxis("left").fixedWidth
    themes.set_mode("light")
    themes.set_text_size(200)
    plot.set_axes(100, 10, *ticks)
    assert _lines(plot)[0].pen.color().name() == themes.theme.css("line") != dark
    assert plot.item.getAxis("left").fixedWidth > narrow
