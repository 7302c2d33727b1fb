from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.compare.statistics import mean_of, perplexity_of, quality_of, share_of

_VALUES = st.lists(st.floats(0, 30), min_size=2, max_size=200)


@given(_VALUES)
def test_mean_and_error_are_numpys(values: list[float]) -> None:
    found = mean_of(values)
    array = np.array(values)
    assert found.value == pytest.approx(array.mean(), abs=1e-9)
    error = array.std(ddof=1) / math.sqrt(len(values))
    assert found.error == pytest.approx(error, rel=1e-6, abs=1e-7)


@given(_VALUES)
def test_perplexity_is_e_to_the_mean(values: list[float]) -> None:
    found = perplexity_of(values)
    assert found.value == pytest.approx(math.exp(np.mean(values)), rel=1e-9)
    assert found.error == pytest.approx(found.value * mean_of(values).error, rel=1e-9)


def test_a_share_has_the_error_of_a_proportion() -> None:
    found = share_of([True] * 75 + [False] * 25)
    assert found.value == 0.75
    assert found.error == pytest.approx(math.sqrt(0.75 * 0.25 / 99))


def test_one_value_has_no_error_and_none_no_mean() -> None:
    assert mean_of([3.0]).error == 0.0
    with pytest.raises(ValueError, match="nothing"):
        mean_of([])
    with pytest.raises(ValueError, match="nothing"):
        quality_of([])


def test_a_model_that_is_sure_of_the_wrong_token_has_a_finite_perplexity() -> None:
    assert math.isfinite(perplexity_of([900.0, 1000.0]).value)


def test_quality_of_a_variant() -> None:
    found = quality_of(
        [1.0, 2.0, 4.0],
        kl=[0.0, 0.5, 1.0],
        same_top=[True, False, True],
        reference_nll=[1.0, 1.5, 3.0],
        text_bytes=14,
    )
    assert found.mean_kl is not None
    assert found.mean_kl.value == 0.5
    assert found.same_top is not None
    assert found.same_top.value == pytest.approx(2 / 3)
    assert found.ln_ratio is not None
    assert found.ln_ratio.value == pytest.approx(0.5)
    assert dict(found.kl_percentiles)[50.0] == 0.5
    assert dict(found.kl_percentiles)[100.0] == 1.0
    assert dict(found.kl_percentiles)[90.0] == pytest.approx(0.9)
    assert found.bits_per_byte == pytest.approx(7 / math.log(2) / 14)


def test_quality_of_a_reference_has_no_divergence() -> None:
    found = quality_of([1.0, 2.0], text_bytes=0)
    missing = (found.mean_kl, found.same_top, found.ln_ratio, found.bits_per_byte)
    assert missing == (None, None, None, None)
    assert found.kl_percentiles == ()


def test_percentiles_of_equal_values_are_that_value() -> None:
    found = quality_of([1.0, 1.0], kl=[0.25, 0.25], same_top=[True, True], text_bytes=4)
    assert {value for _, value in found.kl_percentiles} == {0.25}
    assert [percent for percent, _ in found.kl_percentiles] == sorted(
        percent for percent, _ in found.kl_percentiles
    )
