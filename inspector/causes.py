"""Why a reply was slower than predicted, by the evidence of the moment when it ended.

Most of that evidence is of the moment: what else ran, what a driver moved, what lay in memory. So
the sentences are made when the reply ends and are kept with it (`inspector.judged`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gguf_tools.units import (
    counted,
    format_bandwidth,
    format_bytes,
    format_percent,
    format_rate,
    format_seconds,
)
from inspector.batching import LEAST_TOKENS
from inspector.plan_record import PlannedDevice, PlanRecord
from inspector.records import TurnStats

if TYPE_CHECKING:
    from inspector.session import Session  # which asks for the causes as a turn ends

__all__ = ["BELOW", "SHORT_TOKENS", "is_slow", "network_words", "slow_causes"]

BELOW: Final = 0.8
"""Measured over the low end of the prediction below which a reason is looked for."""

SHORT_TOKENS: Final = 32  # the figure of a shorter one is uncertain
_SPILL_BYTES: Final = 64 << 20
_RESIDENT: Final = 0.9
_SAMPLER_SHARE: Final = 0.15
_FELL: Final = 0.8
_PLAIN_TYPES: Final = frozenset({"f32", "f16", "bf16"})


def is_slow(plan: PlanRecord, stats: TurnStats) -> bool:
    """Tell whether a reply was decoded well below the low end of what was predicted of it."""
    point, measured = plan.rate_at(stats.mean_depth_tokens), stats.decode_per_s
    if point is None or point.low is None or point.ceiling is None or measured is None:
        return False
    return stats.reply_tokens >= LEAST_TOKENS and measured < BELOW * point.low


def slow_causes(session: Session, plan: PlanRecord, stats: TurnStats) -> Iterator[str]:
    """Yield what the evidence says about a slow turn, the most telling first."""
    load, settings, sample = session.load, session.settings, session.sample
    for device in () if sample is None else sample.devices:
        if device.spilled_bytes and device.spilled_bytes >= _SPILL_BYTES:
            size = format_bytes(device.spilled_bytes)
            yield f"The driver moved {size} of {device.name} to system memory, which is far slower."
        if device.limited_by:
            yield f"{device.name} is held back by {device.limited_by}."
    mapped = _mapped_weights(session)
    resident = None if sample is None else sample.mapped_bytes
    if mapped and resident is not None and resident < _RESIDENT * mapped:
        yield (
            f"Only {format_bytes(resident)} of the model's {format_bytes(mapped)} lie in memory: "
            "the rest is read from disk for every token."
        )
    if load is not None and load.layers_offloaded < plan.layers_offloaded:
        yield (
            f"Of {counted(plan.layers_offloaded, 'layer')} planned on the accelerator "
            f"{load.layers_offloaded:,} came there."
        )
    for item in plan.devices:
        if item.network_s:
            yield (
                f"Layers lie on {item.name}, and {network_words(item)} when it was measured: a "
                "network that is slower now, or another user of that computer, would explain it."
            )
    if session.cores and stats.threads > session.cores and not session.tuned:
        cores = counted(session.cores, "fast core")
        yield f"{stats.threads} threads share {cores} and wait for each other."
    if session.busy:
        yield session.busy
    if stats.decode_s and stats.sample_s > _SAMPLER_SHARE * stats.decode_s:
        share = stats.sample_s / stats.decode_s
        yield (
            f"Drawing tokens took {format_percent(share)} of the time: a grammar or many samplers "
            "do that."
        )
    fell = _fell(plan, stats)
    if fell is not None:
        yield (
            f"Within the reply the rate fell from {format_rate(fell[0])} to "
            f"{format_rate(fell[1])}, more than the longer context explains: heat, power or "
            "another program."
        )
    if settings is not None:
        on_cpu = plan.layers_offloaded < plan.layers_total
        if settings.compatibility and on_cpu:
            yield "Compatibility mode leaves out this processor's fastest kernels."
        if settings.type_k not in _PLAIN_TYPES and on_cpu:
            yield f"A cache in {settings.type_k} is unpacked for every token on the processor."
        if session.cores and 0 < stats.threads * 2 < session.cores and not session.tuned:
            yield f"Only {stats.threads} of {session.cores} fast cores are used."
    if stats.reply_tokens < SHORT_TOKENS:
        tokens = counted(stats.reply_tokens, "token")
        yield f"The reply is short ({tokens}), so the figure is uncertain."


def network_words(device: PlannedDevice) -> str:
    """Say what the network to a device gives, and what it adds to each token."""
    figures = []
    if device.round_trip_s is not None:
        figures.append(f"{format_seconds(device.round_trip_s)} a round trip")
    if device.link_bytes_per_s is not None:
        figures.append(format_bandwidth(device.link_bytes_per_s))
    return (
        f"the network to {device.description}: {', '.join(figures)}, "
        f"{format_seconds(device.network_s)} of each token"
    )


def _mapped_weights(session: Session) -> int:
    """Return bytes of weights that decoding reads from mapped pages, 0 if some were repacked."""
    load = session.load
    if load is None:
        return 0
    weights = [item for item in load.buffers if item.what == "weights"]
    if any("_Mapped" not in item.device for item in weights):
        return 0
    return sum(item.size_bytes for item in weights)


def _fell(plan: PlanRecord, stats: TurnStats) -> tuple[float, float] | None:
    """Return the rates at a reply's beginning and end if the end is slower than predicted."""
    rates = stats.rates_along()
    if len(rates) < 6:
        return None
    third = len(rates) // 3
    first, last = rates[:third], rates[-third:]
    start = third / sum(1 / rate for _, rate in first)
    end = third / sum(1 / rate for _, rate in last)
    before, after = plan.rate_at(first[0][0]), plan.rate_at(last[-1][0])
    usual = 1.0
    if before is not None and after is not None and before.low and after.low:
        usual = after.low / before.low
    return (start, end) if end < _FELL * usual * start else None
