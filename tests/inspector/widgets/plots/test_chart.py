"""The plot that keeps a picture of itself until something in it changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.widgets.plots.base import curve, solid
from inspector.widgets.plots.chart import Chart

Show = Callable[[QWidget, int], None]


def _chart(themes: ThemeManager, show: Show, ground: str) -> Chart:
    above = QWidget()
    above.ground = ground  # type: ignore[attr-defined]
    above.setStyleSheet(f"background: {themes.theme.css('panel')};")
    chart = Chart(themes, above)
    chart.setStyleSheet("background: transparent;")
    chart.setFrameShape(chart.Shape.NoFrame)
    chart.setMinimumHeight(80)
    QVBoxLayout(above).addWidget(chart)
    line = curve()
    line.setPen(solid(themes.theme.colour("free"), 2))
    line.setData([0, 1, 2], [0, 2, 1])
    chart.getPlotItem().addItem(line)
    chart.getPlotItem().setRange(xRange=(0, 2), yRange=(0, 2), padding=0)
    chart.line, chart.kept = line, above
    show(above, 300)
    return chart


@pytest.fixture
def renders(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how often a picture is made."""
    made: list[int] = []
    plain = Chart.render

    def render(self: Chart, *where: object) -> None:
        made.append(1)
        plain(self, *where)

    monkeypatch.setattr(Chart, "render", render)
    return made


def _seen(chart: Chart) -> QImage:
    window = chart.window()
    window.repaint()
    picture: QImage = window.screen().grabWindow(window.winId()).toImage()
    return picture


def test_the_picture_is_what_was_drawn_and_is_kept(
    qtbot: QtBot, themes: ThemeManager, show: Show, renders: list[int]
) -> None:
    chart = _chart(themes, show, "panel")
    qtbot.wait(50)
    chart._forget(None)
    drawn = _seen(chart)
    assert not chart._picture
    made = len(renders)
    pictured = [_seen(chart) for _ in range(3)]
    assert chart._picture
    assert len(renders) == made + 1
    assert pictured == [drawn] * 3


def test_a_change_is_drawn(
    qtbot: QtBot, themes: ThemeManager, show: Show, renders: list[int]
) -> None:
    chart = _chart(themes, show, "panel")
    qtbot.wait(50)
    before = [_seen(chart) for _ in range(3)][-1]
    assert chart._picture
    chart.line.setData([0, 1, 2], [2, 0, 2])
    qtbot.waitUntil(lambda: chart._picture is None)
    qtbot.wait(20)
    after = _seen(chart)
    assert after != before
    assert _seen(chart) == after


def test_where_the_ground_is_not_known_no_picture_is_made(
    qtbot: QtBot, themes: ThemeManager, show: Show, renders: list[int]
) -> None:
    chart = _chart(themes, show, "")
    qtbot.wait(50)
    for _ in range(3):
        _seen(chart)
    assert not renders
