import random
import statistics

import pytest

from tests.bench.medians import median_range, told


@pytest.mark.parametrize(
    ("count", "cut"),
    # Tables of the sign test at 5 %, two-sided: the values that lie outside on each side.
    [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (25, 7), (48, 16), (50, 17)],
)
def test_range_is_that_of_the_sign_test(count: int, cut: int) -> None:
    values = [float(value) for value in range(count)]
    random.Random(1).shuffle(values)
    assert median_range(values) == (cut, count - 1 - cut)


def test_five_values_are_too_few() -> None:
    assert median_range([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert told([1.0, 2.0, 3.0, 4.0, 5.0], 0.5).verdict == "too few to tell"


def test_range_holds_the_median_as_often_as_it_says() -> None:
    draw = random.Random(7)
    held = 0
    for _ in range(2000):
        found = median_range([draw.expovariate(1.0) for _ in range(25)])
        assert found is not None
        held += found[0] <= 0.6931 <= found[1]
    assert 0.95 <= held / 2000 <= 0.97  # 7 of 25 on each side: 95.7 %


@pytest.mark.parametrize(("shift", "verdict"), [(0.05, "held"), (0.0, "open"), (-0.05, "MISSED")])
def test_verdict_needs_the_whole_range_on_one_side(shift: float, verdict: str) -> None:
    ratios = [0.98 + shift + step / 1000 for step in range(-10, 11)]
    found = told(ratios, 0.98)
    assert found.verdict == verdict
    assert found.median == statistics.median(ratios)
