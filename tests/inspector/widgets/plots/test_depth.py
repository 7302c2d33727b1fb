"""Decode over depth: series, axes and what the crosshair says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QWidget

from app.ui.theme import ThemeManager
from inspector.views import RateView, SpeedView
from inspector.widgets.plots.depth import Plot
from tests.helpers.panel_samples import SPLIT_SPEED


def test_prediction_ceiling_and_the_nearest_measurement_are_said(
    themes: ThemeManager, show: Callable[[QWidget, int], None]
) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(68)
    show(plot, 364)
    plot.set_view(SPLIT_SPEED)
    assert plot.explanation(0) == [
        "0 tokens in the cache",
        "predicted 33.5 to 39.6 tok/s",
        "ceiling 43.0 tok/s",
        "measured 36.1 tok/s at 2,100 tokens",
    ]
    assert "20,870: 31.2 tok/s" in plot.accessibleDescription()


def test_measurements_lie_inside_the_axes(
    themes: ThemeManager, show: Callable[[QWidget, int], None]
) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(68)
    show(plot, 364)
    plot.set_view(SPLIT_SPEED)
    area = plot.area()
    for point in SPLIT_SPEED.measured_over_depth:
        assert area.contains(plot.to_px(point.depth_tokens, point.per_s))


def test_no_series_at_all(themes: ThemeManager, show: Callable[[QWidget, int], None]) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(68)
    show(plot, 364)
    plot.set_view(SpeedView(RateView(), RateView()))
    assert plot.explanation(5) == ["5 tokens in the cache"]
    assert not plot.grab().isNull()


@pytest.mark.parametrize(("count", "dots"), [(1, 1), (24, 24), (25, 1), (300, 1)])
def test_many_turns_show_the_last_dot_alone(
    themes: ThemeManager,
    show: Callable[[QWidget, int], None],
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    dots: int,
) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(68)
    show(plot, 364)
    first = SPLIT_SPEED.measured_over_depth[0]
    turns = tuple(replace(first, depth_tokens=100 * turn) for turn in range(1, count + 1))
    plot.set_view(replace(SPLIT_SPEED, measured_over_depth=turns))
    drawn: list[tuple[QPointF, float]] = []
    monkeypatch.setattr(
        plot, "draw_dot", lambda _painter, at, _token, radius_px: drawn.append((at, radius_px))
    )
    plot.grab()
    assert len(drawn) == dots
    assert drawn[-1] == (plot.to_px(100 * count, first.per_s), 3.5)
    assert {radius for _, radius in drawn[:-1]} <= {2.5}


def test_no_line_runs_back_where_old_messages_left_the_context(
    themes: ThemeManager, show: Callable[[QWidget, int], None]
) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(68)
    show(plot, 364)
    first = SPLIT_SPEED.measured_over_depth[0]
    depths = (100, 900, 900, 400, 1000, 300)
    turns = tuple(replace(first, depth_tokens=depth) for depth in depths)
    plot.set_view(replace(SPLIT_SPEED, measured_over_depth=turns))
    path = plot._measured.getPath()
    strokes = [path.elementAt(at) for at in range(path.elementCount())]
    lines = [(before.x, after.x) for before, after in pairwise(strokes) if after.isLineTo()]
    assert lines == [(100, 900), (900, 900), (400, 1000)]
    assert plot.accessibleDescription().count(";") == len(depths) - 1
