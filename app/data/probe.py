"""What this computer is: memory and who uses it, accelerators, and the machine the planner sees.

Every figure says where it comes from: measured here, read from a driver, found in the table of
published figures, or unknown. Nothing is filled in by guess, apart from the processor's rate of
arithmetic, which is marked as assumed until a prompt has been measured.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil

from app.data.nvidia import Nvidia
from gguf_tools.hardware import HardwareTable
from gguf_tools.machine import MEASURED_BUSY, OF_LARGER, PARTLY_CACHED, Device, DeviceKind, Machine
from gguf_tools.units import format_bandwidth
from inspector.records import BandwidthRecord

__all__ = [
    "CPU_POOL",
    "HostMemory",
    "Reported",
    "assumed_flops",
    "busy_sentence",
    "host_device",
    "host_memory",
    "machine_of",
    "main_memory_bytes",
]

log = logging.getLogger(__name__)

CPU_POOL: Final = "main memory"
_CGROUP: Final = Path("/sys/fs/cgroup")
_UNLIMITED: Final = 1 << 60
_FLOPS_PER_CYCLE: Final = 32
_CLOCK_HZ: Final = 3.0e9
_BUSY_SHARE: Final = 0.15


@dataclass(frozen=True, slots=True)
class Reported:
    """A device as the engine reports it, and what was measured of one on another computer."""

    name: str
    description: str
    kind: str
    backend: str
    total_bytes: int | None
    free_bytes: int | None
    round_trip_s: float | None = None
    link_bytes_per_s: float | None = None
    bandwidth_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Main memory that this process may use, and what of it is free (file caches count as free)."""

    total_bytes: int
    free_bytes: int


# --- memory


def host_memory(root: Path = _CGROUP) -> HostMemory:
    """Return main memory, as a container's limit leaves it."""
    memory = psutil.virtual_memory()
    total, free = int(memory.total), int(memory.available)
    for limit_name, used_name in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        limit = _number(root / limit_name)
        if limit is None or limit >= min(total, _UNLIMITED):
            continue
        used = _number(root / used_name) or 0
        total = limit
        free = min(free, max(limit - used + _file_cache(root, limit_name), 0))
    return HostMemory(total, min(free, total))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text().strip())
    except (OSError, ValueError):
        return None


