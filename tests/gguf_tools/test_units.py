"""Figures for people: three digits, never an exponent."""

from __future__ import annotations

import pytest

from gguf_tools.units import format_bytes, format_figure, format_rate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.4567, "0.457"),
        (7.604, "7.6"),
        (92.44, "92.4"),
        (5580.2, "5,580"),
        (123347.0, "123,347"),
    ],
)
def test_figures_have_no_exponent(value: float | None, text: str) -> None:
    assert format_figure(value) == text


def test_large_figures_are_grouped() -> None:
    assert format_rate(7604.4) == "7,604 tok/s"
    assert format_bytes(1006 << 20) == "1,006 MiB"
    assert format_bytes(3 << 30) == "3.00 GiB"
