from __future__ import annotations

import pytest

from app.ui.models.columns import NAME_PX, Extra, fit_columns, place_rest

ALL = ["size", "bits", "context", "budget", "fit", "max_context", "decode", "prefill"]
NEEDS = {
    "size": 60.0, "bits": 95.0, "context": 95.0, "budget": 108.0, "fit": 130.0,
    "max_context": 125.0, "decode": 120.0, "prefill": 80.0,
}  # fmt: skip
GAP = 14.0


def test_names_keep_their_room() -> None:
    for width in range(240, 1400):
        shown = fit_columns(width)
        least = NAME_PX if len(shown) > 2 else 130
        assert least + sum(shown.values()) <= width


def test_columns_give_way_in_order() -> None:
    wide, narrow = fit_columns(1130), fit_columns(716)
    assert list(wide) == ALL
    assert list(narrow) == ["size", "budget", "fit", "max_context", "decode"]
    assert narrow["budget"] < wide["budget"]
    assert list(fit_columns(360)) == ["size", "fit"]
    assert list(fit_columns(300)) == ["size"]


@pytest.mark.parametrize("width", range(240, 1400, 20))
def test_what_has_no_column_has_a_place(width: int) -> None:
    shown = fit_columns(width)
    extra = place_rest(shown, NEEDS, width, GAP)
    placed = [*extra.beside, *(name for line in extra.lines for name in line)]
    assert sorted([*shown, *placed]) == sorted(ALL)
    for line in (extra.beside, *extra.lines):
        assert sum(NEEDS[name] for name in line) + GAP * max(len(line) - 1, 0) <= width


def test_few_figures_stand_beside_the_place_and_many_below() -> None:
    assert place_rest(fit_columns(1130), NEEDS, 1130, GAP) == Extra()
    assert place_rest(fit_columns(716), NEEDS, 716, GAP) == Extra(
        beside=("bits", "context", "prefill")
    )
    assert place_rest(fit_columns(320), NEEDS, 300, GAP).lines == (
        ("bits", "context"),
        ("budget", "fit"),
        ("max_context", "decode"),
        ("prefill",),
    )
