"""The arithmetic below the two ceilings, in a line that a reader can check by hand.

Decoding one token reads every weight and the filled cache once: at most bandwidth over bytes.
Prefill evaluates many tokens at each reading: at most operations a second over operations a token.
Both sides of a division are decimal, as data sheets give bandwidths.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.units import format_bandwidth, format_decimal_bytes, format_flops
from inspector.plan_record import PlanRecord, RatePoint

__all__ = [
    "HELD_BY_ARITHMETIC",
    "LAUNCH_WORDS",
    "decode_equation",
    "decode_limit",
    "held_by_launches",
    "prefill_equation",
]

LAUNCH_WORDS: Final = "from what launching its kernels takes (assumed)"
HELD_BY_ARITHMETIC: Final = "held by arithmetic"
_BY_ARITHMETIC: Final = 0.85  # of the ceiling: what reading alone reaches on a processor
_BY_LAUNCHES: Final = 0.6  # of the ceiling: below what reading alone reaches on a card
_SAME: Final = 0.02  # beyond this share the ceiling is not one device's alone


def decode_equation(plan: PlanRecord, point: RatePoint) -> str:
    """Return what the decode ceiling is made of; empty where it is not known.

    Several devices, or a network between them, are said as the bandwidth they come to together.
    """
    if not point.ceiling or point.bytes_per_token <= 0:
        return ""
    size = format_decimal_bytes(point.bytes_per_token)
    rates = [
        item.bandwidth_bytes_per_s
        for item in plan.devices
        if item.weights_bytes + item.kv_bytes and item.bandwidth_bytes_per_s
    ]
    together = point.ceiling * point.bytes_per_token
    if len(rates) == 1 and abs(rates[0] / together - 1) <= _SAME:
        return f"{format_bandwidth(rates[0])} ÷ {size} a token"
    return f"{format_bandwidth(together)} together ÷ {size} a token"


def decode_limit(plan: PlanRecord, point: RatePoint) -> str:
    """Return what holds decoding: reading, or on a processor often its arithmetic."""
    if point.ceiling is None:
        return "bandwidth not known"
    lead = max(plan.devices, key=lambda item: item.weights_bytes, default=None)
    if lead is not None and held_by_launches(
        lead.kind, point.high, point.ceiling, measured=plan.fit is not None
    ):
        return "held by kernel launches (assumed)"
    on_cpu = lead is not None and lead.kind == "cpu"
    if on_cpu and point.high is not None and point.high < _BY_ARITHMETIC * point.ceiling:
        return HELD_BY_ARITHMETIC
    return "bandwidth-bound"


def held_by_launches(
    kind: str, high: float | None, ceiling: float | None, *, measured: bool
) -> bool:
    """Tell whether launching kernels holds what is predicted of a device of this kind.

    Reading alone reaches more than that of the ceiling; a measurement says nothing of causes.
    """
    if measured or high is None or not ceiling:
        return False
    return kind in {"gpu", "igpu", "accel"} and high < _BY_LAUNCHES * ceiling


def prefill_equation(
    flops_per_s: float | None, flops_per_token: float | None, ceiling: float | None = None
) -> str:
    """Return what the prefill ceiling is made of; empty where it is not known.

    Where it is not one device's rate alone, what all come to together is said: some layers lie on
    another device, or weights have to be read or brought first.
    """
    if not flops_per_s or not flops_per_token:
        return ""
    each = f"{format_flops(flops_per_token)} a token"
    if ceiling is None or abs(flops_per_s / (ceiling * flops_per_token) - 1) <= _SAME:
        return f"{format_flops(flops_per_s)}/s ÷ {each}"
    return f"{format_flops(ceiling * flops_per_token)}/s together ÷ {each}"
