"""What crosses the network for a token, where layers lie on devices of other computers.

The engine cuts its graph where the device changes (``ggml_backend_sched_split_graph`` in
ggml/src/ggml-backend.cpp). Each stretch of layers on a remote device is sent the hidden state, the
positions, the mask of its caches and the cells to write to, one message each, and is asked for its
result: the hidden state, or the logits where the output lies there. Sending waits for no answer,
asking does, so a stretch costs one round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from gguf_tools.hparams import Hyperparameters
from gguf_tools.kv import KvCache
from gguf_tools.machine import Device
from gguf_tools.placement import CPU, Placement

__all__ = ["crossings", "network_seconds"]

_MESSAGE_BYTES: Final = 314  # command, length, description of a tensor, offset
_RECOMPUTE_BYTES: Final = 13
_INDEX_BYTES: Final = 8
_POSITION_BYTES: Final = 4


def crossings(
    shape: Hyperparameters,
    placement: Placement,
    caches: Sequence[KvCache],
    cells: Sequence[int],
    *,
    devices: int,
    vocabulary: int,
    sequences: int,
    flash_attention: bool,
) -> tuple[list[float], list[float]]:
    """Return the bytes that a step of decoding moves to and from each device, and its waits.

    They mean something for devices on other computers alone: a card of this one is reached
    through its bus.

    Args:
        shape: the model's hyperparameters.
        placement: where layers lie.
        caches: the KV caches.
        cells: how many cells of each cache a step reads.
        devices: how many devices there are.
        vocabulary: rows of the output matrix.
        sequences: sequences that take this step together.
        flash_attention: whether masks are of 16 bits rather than 32.
    """
    moved = [0.0] * devices
    trips = [0.0] * devices
    hidden = 4 * shape.embedding_length * sequences
    mask = (2 if flash_attention else 4) * sequences
    held = [{item.layer for item in cache.layers} for cache in caches]
    layers = [*placement.layers[: shape.layers], placement.output]
    for device, run in groupby(range(len(layers)), key=lambda index: layers[index]):
        if device == CPU:
            continue
        stretch = list(run)
        read = [count for count, own in zip(cells, held, strict=True) if own & set(stretch)]
        sent = hidden + _POSITION_BYTES * sequences
        sent += sum(mask * count + 2 * _INDEX_BYTES * sequences for count in read)
        messages = 3 + 3 * len(read)
        last = stretch[-1] == len(layers) - 1
        answer = 4 * vocabulary * sequences if last else hidden
        moved[device] += sent + answer + messages * _MESSAGE_BYTES + _RECOMPUTE_BYTES
        trips[device] += 1
    return moved, trips


def network_seconds(moved_bytes: float, trips: float, device: Device) -> float:
    """Return what the network to a device adds to a step; what was not measured counts nothing."""
    if device.kind != "rpc":
        return 0.0
    seconds = trips * (device.round_trip_s or 0.0)
    if device.link_bytes_per_s:
        seconds += moved_bytes / device.link_bytes_per_s
    return seconds
