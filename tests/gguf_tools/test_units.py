"""Figures for people: three digits, never an exponent."""

from __future__ import annotations

import pytest

from gguf_tools.units import (
    ceil_div,
    counted,
    format_bandwidth,
    format_bytes,
    format_count,
    format_decimal_bytes,
    format_figure,
    format_flops,
    format_percent,
    format_rate,
    format_seconds,
    round_up,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.4567, "0.457"),
        (7.604, "7.6"),
        (92.44, "92.4"),
        (99.4, "99.4"),
        (100.0, "100"),
        (5580.2, "5,580"),
        (123347.0, "123,347"),
    ],
)
def test_figures_have_no_exponent(value: float | None, text: str) -> None:
    assert format_figure(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (-1536, "-1.50 KiB"),
        ((1 << 20) - 1, "1,024 KiB"),
        (1 << 20, "1.00 MiB"),
        (10 << 20, "10.0 MiB"),
        (100 << 20, "100 MiB"),
        (1006 << 20, "1,006 MiB"),
        (3 << 30, "3.00 GiB"),
        (5 << 40, "5.00 TiB"),
        (7 << 50, "7.00 PiB"),
    ],
)
def test_sizes_are_binary(value: int | None, text: str) -> None:
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (999, "999"),
        (1000, "1.00K"),
        (494_032_768, "494M"),
        (8_030_261_248, "8.03B"),
        (671_026_419_200, "671B"),
        (1_041_000_000_000, "1.04T"),
    ],
)
def test_counts_are_decimal(value: int | None, text: str) -> None:
    assert format_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (99e6, "99.0 MB/s"),
        (0.1e9, "0.10 GB/s"),
        (51.2e9, "51.2 GB/s"),
        (999e9, "999 GB/s"),
        (1e12, "1.00 TB/s"),
        (3.35e12, "3.35 TB/s"),
    ],
)
def test_bandwidths_are_decimal(value: float | None, text: str) -> None:
    assert format_bandwidth(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.0421, "42.1 ms"),
        (0.9994, "999 ms"),
        (1.0, "1.00 s"),
        (119.0, "119 s"),
        (120.0, "2.00 min"),
    ],
)
def test_time_spans(value: float | None, text: str) -> None:
    assert format_seconds(value) == text


def test_rates() -> None:
    assert format_rate(7604.4) == "7,604 tok/s"
    assert format_rate(None) == "unknown"


@pytest.mark.parametrize(
    ("value", "up", "share"), [(0, 0, 0), (1, 32, 1), (32, 32, 1), (33, 64, 2)]
)
def test_rounding_up(value: int, up: int, share: int) -> None:
    assert round_up(value, 32) == up
    assert ceil_div(value, 32) == share


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        (999_999, "999,999 FLOP"),
        (1e6, "1.00 MFLOP"),
        (1e9, "1.00 GFLOP"),
        (9.99e9, "9.99 GFLOP"),
        (165e12, "165 TFLOP"),
    ],
)
def test_operations(operations: float, text: str) -> None:
    assert format_flops(operations) == text


def test_shares_are_whole_percent() -> None:
    assert format_percent(0.556) == "56\N{NO-BREAK SPACE}%"
    assert format_percent(12.5) == "1,250\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("value", "text"),
    [(999, "999 B"), (1e3, "1.00 kB"), (42e6, "42.0 MB"), (8.52e9, "8.52 GB"), (2e12, "2.00 TB")],
)
def test_sizes_beside_bandwidths_are_decimal(value: float, text: str) -> None:
    assert format_decimal_bytes(value) == text


def test_a_word_follows_its_count() -> None:
    assert [counted(count, "token") for count in (0, 1, 2)] == ["0 tokens", "1 token", "2 tokens"]
    assert counted(12_345, "layer") == "12,345 layers"
    assert counted(1, "reply", "replies") == "1 reply"
    assert counted(3, "reply", "replies") == "3 replies"


def test_a_size_beside_a_bandwidth_may_be_unknown() -> None:
    assert format_decimal_bytes(None) == "unknown"
