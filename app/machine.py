"""This computer as the program sees it: the engine's devices with bandwidth and its basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from app.data.probe import (
    Reported,
    host_device,
    keep_bandwidth,
    kept_bandwidth,
    machine_of,
    nvidia_devices,
)
from app.data.state import StateFile
from app.engine.bandwidth import measure_bandwidth, probe_size
from app.engine.protocol import DeviceInfo, Hello
from app.engine.threads import choose_threads, cpu_name
from app.paths import default_paths
from gguf_tools.hardware import HardwareTable, parse_hardware
from gguf_tools.machine import Device, Machine
from gguf_tools.split import device_names, is_named
from inspector.records import BandwidthRecord
from resources.loader import read_text

__all__ = [
    "bandwidth_for",
    "hardware_table",
    "machine_for",
    "processor",
    "reported",
    "state_file",
]


def state_file() -> StateFile:
    """Return the state file, with its folder made; without a folder it lasts for this run."""
    paths = default_paths()
    try:
        paths.make()
    except OSError:
        return StateFile(None)
    return StateFile(paths.state)


def reported(devices: Sequence[DeviceInfo]) -> tuple[Reported, ...]:
    """Return the engine's devices as the probe takes them."""
    return tuple(
        Reported(
            item.name,
            item.description,
            item.kind,
            item.backend,
            item.total_bytes,
            item.free_bytes,
            item.round_trip_s,
            item.link_bytes_per_s,
            item.bandwidth_bytes_per_s,
        )
        for item in devices
    )


def bandwidth_for(
    state: StateFile,
    cpu: str,
    threads: int,
    bytes_per_token: int,
    *,
    again: bool = False,
    free_bytes: int | None = None,
) -> BandwidthRecord:
    """Return the bandwidth of main memory at a model's size: the kept probe, or a new one.

    Raises:
        MemoryError: there is no room for the probe's buffers.
    """
    size = probe_size(bytes_per_token, free_bytes)
    kept = None if again else kept_bandwidth(state, cpu, threads, size)
    if kept is not None:
        return kept
    record = measure_bandwidth(size, threads)
    keep_bandwidth(state, cpu, record)
    return record


def machine_for(
    hello: Hello, bandwidth: BandwidthRecord | None, devices: str | None = None
) -> Machine:
    """Return the planner's machine of an engine's hello.

    Args:
        hello: of the engine.
        bandwidth: a probe of main memory.
        devices: those that a load may use, as `LoadOptions.devices`.
    """
    machine = machine_of(
        reported(hello.devices),
        hardware_table(),
        cpu=hello.cpu,
        cores=choose_threads(),
        bandwidth=bandwidth,
        cards=nvidia_devices(),
    )
    names = device_names(devices)
    chosen = (item for item in machine.accelerators if is_named(names, item.name, item.description))
    return replace(machine, accelerators=tuple(chosen))


def processor(bandwidth: BandwidthRecord | None = None) -> Device:
    """Return this computer's processor with main memory, without asking an engine."""
    return host_device(hardware_table(), cpu_name(), choose_threads(), bandwidth)


@cache
def hardware_table() -> HardwareTable:
    """Return the table of published figures."""
    return parse_hardware(read_text("hardware.json"))
