"""This computer as the program sees it: the engine's devices with bandwidth and its basis."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from app.data.bandwidths import keep_bandwidth, kept_bandwidth, kept_probe
from app.data.cpu_features import cpu_features
from app.data.drivers import CardSample
from app.data.nvidia import Nvidia, nvidia_devices
from app.data.probe import (
    Reported,
    assumed_flops,
    host_device,
    machine_of,
)
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES, measure_bandwidth, probe_size
from app.engine.protocol import DeviceInfo, Hello, LoadOptions
from app.engine.recording import DriverSays
from app.engine.threads import choose_threads, clamp_threads, cpu_name
from app.paths import default_paths
from gguf_tools.hardware import HardwareTable, parse_hardware
from gguf_tools.machine import Device, Machine
from gguf_tools.split import device_names, is_named
from inspector.records import BandwidthRecord
from resources.loader import read_text

__all__ = [
    "bandwidth_for",
    "drivers_say",
    "hardware_table",
    "machine_for",
    "processor",
    "reported",
    "state_file",
]


_CARDS_S = 5.0
_seen: list[tuple[float, tuple[Nvidia, ...]]] = []
_BACKENDS = {"NVIDIA": ("CUDA", "VULKAN"), "AMD": ("ROCM", "HIP", "VULKAN")}


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
    """Return the bandwidth of main memory at a model's size, measured if it never was.

    A kept probe that something disturbed is made again, until a quiet one is kept; of probes that
    disagree the best one counts. ``again``: measure in any case, because the user wants it.

    Raises:
        MemoryError: there is no room for the probe's buffers.
    """
    size = probe_size(bytes_per_token, free_bytes)
    probe = kept_probe(state, cpu, threads, size)
    if again or probe is None or not probe.steady:
        main = kept_probe(state, cpu, threads, LARGE_BYTES)
        is_known = main is not None and main.steady  # then its second buffer tells nothing new
        probe = measure_bandwidth(size, threads, large_bytes=0 if is_known else LARGE_BYTES)
        keep_bandwidth(state, cpu, probe, anew=again)
    # Another process may have written the file over it: what was measured counts all the same.
    return kept_bandwidth(state, cpu, threads, size) or probe


def machine_for(
    hello: Hello, bandwidth: BandwidthRecord | None, options: LoadOptions | None = None
) -> Machine:
    """Return the planner's machine of an engine's hello.

    Args:
        hello: of the engine.
        bandwidth: a probe of main memory, made with the threads that decode.
        options: the load it is for, of which the devices that may be used and the threads that
            read a prompt count; None for any.
    """
    machine = machine_of(
        reported(hello.devices),
        hardware_table(),
        cpu=hello.cpu,
        cores=choose_threads(),
        bandwidth=bandwidth,
        cards=_cards(),
    )
    names = device_names(None if options is None else options.devices)
    chosen = (item for item in machine.accelerators if is_named(names, item.name, item.description))
    host = replace(machine.cpu, features=cpu_features(hello.system_info))
    if options is not None:
        reading = clamp_threads(options.threads_batch or options.threads)  # as the engine has it
        host = replace(host, prefill_flops_per_s=assumed_flops(reading))
    return replace(machine, cpu=host, accelerators=tuple(chosen))


def _cards() -> tuple[Nvidia, ...]:
    """Return NVIDIA's cards as of the last seconds: plans are made as often as a slider moves."""
    now_s = time.monotonic()
    if not _seen or now_s > _seen[-1][0] + _CARDS_S:
        _seen[:] = [(now_s, nvidia_devices())]
    return _seen[-1][1]


def drivers_say(
    devices: Sequence[DeviceInfo], cards: Sequence[CardSample], host_bytes: int = 0
) -> dict[str, DriverSays]:
    """Return what drivers say of the engine's devices, by their names.

    A card is a device's if it has its name, or the memory that nearest to it and its maker's
    backend. ``host_bytes`` of main memory are the engine's on purpose (staging buffers): no spill.
    """
    left = list(cards)
    found = {}
    for device in devices:
        card = next((card for card in left if _is_card(card, device)), None)
        if card is None:
            continue
        left.remove(card)
        spilled = card.spilled_bytes
        found[device.name] = DriverSays(
            free_bytes=card.free_bytes,
            spilled_bytes=None if spilled is None else max(spilled - host_bytes, 0),
            limited_by=card.limited_by,
        )
    return found


def _is_card(card: CardSample, device: DeviceInfo) -> bool:
    if device.kind != "gpu" or device.backend == "RPC":
        return False
    if card.name and card.name == device.description:
        return True
    made_by = device.backend.upper().startswith(_BACKENDS[card.vendor])
    if not made_by or not card.total_bytes or not device.total_bytes or card.vendor == "NVIDIA":
        return False
    return abs(card.total_bytes / device.total_bytes - 1) < 0.1


def processor(bandwidth: BandwidthRecord | None = None) -> Device:
    """Return this computer's processor with main memory, without asking an engine."""
    return host_device(hardware_table(), cpu_name(), choose_threads(), bandwidth)


@cache
def hardware_table() -> HardwareTable:
    """Return the table of published figures."""
    return parse_hardware(read_text("hardware.json"))
