"""What a device takes to be told what to do: small models are held by this, not by bandwidth.

A token runs each layer as a dozen kernels or more, one after another. Launching them goes on while
earlier ones run, so it costs nothing where each has much to read, and sets the rate where it has
little. At a token's end the program waits for the result, and so it does where layers go on on
another device.

Figures are assumed: 3 to 5 microseconds for a kernel with the gap behind it are usual for CUDA,
and about 15 kernels are left of a transformer's layer after fusing.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import Final

from gguf_tools.machine import Device
from gguf_tools.placement import Placement

__all__ = ["KERNELS_LAYER", "LAUNCH_S", "WAIT_S", "launch_seconds", "launches_of"]

KERNELS_LAYER: Final = 15
LAUNCH_S: Final = (5e-6, 3e-6)
"""Seconds of a kernel that has little to do: at worst and at best (assumed)."""

WAIT_S: Final = 30e-6
"""Seconds until a device's result is known to what goes on with it (assumed)."""

_LAUNCHING: Final = frozenset({"gpu", "igpu", "accel"})  # on others the network or the CPU counts


@lru_cache(maxsize=256)
def launches_of(
    layers: int, placement: Placement, devices: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the kernels of a step on each device, and the stretches of layers that lie there.

    ``layers`` are those that run, without what predicts further tokens.
    """
    kernels, stretches = [0] * devices, [0] * devices
    for device, run in groupby((*placement.layers[:layers], placement.output)):
        kernels[device] += KERNELS_LAYER * len(list(run))
        stretches[device] += 1
    return tuple(kernels), tuple(stretches)


def launch_seconds(kernels: float, stretches: float, device: Device) -> tuple[float, float]:
    """Return what a step takes on a device at least, at worst and at best; 0 on a processor."""
    if device.kind not in _LAUNCHING:
        return 0.0, 0.0
    worst, best = (kernels * each + stretches * WAIT_S for each in LAUNCH_S)
    return worst, best
