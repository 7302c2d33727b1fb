"""Which layer lies on which device.

Follows ``load_tensors`` in src/llama-model.cpp: the output counts as one layer more, the last
``gpu_layers`` of all are offloaded, and several devices share them by cumulative parts, which are
their free memory unless said otherwise.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gguf_tools.machine import Machine

__all__ = ["CPU", "Placement", "place_layers"]

CPU: Final = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Device index of each layer; the last entry is the output. Index 0 is the CPU."""

    layers: tuple[int, ...]

    @property
    def output(self) -> int:
        """Return the device of the output matrix."""
        return self.layers[-1]

    @property
    def offloaded(self) -> int:
        """Return how many layers, the output included, lie off the CPU."""
        return len(self.layers) - self.layers.count(CPU)


def place_layers(
    layers: int, gpu_layers: int, machine: Machine, split: Sequence[float] | None = None
) -> Placement:
    """Return where ``layers`` layers and the output go.

    Args:
        layers: all layers of the file, those that predict further tokens included.
        gpu_layers: layers to offload; negative means all.
        machine: the devices.
        split: parts by device, free memory by default; those without a device count for nothing.
    """
    devices = len(machine.accelerators)
    count = layers + 1
    asked = count if gpu_layers < 0 else min(gpu_layers, count)
    if devices == 0 or asked == 0:
        return Placement((CPU,) * count)
    return _placed(count, asked, tuple(_split_points(machine, split)))


@lru_cache(maxsize=256)
def _placed(count: int, asked: int, points: tuple[float, ...]) -> Placement:
    """Return where the last ``asked`` of ``count`` go, cut at shares of them."""
    placed = [CPU] * (count - asked)
    last = len(points)
    for index in range(asked):
        placed.append(min(bisect_right(points, _float(index / asked)) + 1, last))
    return Placement(tuple(placed))


def _split_points(machine: Machine, split: Sequence[float] | None) -> list[float]:
    parts = list(split or ())[: len(machine.accelerators)]
    if not any(parts):
        parts = [float(device.free_bytes or 0) for device in machine.accelerators]
        if not all(parts):
            host = float(machine.cpu.free_bytes or 0) or 1.0
            parts = [part or host for part in parts]
    total = 0.0
    points = []
    for part in parts:
        total = _float(total + _float(part))
        points.append(total)
    return [_float(point / total) for point in points]


def _float(value: float) -> float:
    """Return a number as C's ``float`` holds it: boundaries fall where the engine's do."""
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    return single
