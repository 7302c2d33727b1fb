"""How many layers fit, when the engine found that those asked for do not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.engine.protocol import DeviceInfo, LoadOptions
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Device, Machine
from gguf_tools.memory import memory_plan
from inspector.planned import load_settings

__all__ = ["fewer_layers"]

_STEP = 8  # where nothing better is known, an eighth of the layers is taken off at a time


def fewer_layers(
    path: str, options: LoadOptions, devices: Sequence[DeviceInfo]
) -> tuple[int, int] | None:
    """Return layers to try next and layers that were tried, the output counted.

    As many as the plan says fit, fewer than were tried; None where the file says nothing of its
    layers, or none are left to take off.

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
    try:
        planned = _planned(facts, options, devices, tried)
    except ValueError:
        planned = None
    return (step if planned is None else min(planned, tried - 1)), tried


def _planned(
    facts: ModelFacts, options: LoadOptions, devices: Sequence[DeviceInfo], tried: int
) -> int | None:
    """Return the most layers whose plan fits the devices, None if their memory is unknown."""
    if facts.shape is None or any(device.free_bytes is None for device in devices):
        return None
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
    values = msgspec.to_builtins(options)
    low, high = 0, tried - 1
    while low < high:
        layers = (low + high + 1) // 2
        load = load_settings(values | {"gpu_layers": layers}, facts)
        plan = memory_plan(facts, load, machine)
        fits = all(
            item.total_bytes + item.compute_bytes * plan.compute_margin
            <= (item.device.free_bytes or 0)
            for item in plan.devices[1:]
        )
        low, high = (layers, high) if fits else (low, layers - 1)
    return low
