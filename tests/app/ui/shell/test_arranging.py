from __future__ import annotations

import random

import pytest

from app.ui.shell.arranging import Came, Moved, Step, Went, arranging


def _followed(old: list[int], new: list[int], steps: list[Step]) -> list[int]:
    rows = list(old)
    for step in steps:
        match step:
            case Came(place):
                rows.insert(place, new[place])
            case Went(place):
                del rows[place]
            case Moved(source, target):
                rows.insert(target, rows.pop(source))
    return rows


def test_following_the_steps_leads_from_any_order_to_any_other() -> None:
    chance = random.Random(5)
    for _ in range(3000):
        old = chance.sample(range(14), chance.randrange(12))
        new = chance.sample(range(14), chance.randrange(12))
        steps = arranging(old, new, most=100)
        assert steps is not None
        assert _followed(old, new, steps) == new


@pytest.mark.parametrize("count", [2, 5, 9])
def test_one_row_elsewhere_is_one_step(count: int) -> None:
    old = list(range(count))
    for source in range(count):
        for target in range(count):
            new = list(old)
            new.insert(target, new.pop(source))
            steps = arranging(old, new, most=1)
            assert steps is not None
            assert len(steps) == (source != target)
            assert _followed(old, new, steps) == new


def test_one_row_more_or_less_is_one_step() -> None:
    assert arranging([1, 2, 3], [1, 3], most=1) == [Went(1)]
    assert arranging([1, 3], [1, 2, 3], most=1) == [Came(1)]
    assert arranging([], [1], most=1) == [Came(0)]
    assert arranging([1], [1], most=0) == []


def test_too_many_steps_are_not_told() -> None:
    assert arranging([1, 2, 3, 4], [], most=3) is None
    assert arranging([], [1, 2, 3, 4], most=3) is None
    assert arranging([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], most=3) is None
