"""Figures for people: three digits, never an exponent."""

from __future__ import annotations

import pytest

from gguf_tools.units import (
    format_bytes,
    format_decimal_bytes,
    format_figure,
    format_flops,
    format_percent,
    format_rate,
)


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


def test_what_stands_beside_a_bandwidth_is_decimal() -> None:
    assert format_decimal_bytes(97_800_000) == "97.8 MB"
    assert format_decimal_bytes(6_630_000_000) == "6.63 GB"
    assert format_decimal_bytes(512) == "512 B"
    assert format_flops(269_000_000) == "269 MFLOP"
    assert format_flops(1.605e10) == "16.1 GFLOP"
    assert format_flops(8.05e13) == "80.5 TFLOP"


def test_percent_does_not_break() -> None:
    assert format_percent(0.4149) == "41\u00a0%"
    assert format_percent(11.0) == "1,100\u00a0%"
