from __future__ import annotations

from dataclasses import replace

import pytest

from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.placement import place_layers

GIB = 1 << 30


def _machine(*free_gib: int) -> Machine:
    cards = tuple(
        Device(
            name=f"CUDA{index}",
            kind="gpu",
            backend="CUDA",
            total_bytes=free * GIB,
            free_bytes=free * GIB,
        )
        for index, free in enumerate(free_gib)
    )
    return replace(cpu_only(64 * GIB, 60 * GIB), accelerators=cards)


@pytest.mark.parametrize(
    ("free_gib", "split", "layers"),
    [
        ((8, 24), None, (1, 2, 2, 2)),
        ((8, 24), (3.0, 1.0), (1, 1, 1, 2)),
        ((8, 24), (1.0,), (1, 1, 1, 1)),  # the other one gets nothing
        ((8, 24), (3.0, 1.0, 4.0), (1, 1, 1, 2)),  # as if the third part were not there
        ((8,), (3.0, 1.0), (1, 1, 1, 1)),
        ((8, 24), (0.0, 0.0, 1.0), (1, 2, 2, 2)),  # nothing is left of it: free memory decides
        ((), (3.0, 1.0), (0, 0, 0, 0)),
    ],
)
def test_parts_without_a_device_count_for_nothing(
    free_gib: tuple[int, ...], split: tuple[float, ...] | None, layers: tuple[int, ...]
) -> None:
    assert place_layers(3, -1, _machine(*free_gib), split).layers == layers


def test_the_last_layers_are_offloaded_and_the_output_counts_as_one() -> None:
    placed = place_layers(3, 2, _machine(8))
    assert placed.layers == (0, 0, 1, 1)
    assert (placed.output, placed.offloaded) == (1, 2)
