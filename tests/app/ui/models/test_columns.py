from __future__ import annotations

from app.ui.models.columns import NAME_PX, fit_columns


def test_names_keep_their_room() -> None:
    for width in range(280, 1400):
        shown = fit_columns(width)
        assert {"size", "fit"} <= set(shown)
        assert len(shown) == 2 or NAME_PX + sum(shown.values()) <= width


def test_columns_give_way_in_order() -> None:
    wide, narrow = fit_columns(1130), fit_columns(716)
    assert list(wide) == [
        "size", "bits", "context", "budget", "fit", "max_context", "decode", "prefill",
    ]  # fmt: skip
    assert list(narrow) == ["size", "budget", "fit", "max_context", "decode"]
    assert narrow["budget"] < wide["budget"]
