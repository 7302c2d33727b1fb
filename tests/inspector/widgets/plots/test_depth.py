"""Decode over depth: series, axes and what the crosshair says."""

from __future__ import annotations

from collections.abc import Callable

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
