from __future__ import annotations

import pytest

from app.ui.models.columns import NAME_PX, fit_columns


@pytest.mark.parametrize("width", range(280, 1400, 7))
def test_names_keep_their_room(width: int) -> None:
    shown = fit_columns(width)
    assert {"size", "fit"} <= set(shown)
    if len(shown) > 2:
        assert NAME_PX + sum(shown.values()) <= width


def test_columns_give_way_in_order() -> None:
    wide, narrow = fit_columns(1130), fit_columns(716)
    assert list(wide) == [
        "size", "bits", "context", "budget", "fit", "max_context", "decode", "prefill",
    ]  # fmt: skip
    assert list(narrow) == ["size", "budget", "fit", "max_context", "decode"]
    assert narrow["budget"] < wide["budget"]
