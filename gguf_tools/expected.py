"""What decoding is likely to reach of its ceiling: from causes first, from measurements after.

A processor multiplies slower than it reads: there the likely rate follows from the kernels of the
weights' types and from attention (`gguf_tools.kernels`), by the threads in use; other devices
reach a usual share of their bandwidth, and small models on them what launching kernels leaves
(`gguf_tools.launches`). That is a wide range. Once a model was measured on the very
machine, a `DecodeFit` takes the place of the assumed shares, and the range is narrow.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.kernels import attention_share
from gguf_tools.launches import launch_seconds
from gguf_tools.machine import Device, Machine
from gguf_tools.network import network_seconds
from gguf_tools.placement import Placement
from gguf_tools.rates import NEGLIGIBLE, TokenBytes, decode_ceiling
from gguf_tools.settings import EngineSettings

__all__ = ["decode_key", "decode_parts", "expected_share"]

EXPECTED: Final[dict[str, tuple[float, float]]] = {
    "gpu": (0.55, 0.75),
    "igpu": (0.5, 0.75),
    "accel": (0.5, 0.75),
    "rpc": (0.3, 0.7),
    "cpu": (0.6, 0.95),
}
"""Shares of the bandwidth that are usually reached, by kind of device (assumed)."""

CPU_SPREAD: Final = 1.5
"""Factor by which arithmetic on a processor may be faster or slower than the kernels' table says.

The table is of one processor; clocks, vector widths and kernels of others differ (assumed).
"""

OTHER_SPREAD: Final = 0.25
"""Half width of a prediction that rests on a measurement with other settings or another model."""


def decode_key(settings: EngineSettings, placement: Placement) -> str:
    """Return what a measured decode rate depends on besides model and machine."""
    kv = settings.kv
    flash = "flash" if settings.flash_attention else "plain"
    return f"{flash} {kv.type_k.name} {kv.type_v.name} {placement.offloaded}".lower()


def decode_parts(
    reads: tuple[TokenBytes, ...], machine: Machine, settings: EngineSettings
) -> tuple[float, float] | None:
    """Return the likely seconds of a step: without the cache, and for the cache.

    Nothing measured goes into them but bandwidths: they are what a `DecodeFit` scales. None if a
    bandwidth is unknown.
    """
    found = _middle(reads, machine, settings)
    return None if found is None else (found[0], found[1])


def expected_share(
    reads: tuple[TokenBytes, ...],
    machine: Machine,
    settings: EngineSettings,
    placement: Placement,
) -> tuple[float, float] | None:
    """Return the low and high rate to expect, in steps per second; None if it is unknown."""
    found = _middle(reads, machine, settings)
    if found is None:
        return None
    weights, cache, slower, faster = found
    ceiling = decode_ceiling(reads, machine)
    fit = machine.fit
    if fit is None:
        seconds = weights + cache
        low, high = 1.0 / (seconds * slower), 1.0 / (seconds * faster)
    else:
        seconds = weights * fit.weights + cache * fit.cache
        same = fit.own and fit.key == decode_key(settings, placement)
        spread = fit.spread if same else max(fit.spread, OTHER_SPREAD)
        low, high = (1.0 - spread) / seconds, (1.0 + spread) / seconds
    if ceiling is not None:
        high = min(high, ceiling)
    return min(low, high), high


def _middle(
    reads: tuple[TokenBytes, ...], machine: Machine, settings: EngineSettings
) -> tuple[float, float, float, float] | None:
    """Return seconds without and for the cache, and by what factors they may be more or less."""
    weights = cache = most = least = 0.0
    everything = sum(item.total for item in reads)
    for item, device in zip(reads, machine.devices, strict=True):
        rate = device.bandwidth_bytes_per_s
        if not rate:
            if item.total > NEGLIGIBLE * everything:
                return None
            continue
        low, high = EXPECTED[device.kind]
        middle = 2.0 / (1.0 / low + 1.0 / high)
        own = (item.weights + item.state) / (rate * middle)
        kept = item.kv / (rate * middle)
        slower, faster = middle / low, middle / high
        if device.kind == "cpu" and device.flops_per_s:
            computed, attended = _computing(item, device, settings)
            if computed + attended > own + kept:
                slower, faster = CPU_SPREAD, 1.0 / CPU_SPREAD
            # Reading and computing go on at once, so the longer of the two counts.
            own, kept = max(own, computed), max(kept, attended)
        worst, best = launch_seconds(item.kernels, item.stretches, device)
        if (worst + best) / 2.0 > own + kept:
            # Kernels are launched while others run, so here, too, the longer counts.
            own = (worst + best) / 2.0 - kept
            slower, faster = worst / (own + kept), best / (own + kept)
        network = network_seconds(item.moved, item.trips, device)
        weights += own + network
        cache += kept
        most += (own + kept) * slower + network
        least += (own + kept) * faster + network
    total = weights + cache
    return (weights, cache, most / total, least / total) if total else None


def _computing(item: TokenBytes, device: Device, settings: EngineSettings) -> tuple[float, float]:
    """Return a processor's seconds of arithmetic for the weights and for attention."""
    rate = device.flops_per_s or 1.0
    name = settings.kv.type_k.name
    share = attention_share(name, flash_attention=settings.flash_attention)
    return item.work / rate, item.attention / (rate * share)
