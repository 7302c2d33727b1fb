"""What views say of themselves: sums, errors and unknowns."""

from __future__ import annotations

import pytest

from inspector.views import BudgetView, RateView, SegmentView

GIB = 1 << 30


def budget(total: int | None, used: int, free: int = 0) -> BudgetView:
    return BudgetView(
        "GPU",
        total,
        (SegmentView("weights", used, "engine"), SegmentView("free", free, "read")),
    )


def test_budget_below_the_load_line() -> None:
    view = budget(10 * GIB, 8 * GIB, 2 * GIB)
    assert (view.used_bytes, view.over_bytes, view.over_load_line) == (8 * GIB, 0, False)
    assert view.headroom_bytes == 1 * GIB


def test_budget_above_the_load_line_and_above_all() -> None:
    view = budget(10 * GIB, 11 * GIB)
    assert view.over_load_line
    assert view.over_bytes == 1 * GIB
    assert view.headroom_bytes == -2 * GIB


def test_an_unknown_capacity_is_neither_full_nor_empty() -> None:
    view = budget(None, 11 * GIB)
    assert not view.over_load_line
    assert view.over_bytes == 0
    assert view.headroom_bytes is None


def test_error_of_a_plan_is_a_share_of_what_came() -> None:
    segment = SegmentView("compute", 1000, "engine", planned_bytes=900)
    assert segment.plan_error == -0.1
    assert SegmentView("compute", 1000, "engine").plan_error is None
    assert SegmentView("compute", 0, "engine", planned_bytes=5).plan_error is None


def test_rates() -> None:
    assert RateView(31, predicted_low=30, predicted_high=34).predicted == 32
    assert RateView(31, predicted_low=30).predicted == 30
    assert RateView(31, predicted_high=34).predicted == 34
    assert RateView(31).predicted is None
    assert RateView(38, ceiling=76).efficiency == 0.5
    assert RateView(None, ceiling=76).efficiency is None
    assert RateView(38).efficiency is None


def test_error_of_a_whole_plan() -> None:
    view = BudgetView("GPU", GIB, (), planned_bytes=110, engine_bytes=100)
    assert view.plan_error == pytest.approx(0.1)
    assert BudgetView("GPU", GIB, ()).plan_error is None
