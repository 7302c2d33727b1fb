"""How many layers fit, when the engine found that those asked for do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from app.engine.protocol import DeviceInfo, LoadOptions
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Device, Machine
from gguf_tools.memory import memory_plan
from inspector.planned import load_settings

__all__ = ["Fewer", "fewer_layers"]

_STEP = 8  # where nothing better is known, an eighth of the layers is taken off at a time


@dataclass(frozen=True, slots=True)
class Fewer:
    """Layers to try next, the output counted, and what those tried would take of each device.

    ``needed_bytes`` are the plan's, in the order of the devices; empty if it could not be made.
    """

    layers: int
    tried: int
    needed_bytes: tuple[int, ...]


def fewer_layers(path: str, options: LoadOptions, devices: Sequence[DeviceInfo]) -> Fewer | None:
    """Return how to go on: with as many layers as the plan says fit, fewer than were tried.

    None where the file says nothing of its layers, or none are left to take off.

    Args:
        path: the model.
        options: how it was tried.
        devices: those that layers go to, with what is free on each now.
    """
    try:
        facts = read_facts(path)
    except (HeaderError, OSError):
        return None
    if facts.shape is None:
        return None
    everything = facts.shape.layers_all + 1
    tried = everything if options.gpu_layers < 0 else min(options.gpu_layers, everything)
    if tried == 0:
        return None
    step = tried - max(1, tried // _STEP)
    free = [device.free_bytes for device in devices]
    try:
        needed = _needed(facts, options, devices, tried)
        if None in free:
            return Fewer(step, tried, needed)
        low, high = 0, tried - 1
        while low < high:
            layers = (low + high + 1) // 2
            wanted = _needed(facts, options, devices, layers)
            fits = all(size <= (room or 0) for size, room in zip(wanted, free, strict=True))
            low, high = (layers, high) if fits else (low, layers - 1)
        return Fewer(low, tried, needed)
    except ValueError:  # options that no plan can be made for
        return Fewer(step, tried, ())


def _needed(
    facts: ModelFacts, options: LoadOptions, devices: Sequence[DeviceInfo], layers: int
) -> tuple[int, ...]:
    """Return what so many layers take of each device, in bytes, with the plan's margin."""
    machine = Machine(
        name="here",
        cpu=Device(name="CPU", kind="cpu", backend="CPU"),
        accelerators=tuple(
            Device(
                name=device.name,
                kind="rpc" if device.backend == "RPC" else "gpu",
                backend=device.backend,
                total_bytes=device.total_bytes,
                free_bytes=device.free_bytes,
            )
            for device in devices
        ),
    )
    values = msgspec.to_builtins(options) | {"gpu_layers": layers}
    plan = memory_plan(facts, load_settings(values, facts), machine)
    return tuple(
        round(item.total_bytes + item.compute_bytes * plan.compute_margin)
        for item in plan.devices[1:]
    )
