"""This computer as the program sees it: the engine's devices with bandwidth and its basis."""

from __future__ import annotations

from collections.abc import Sequence

from app.data.probe import (
    Reported,
    keep_bandwidth,
    kept_bandwidth,
    machine_of,
    nvidia_devices,
)
from app.data.state import StateFile
from app.engine.bandwidth import measure_bandwidth, probe_size
from app.engine.protocol import DeviceInfo, Hello
from app.engine.threads import performance_cores
from app.paths import default_paths
from gguf_tools.hardware import parse_hardware
from gguf_tools.machine import Machine
from inspector.records import BandwidthRecord
from resources.loader import read_text

__all__ = ["bandwidth_for", "machine_for", "reported", "state_file"]


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


def machine_for(hello: Hello, bandwidth: BandwidthRecord | None) -> Machine:
    """Return the planner's machine of an engine's hello."""
    return machine_of(
        reported(hello.devices),
        parse_hardware(read_text("hardware.json")),
        cpu=hello.cpu,
        cores=performance_cores(),
        bandwidth=bandwidth,
        cards=nvidia_devices(),
    )
