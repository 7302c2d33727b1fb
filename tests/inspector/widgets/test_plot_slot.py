"""What stands where a plot will be."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import Mode, ThemeManager
from inspector.views import GrowthView
from inspector.widgets import plot_slot
from inspector.widgets.plot_slot import PlotLoader, PlotSlot
from tests.helpers.panel_samples import SPLIT_GROWTH

_PLOT = "inspector.widgets.plots.growth"


class _Waiting(PlotLoader):
    """A loader whose modules are not there until it says so."""

    is_there = False

    @property
    def is_loaded(self) -> bool:
        return self.is_there


def _slot(themes: ThemeManager, loader: PlotLoader) -> PlotSlot[GrowthView]:
    return PlotSlot(themes, loader, _PLOT, 124)


@pytest.mark.parametrize("name", ["dark", "light"])
def test_a_quiet_box_of_the_plots_size_stands_in_its_place(
    themes: ThemeManager, show: Callable[[QWidget, int], None], name: Mode
) -> None:
    themes.set_mode(name)
    loader = _Waiting()
    slot = _slot(themes, loader)
    slot.set_view(SPLIT_GROWTH)
    show(slot, 364)
    before = slot.size()
    assert slot.words == "The chart comes in a moment"
    drawn = slot.grab().toImage()
    assert drawn.pixelColor(drawn.width() // 2, 6) == themes.theme.colour("well")
    assert len({drawn.pixelColor(x, drawn.height() // 2).rgb() for x in range(364)}) > 3  # words
    loader.loaded.emit()
    assert slot.words == ""
    assert slot.size() == before
    assert slot.plot is not None
    slot.resize(before)
    assert slot.plot.parent() is slot


def test_a_plot_that_never_comes_is_said(
    themes: ThemeManager, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plot_slot, "_MODULES", ("inspector.widgets.plots.no_such_plot",))
    loader = PlotLoader()
    slot = _slot(themes, loader)
    qtbot.addWidget(slot)
    with qtbot.waitSignal(loader.failed):
        loader.start()
    assert slot.words == "The chart can't be drawn"
    assert slot.plot is None
