"""Numbers with units, as people read them; one place, so that a size looks the same everywhere.

Memory is counted in binary units (KiB, MiB, GiB), as operating systems and llama.cpp's log count
it; bandwidth and makers' capacities are decimal (GB/s), as data sheets give them.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "GB",
    "GIB",
    "KIB",
    "MIB",
    "ceil_div",
    "counted",
    "format_bandwidth",
    "format_bytes",
    "format_count",
    "format_decimal_bytes",
    "format_figure",
    "format_flops",
    "format_percent",
    "format_rate",
    "format_seconds",
    "round_up",
]

KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
GB: Final = 10**9

_BINARY: Final = ((1024**5, "PiB"), (1024**4, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_COUNTS: Final = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K"))


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple of ``multiple`` that is not below ``value``."""
    return -(-value // multiple) * multiple


def ceil_div(value: int, divisor: int) -> int:
    """Return ``value / divisor``, rounded up."""
    return -(-value // divisor)


def _three_digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def format_figure(value: float | None) -> str:
    """Return a figure with three digits and never an exponent, ``unknown`` for None."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def format_bytes(size_bytes: int | None) -> str:
    """Return a size in binary units with three digits, ``unknown`` for None."""
    if size_bytes is None:
        return "unknown"
    sign = "-" if size_bytes < 0 else ""
    size = abs(size_bytes)
    for factor, unit in _BINARY:
        if size >= factor:
            return f"{sign}{_three_digits(size / factor)} {unit}"
    return f"{sign}{size} B"


def format_count(count: int | None) -> str:
    """Return a count of parameters or operations as 8.03B, 494M, …"""
    if count is None:
        return "unknown"
    for factor, unit in _COUNTS:
        if count >= factor:
            return f"{_three_digits(count / factor)}{unit}"
    return str(count)


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its word: ``1 token``, ``1,024 tokens``; ``many`` where no s does."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_decimal_bytes(size_bytes: float | None) -> str:
    """Return a size in decimal units, to stand beside a bandwidth, ``unknown`` for None.

    What a token reads is always given so: divided by a bandwidth it gives the token's time.
    """
    if size_bytes is None:
        return "unknown"
    for factor, unit in ((10**12, "TB"), (GB, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= factor:
            return f"{_three_digits(size_bytes / factor)} {unit}"
    return f"{size_bytes:.0f} B"


def format_flops(operations: float) -> str:
    """Return floating point operations as GFLOP, TFLOP, …; with ``/s`` behind it a rate."""
    for factor, unit in ((10**12, "TFLOP"), (10**9, "GFLOP"), (10**6, "MFLOP")):
        if operations >= factor:
            return f"{_three_digits(operations / factor)} {unit}"
    return f"{operations:,.0f} FLOP"


def format_percent(share: float) -> str:
    """Return a share (0 to 1) as whole percent; the space before the sign does not break."""
    return f"{share * 100:,.0f}\u00a0%"


def format_bandwidth(bytes_per_s: float | None) -> str:
    """Return a bandwidth in decimal units per second."""
    if bytes_per_s is None:
        return "unknown"
    if bytes_per_s >= 10**12:
        return f"{_three_digits(bytes_per_s / 10**12)} TB/s"
    if bytes_per_s < GB / 10:
        return f"{_three_digits(bytes_per_s / 10**6)} MB/s"
    return f"{_three_digits(bytes_per_s / GB)} GB/s"


def format_rate(tokens_per_s: float | None) -> str:
    """Return a rate in tokens per second."""
    return "unknown" if tokens_per_s is None else f"{_three_digits(tokens_per_s)} tok/s"


def format_seconds(seconds: float | None) -> str:
    """Return a time span as ms, s or min."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return f"{_three_digits(seconds * 1000)} ms"
    if seconds < 120:
        return f"{_three_digits(seconds)} s"
    return f"{_three_digits(seconds / 60)} min"
