"""Axes of the growth plot and points on its lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.views import CurvePoint, GrowthView
from inspector.widgets.growth_geometry import axes, rounded_end, split_at_now, token_step, value_at
from tests.helpers.panel_samples import GIB, KIB, SPLIT_GROWTH, line


def test_axes_of_the_picture() -> None:
    found = axes(SPLIT_GROWTH)
    assert found.last_tokens == 32768
    assert found.token_ticks == (0, 16384, 32768)
    assert found.byte_ticks == (0, 2 * GIB, 4 * GIB)
    assert found.shows_budget


@pytest.mark.parametrize("last", [1, 100, 512, 2048, 4096, 8192, 40960, 131072, 1 << 20, 10**7])
def test_steps_give_a_few_ticks(last: int) -> None:
    ticks = range(0, last + 1, token_step(last))
    assert 2 <= len(ticks) <= 5


@pytest.mark.parametrize("per_token", [1, 12 * KIB, 128 * KIB, 800 * KIB])
@pytest.mark.parametrize("last", [512, 4096, 131072])
def test_the_line_is_always_on_the_plot(per_token: int, last: int) -> None:
    found = axes(GrowthView("f16", line(per_token, last), last))
    assert found.last_bytes >= per_token * last
    assert found.last_bytes <= per_token * last * 1.35 + 2
    assert 2 <= len(found.byte_ticks) <= 5


def test_a_far_budget_does_not_press_the_line_flat() -> None:
    found = axes(replace(SPLIT_GROWTH, budget_bytes=100 * GIB))
    assert not found.shows_budget
    assert found.last_bytes < 6 * GIB


def test_an_axis_that_ends_just_before_a_step_goes_to_it() -> None:
    assert [rounded_end(last) for last in (8191, 8192, 6000)] == [8192, 8192, 6000]


def test_values_on_a_line_with_a_kink() -> None:
    points = (CurvePoint(0, 0), CurvePoint(100, 1000), CurvePoint(300, 1200))
    assert value_at(points, 50) == 500
    assert value_at(points, 100) == 1000
    assert value_at(points, 200) == 1100
    assert value_at(points, 301) is None
    assert value_at((), 1) is None


def test_the_used_part_ends_now_and_keeps_kinks() -> None:
    points = (CurvePoint(0, 0), CurvePoint(100, 1000), CurvePoint(300, 1200))
    view = GrowthView("f16", points, 300, now=CurvePoint(200, 1100))
    used, ahead = split_at_now(view)
    assert used == (*points[:2], CurvePoint(200, 1100))
    assert ahead == (CurvePoint(200, 1100), points[2])


def test_measured_turns_take_the_formulas_place() -> None:
    view = replace(
        SPLIT_GROWTH, used=(CurvePoint(100, 7), CurvePoint(200, 9)), now=CurvePoint(300, 11)
    )
    used, _ = split_at_now(view)
    assert used == (CurvePoint(0, 0), CurvePoint(100, 7), CurvePoint(200, 9), CurvePoint(300, 11))


def test_before_anything_is_used_all_is_ahead() -> None:
    assert split_at_now(replace(SPLIT_GROWTH, now=None)) == ((), SPLIT_GROWTH.line)


def test_at_the_windows_end_nothing_is_ahead() -> None:
    _, ahead = split_at_now(replace(SPLIT_GROWTH, now=SPLIT_GROWTH.line[-1]))
    assert ahead == ()


def test_the_plot_goes_a_little_beyond_the_window_not_to_the_trained_length() -> None:
    view = GrowthView("f16", line(128 * KIB, 131072), 4096, trained_tokens=131072)
    found = axes(view)
    assert found.last_tokens == 5120
    assert 5120 * 128 * KIB <= found.last_bytes <= 5120 * 128 * KIB * 1.35


def test_a_chat_that_lost_old_messages_is_drawn_from_left_to_right() -> None:
    used = tuple(CurvePoint(tokens, tokens * 10) for tokens in (800, 1100, 700, 2000))
    view = replace(SPLIT_GROWTH, used=used, now=CurvePoint(1200, 12_000))
    drawn, ahead = split_at_now(view)
    assert [point.tokens for point in drawn] == [0, 700, 800, 1100, 1200]
    assert ahead[0] == view.now
