"""Numbers and words of the panel."""

from __future__ import annotations

from typing import get_args

import pytest

from inspector.views import Basis, SegmentKind
from inspector.widgets.text import (
    basis_sentence,
    basis_word,
    fill,
    grouped,
    joined,
    number,
    percent,
    plan_line,
    rough,
    segment_name,
    segment_tip,
    signed_percent,
    tip,
    tokens_short,
    unbroken,
)
from tests.helpers.panel_samples import GIB, SPLIT_BUDGET


def test_numbers() -> None:
    assert grouped(21034) == "21,034"
    assert [number(value) for value in (3.14159, 31.24, 99.96, 3120.4)] == [
        "3.14",
        "31.2",
        "100",
        "3,120",
    ]
    assert [rough(value) for value in (3.14159, 9.96, 31.6)] == ["3.1", "10", "32"]
    assert percent(0.414) == "41 %"
    assert (signed_percent(0.0139), signed_percent(-0.02)) == ("+1.4 %", "−2.0 %")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (512, "512"),
        (16384, "16K"),
        (2560, "2.5K"),
        (26214, "26,214"),
        (1 << 20, "1M"),
        (131072, "128K"),
    ],
)
def test_tokens_on_an_axis(tokens: int, text: str) -> None:
    assert tokens_short(tokens) == text


def test_plan_beside_the_engine() -> None:
    planned, engine = int(1.42 * GIB), int(1.44 * GIB)
    line = plan_line(planned, engine, (planned - engine) / engine)
    assert line == "plan 1.42 GiB, engine 1.44 GiB, error 1.4 %"


def test_every_basis_and_segment_has_words() -> None:
    assert all(basis_word(basis) and basis_sentence(basis) for basis in get_args(Basis))
    assert all(segment_name(kind) for kind in get_args(SegmentKind))


def test_a_segment_is_explained_with_formula_error_and_basis() -> None:
    lines = segment_tip(SPLIT_BUDGET.segments[0], SPLIT_BUDGET)
    assert lines[0] == "Weights: 7.20 GiB, 60 % of the device"
    assert "26 of 33 layers, 226 MiB each, and the token embedding" in lines
    assert "Plan 7.18 GiB (−0.3 %)." in lines
    assert lines[-1] == "From the engine's own log."


def test_markup_in_a_tooltip_is_text() -> None:
    assert tip(("<b>name</b>", "", "a & b")) == (
        "<p><b>&lt;b&gt;name&lt;/b&gt;</b></p><p>a &amp; b</p>"
    )
    assert tip(()) == ""


def test_small_helpers() -> None:
    assert fill("%1 of %2", "3", "4") == "3 of 4"
    assert joined(("a", "", "b")) == "a · b"
    assert unbroken("31 tok/s") == "31 tok/\u2060s"