def _file_cache(root: Path, limit_name: str) -> int:
    """Return bytes of a container's use that are caches of files, which are given back."""
    try:
        text = (root / limit_name).with_name("memory.stat").read_text()
    except OSError:
        return 0
    found = re.search(r"^(?:inactive_file|total_inactive_file) (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


def main_memory_bytes() -> tuple[int, int]:
    """Return free and total bytes of `host_memory`, as an engine's client asks for them."""
    memory = host_memory()
    return memory.free_bytes, memory.total_bytes


# --- the machine


def machine_of(
    reported: Sequence[Reported],
    table: HardwareTable,
    *,
    cpu: str,
    cores: int,
    bandwidth: BandwidthRecord | None = None,
    host: HostMemory | None = None,
    cards: Sequence[Nvidia] = (),
    name: str = "this computer",
) -> Machine:
    """Return the planner's machine of what the engine reports, in the order it fills devices.

    Follows ``llama_prepare_model_devices`` in src/llama.cpp: devices over RPC first, then GPUs;
    those that share main memory, of one backend, only where this computer has no other.

    Args:
        reported: devices of the engine's hello.
        table: published figures.
        cpu: the processor's name.
        cores: its fast cores that the engine may use.
        bandwidth: a probe of main memory.
        host: main memory; asked of the system if left out.
        cards: what the NVIDIA driver says.
        name: what to call the machine.
    """
    remote = [item for item in reported if item.backend.startswith("RPC")]
    local = [item for item in reported if item.kind == "gpu" and item not in remote]
    shared = [item for item in reported if item.kind == "igpu"]
    if not local:
        local = [item for item in shared if item.backend == shared[0].backend]
    main = host_device(table, cpu, cores, bandwidth, host)
    left = list(cards)
    devices = []
    for item in [*remote, *local]:
        card = next((card for card in left if _same(card, item)), None)
        if card is not None:
            left.remove(card)
        devices.append(_accelerator(item, table, main, card))
    return Machine(name=name, cpu=main, accelerators=tuple(devices))


def assumed_flops(threads: int) -> float:
    """Return the operations a second that are assumed of a processor's threads."""
    return max(threads, 1) * _CLOCK_HZ * _FLOPS_PER_CYCLE


def host_device(
    table: HardwareTable,
    name: str,
    cores: int,
    bandwidth: BandwidthRecord | None = None,
    host: HostMemory | None = None,
) -> Device:
    """Return the processor with main memory. For the arguments see `machine_of`."""
    host = host or host_memory()
    row = table.find(name)
    # A probe was made with the threads that decode, which may be fewer than there are cores.
    threads = cores if bandwidth is None else bandwidth.threads
    device = Device(
        name="CPU",
        kind="cpu",
        description=name,
        backend="CPU",
        total_bytes=host.total_bytes,
        free_bytes=host.free_bytes,
        bandwidth_bytes_per_s=None if row is None else row.bandwidth_bytes_per_s,
        bandwidth_basis="assumed" if row is None else "table",
        flops_per_s=assumed_flops(threads),
        flops_basis="assumed",
        pool=CPU_POOL,
    )
    if bandwidth is None:
        return device
    notes = []
    if bandwidth.cached and bandwidth.large_bytes_per_s is not None:
        beyond = format_bandwidth(bandwidth.large_bytes_per_s)
        notes.append(f"{PARTLY_CACHED}: main memory {beyond}")
    if bandwidth.of_larger:
        notes.append(OF_LARGER)
    if not bandwidth.steady:
        notes.append(MEASURED_BUSY)
    return replace(
        device,
        bandwidth_bytes_per_s=bandwidth.bytes_per_s,
        bandwidth_basis="measured",
        bandwidth_note="; ".join(notes),
    )


def _same(card: Nvidia, item: Reported) -> bool:
    return card.name == item.description and item.backend.upper().startswith(("CUDA", "VULKAN"))


def _accelerator(item: Reported, table: HardwareTable, cpu: Device, card: Nvidia | None) -> Device:
    remote = item.backend.startswith("RPC")
    if remote:
        return _elsewhere(item)
    row = table.find(item.description, item.total_bytes, cpu=False)
    shares = item.kind == "igpu" or (row is not None and row.shares_memory)
    if row is not None:
        device = row.device(item.name, total_bytes=item.total_bytes, pool=_pool(shares, item, cpu))
        device = replace(device, free_bytes=item.free_bytes, backend=item.backend)
    else:
        kind: DeviceKind = "igpu" if item.kind == "igpu" else "gpu"
        device = Device(
            name=item.name,
            kind=kind,
            description=item.description,
            backend=item.backend,
            total_bytes=item.total_bytes,
            free_bytes=item.free_bytes,
            bandwidth_bytes_per_s=cpu.bandwidth_bytes_per_s if shares else None,
            bandwidth_basis=cpu.bandwidth_basis if shares else "assumed",
            pool=_pool(shares, item, cpu),
        )
    if card is None:
        return device
    if card.bandwidth_bytes_per_s is not None:
        device = replace(
            device,
            bandwidth_bytes_per_s=card.bandwidth_bytes_per_s,
            bandwidth_basis="read",
        )
    return replace(
        device,
        free_bytes=card.free_bytes,
        link_bytes_per_s=card.link_bytes_per_s or device.link_bytes_per_s,
        link_basis="read" if card.link_bytes_per_s else device.link_basis,
    )


def _elsewhere(item: Reported) -> Device:
    """Return a device of another computer; nothing is known of it but what was measured."""
    return Device(
        name=item.name,
        kind="rpc",
        description=item.description,
        backend=item.backend,
        total_bytes=item.total_bytes,
        free_bytes=item.free_bytes,
        bandwidth_bytes_per_s=item.bandwidth_bytes_per_s,
        bandwidth_basis="assumed" if item.bandwidth_bytes_per_s is None else "measured",
        link_bytes_per_s=item.link_bytes_per_s,
        link_basis="assumed" if item.link_bytes_per_s is None else "measured",
        round_trip_s=item.round_trip_s,
        pool=item.name,
    )


def _pool(shares: bool, item: Reported, cpu: Device) -> str:
    return cpu.pool if shares else item.name


# --- who else computes


def busy_sentence(own_pids: Sequence[int] = (), interval_s: float = 0.3) -> str:
    """Return sentences about what else uses the processors, empty if it is quiet.

    This process and ``own_pids`` with their children are what is measured and not told. Other
    processes of this program (the engines of a comparison, a download) are no other programs but
    disturb a rate as much: they are told apart. Watches for ``interval_s``, in the calling thread.
    """
    here = psutil.Process()
    family = _below(here)
    silent = {here.pid, *own_pids}
    for pid in filter(None, own_pids):  # 0 has all others below it on some systems
        own = _ask(lambda pid=pid: psutil.Process(pid))  # type: ignore[misc]
        silent |= set() if own is None else _below(own)
    watched: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if process.pid not in silent and _ask(process.cpu_percent) is not None:
            watched[process.pid] = process
    psutil.cpu_percent()
    here.cpu_percent(interval_s)
    ours, others = 0.0, []
    for process in watched.values():
        share = (_ask(process.cpu_percent) or 0.0) / 100
        if process.pid in family:
            ours += share
        elif share:
            others.append((share, process))
    total = sum(share for share, _ in others)
    told = []
    if total >= _BUSY_SHARE:
        _, most = max(others, key=lambda item: item[0])
        told.append(
            f"Other programs use {total:.1f} processor cores, {_program(most)} the most of them."
        )
    if ours >= _BUSY_SHARE:
        told.append(f"Plimsoll itself uses {ours:.1f} processor cores for something else.")
    return " ".join(told)


def _below(process: psutil.Process) -> set[int]:
    """Return the processes that a process started, and what those started."""
    children: list[psutil.Process] = _ask(lambda: process.children(recursive=True)) or []
    return {child.pid for child in children}


def _program(process: psutil.Process) -> str:
    """Return what people call a program: another window or command of ours is no mere python."""
    words: list[str] = _ask(process.cmdline) or []
    module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
    if words[:1] == [sys.executable] and module and module[0].split(".")[0] == "app":
        return "another Plimsoll"
    return str(_ask(process.name) or "another program")


def _ask(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except psutil.Error:
        return None
