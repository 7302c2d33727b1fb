"""Where the columns of the planner's table are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.ui.planner.columns import column_at, columns, is_narrow
from app.ui.planner.views import CELLS


@pytest.mark.parametrize("width", [690, 712, 880, 1100, 1128, 1900])
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_columns_fill_the_row_without_overlapping(width: int, scale: float) -> None:
    placed = columns(width, scale)
    assert [column.key for column in placed] == list(CELLS)
    assert placed[0].start == 0
    shown = [column for column in placed if column.width > 0]
    for one, next_one in pairwise(shown):
        assert one.end < next_one.start
    if scale == 1.0 or width > 900:
        assert placed[-1].end == width


def test_a_very_narrow_row_leaves_columns_out() -> None:
    placed = columns(372, 1.0)
    shown = [column.key for column in placed if column.width > 0]
    assert shown == ["machine", "bar", "verdict", "realistic"]
    assert placed[-1].end == 372
    assert {column_at(placed, x).key for x in range(372)} == set(shown)  # type: ignore[union-attr]


def test_the_bar_takes_what_is_left() -> None:
    narrow, wide = columns(1000, 1.0), columns(1600, 1.0)
    assert wide[1].width - narrow[1].width == 600
    assert is_narrow(900, 1.0)
    assert not is_narrow(1128, 1.0)
    assert is_narrow(1128, 1.5)


def test_every_pixel_belongs_to_a_column() -> None:
    placed = columns(1128, 1.0)
    assert {column_at(placed, x).key for x in range(1128)} == set(CELLS)  # type: ignore[union-attr]
    assert column_at(placed, -1) is None
