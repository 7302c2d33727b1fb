from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import psutil
import pytest

from app.data import probe
from app.data.cpu_features import cpu_features
from app.data.nvidia import Nvidia, nvidia_devices
from app.data.probe import (
    HostMemory,
    Reported,
    host_memory,
    machine_of,
)
from gguf_tools.hardware import parse_hardware
from inspector.records import BandwidthRecord
from resources.loader import read_text

GIB = 1 << 30
TABLE = parse_hardware(read_text("hardware.json"))
HOST = HostMemory(32 * GIB, 20 * GIB)
CPU = Reported("CPU", "Some CPU", "cpu", "CPU", 32 * GIB, 32 * GIB)
CARD = Reported("CUDA0", "NVIDIA GeForce RTX 4090", "gpu", "CUDA", 24 * GIB, 23 * GIB)


def record(rate: float = 40e9, *, threads: int = 2, size: int = 100 << 20) -> BandwidthRecord:
    return BandwidthRecord(at_ms=1, threads=threads, buffer_bytes=size, samples=(rate,) * 3)


# --- memory


def test_memory_is_what_a_container_leaves(tmp_path: Path) -> None:
    whole = host_memory(tmp_path)
    assert 0 < whole.free_bytes <= whole.total_bytes
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("600000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 100000\nactive_file 9\n")
    assert host_memory(tmp_path) == HostMemory(1_000_000, 500_000)
    (tmp_path / "memory.max").write_text("max\n")
    assert host_memory(tmp_path).total_bytes == whole.total_bytes


def test_memory_of_the_older_kind_of_container(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "memory.limit_in_bytes").write_text("2000000")
    (folder / "memory.usage_in_bytes").write_text("500000")
    assert host_memory(tmp_path) == HostMemory(2_000_000, 1_500_000)
    (folder / "memory.limit_in_bytes").write_text(str(1 << 62))
    assert host_memory(tmp_path).total_bytes > 2_000_000


def test_median_spread_and_cache_of_a_probe() -> None:
    probed = BandwidthRecord(
        at_ms=1, threads=1, buffer_bytes=1, samples=(10.0, 30.0, 20.0, 22.0), large_bytes_per_s=10.0
    )
    assert probed.bytes_per_s == 22  # the upper quartile
    assert probed.cached
    assert probed.spread == pytest.approx((22 - 20) / 2 / 21)
    assert not record().cached


# --- the machine


def machine(*reported: Reported, **values: Any) -> Any:
    base: dict[str, Any] = {"cpu": "Some CPU", "cores": 4, "host": HOST}
    return machine_of(reported, TABLE, **(base | values))


def test_bandwidth_says_where_it_comes_from() -> None:
    assert machine(CPU).cpu.bandwidth_bytes_per_s is None
    measured = machine(CPU, bandwidth=record()).cpu
    assert (measured.bandwidth_bytes_per_s, measured.bandwidth_basis) == (40e9, "measured")
    (published,) = machine(CPU, CARD).accelerators
    assert published.bandwidth_basis == "table"
    assert published.bandwidth_bytes_per_s == pytest.approx(1.008e12, rel=0.01)
    stranger = Reported("Vulkan0", "Nobody's Card", "gpu", "Vulkan", 8 * GIB, 7 * GIB)
    (unknown,) = machine(CPU, stranger).accelerators
    assert unknown.bandwidth_bytes_per_s is None


def test_main_memory_is_the_systems_figure_not_the_engines() -> None:
    host = machine(CPU).cpu
    assert (host.total_bytes, host.free_bytes) == (32 * GIB, 20 * GIB)


def test_the_driver_knows_better_than_the_table() -> None:
    card = Nvidia(
        name=CARD.description,
        bus_id="0",
        total_bytes=24 * GIB,
        free_bytes=5 * GIB,
        bandwidth_bytes_per_s=9.9e11,
        link_bytes_per_s=3.15e10,
    )
    (device,) = machine(CPU, CARD, cards=(card,)).accelerators
    assert (device.bandwidth_bytes_per_s, device.bandwidth_basis) == (9.9e11, "read")
    assert device.free_bytes == 5 * GIB
    assert device.link_bytes_per_s == 3.15e10


def test_two_cards_of_one_name_take_one_answer_each() -> None:
    cards = tuple(
        Nvidia(name=CARD.description, bus_id=str(index), total_bytes=24 * GIB, free_bytes=free)
        for index, free in enumerate((5 * GIB, 7 * GIB))
    )
    second = Reported("CUDA1", CARD.description, "gpu", "CUDA", 24 * GIB, 23 * GIB)
    devices = machine(CPU, CARD, second, cards=cards).accelerators
    assert [device.free_bytes for device in devices] == [5 * GIB, 7 * GIB]
    assert len({device.memory_pool for device in devices}) == 2


def test_order_of_devices_is_the_engines() -> None:
    remote = Reported("RPC0", "127.0.0.1:50052", "gpu", "RPC", 8 * GIB, 8 * GIB)
    shared = Reported("Vulkan1", "Some iGPU", "igpu", "Vulkan", 16 * GIB, 10 * GIB)
    names = [item.name for item in machine(CPU, CARD, shared, remote).accelerators]
    assert names == ["RPC0", "CUDA0"]
    (only,) = machine(CPU, shared, bandwidth=record()).accelerators
    assert only.kind == "igpu"
    assert only.memory_pool == probe.CPU_POOL
    assert only.bandwidth_bytes_per_s == 40e9
    (far,) = machine(CPU, remote).accelerators
    assert far.kind == "rpc"
    assert far.bandwidth_bytes_per_s is None


# --- NVIDIA's library


class _Error(Exception):
    pass


class _Library:
    """What is used of pynvml, with one card whose driver doesn't know everything."""

    NVMLError = _Error
    NVML_CLOCK_MEM = 2

    def __init__(self, *, broken: bool = False, knows_bus: bool = True) -> None:
        self._broken = broken
        self._knows_bus = knows_bus
        self.open = 0

    def nvmlInit(self) -> None:
        if self._broken:
            raise _Error("no driver")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, _handle: int) -> bytes:
        return b"NVIDIA GeForce RTX 4090"

    def nvmlDeviceGetMemoryInfo(self, _handle: int) -> Any:
        return SimpleNamespace(total=24 * GIB, free=20 * GIB)

    def nvmlDeviceGetMaxClockInfo(self, _handle: int, clock: int) -> int:
        assert clock == self.NVML_CLOCK_MEM
        return 10501

    def nvmlDeviceGetMemoryBusWidth(self, _handle: int) -> int:
        if not self._knows_bus:
            raise _Error("not supported")
        return 384

    def nvmlDeviceGetMaxPcieLinkGeneration(self, _handle: int) -> int:
        return 4

    def nvmlDeviceGetMaxPcieLinkWidth(self, _handle: int) -> int:
        return 16

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _handle: int) -> int:
        return 0x4


def test_a_card_tells_clock_bus_link_and_what_holds_it_back() -> None:
    library = _Library()
    (card,) = nvidia_devices(library)
    assert card.name == "NVIDIA GeForce RTX 4090"
    assert card.bandwidth_bytes_per_s == pytest.approx(1.008e12, rel=0.001)
    assert card.link == "PCIe 4.0 ×16"
    assert card.link_bytes_per_s == pytest.approx(31.5e9, rel=0.01)
    assert card.limited_by == "its power limit"
    assert card.bus_id == ""
    assert library.open == 0


def test_what_a_driver_does_not_know_is_unknown() -> None:
    (card,) = nvidia_devices(_Library(knows_bus=False))
    assert card.bandwidth_bytes_per_s is None
    assert nvidia_devices(_Library(broken=True)) == ()


def test_without_the_binding_there_are_no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str) -> None:
        raise ImportError

    monkeypatch.setattr("app.data.nvidia.importlib.import_module", fail)
    assert nvidia_devices() == ()


# --- who else computes


class _Process:
    def __init__(self, pid: int, name: str, percent: float) -> None:
        self.pid = pid
        self._name = name
        self._percent = percent

    def cpu_percent(self, _interval: float | None = None) -> float:
        return self._percent

    def name(self) -> str:
        return self._name

    def cmdline(self) -> list[str]:
        return [self._name]


@pytest.mark.parametrize(
    ("processes", "words"),
    [
        ([], ""),
        ([_Process(1, "idle", 5.0)], ""),
        ([_Process(1, "compiler", 150.0), _Process(2, "browser", 30.0)], "1.8 processor cores"),
        ([_Process(7, "engine", 400.0)], ""),
    ],
)
def test_other_programs_are_named(
    processes: list[_Process], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.data.probe.psutil.process_iter", lambda: processes)
    sentence = probe.busy_sentence([7], interval_s=0.01)
    assert words in sentence
    assert bool(sentence) == bool(words)
    if words:
        assert "compiler the most" in sentence


_SPIN = "print(flush=True)\nwhile True: pass"


def _spinning(argv: list[str], cwd: Path | None = None) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_own_work_is_no_other_program() -> None:
    """A child of this program that computes is told as Plimsoll's, with ``own_pids`` not at all."""
    child = _spinning([sys.executable, "-c", _SPIN])
    try:
        told = probe.busy_sentence(interval_s=0.3)
        measured = probe.busy_sentence([child.pid], interval_s=0.3)
    finally:
        child.kill()
        child.communicate()
    assert "Plimsoll itself uses " in told
    assert "Plimsoll itself" not in measured


def test_children_of_what_is_measured_are_not_told() -> None:
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_SPIN!r}])"
    child = _spinning([sys.executable, "-c", start])
    below = psutil.Process(child.pid).children()
    try:
        assert len(below) == 1
        assert "Plimsoll itself" not in probe.busy_sentence([child.pid], interval_s=0.3)
    finally:
        for process in below:
            process.kill()
        child.communicate()


def test_another_plimsoll_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()  # before the real one
    (tmp_path / "app" / "__main__.py").write_text(_SPIN)
    child = _spinning([sys.executable, "-m", "app"], tmp_path)
    monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [])  # as if started elsewhere
    only = psutil.Process(child.pid)
    monkeypatch.setattr("app.data.probe.psutil.process_iter", lambda: [only])
    try:
        told = probe.busy_sentence(interval_s=0.3)
    finally:
        child.kill()
        child.communicate()
    assert told.startswith("Other programs use ")
    assert "another Plimsoll the most" in told


@pytest.mark.parametrize(
    ("info", "features"),
    [
        ("CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 1 | REPACK = 1 | ", {"avx2", "avx512"}),
        ("CPU : AVX2 = 1 | AVX512 = 0 | REPACK = 1 |", {"avx2"}),
        ("CPU : AVX2 = 1 | ", set()),  # a build without repacking
        (
            "CPU : NEON = 1 | DOTPROD = 1 | MATMUL_INT8 = 1 | REPACK = 1",
            {"neon_dotprod", "neon_i8mm"},
        ),
        ("AVX2 = 1 | AMX_INT8 = 1 | REPACK = 1", {"avx2", "amx"}),
        ("", set()),
    ],
)
def test_features_for_which_a_build_repacks(info: str, features: set[str]) -> None:
    assert cpu_features(info) == features


# --- the processor's cache, and devices of other computers


def test_a_bandwidth_that_the_cache_makes_says_so() -> None:
    cached = msgspec.structs.replace(record(60e9), large_bytes_per_s=20e9)
    host = machine(CPU, bandwidth=cached).cpu
    assert host.bandwidth_bytes_per_s == 60e9
    assert host.bandwidth_note == "partly from the processor's cache: main memory 20.0 GB/s"
    plain = msgspec.structs.replace(record(22e9), large_bytes_per_s=20e9)
    assert machine(CPU, bandwidth=plain).cpu.bandwidth_note == ""
    assert machine(CPU, bandwidth=record()).cpu.bandwidth_note == ""


def test_of_a_device_elsewhere_only_what_was_measured_is_known() -> None:
    far = Reported("RPC0", "10.0.0.5:50052", "gpu", "RPC", 24 * GIB, 20 * GIB, 0.0002, 110e6, 900e9)
    (device,) = machine(CPU, far).accelerators
    assert device.kind == "rpc"
    assert (device.bandwidth_bytes_per_s, device.bandwidth_basis) == (900e9, "measured")
    assert (device.link_bytes_per_s, device.link_basis) == (110e6, "measured")
    assert device.round_trip_s == 0.0002
    assert device.memory_pool == "RPC0"


def test_shared_memory_is_used_beside_a_device_elsewhere() -> None:
    far = Reported("RPC0", "10.0.0.5:50052", "gpu", "RPC", None, None)
    shared = [
        Reported(name, "Some iGPU", "igpu", backend, 16 * GIB, 10 * GIB)
        for name, backend in (("Vulkan0", "Vulkan"), ("Vulkan1", "Vulkan"), ("SYCL0", "SYCL"))
    ]
    names = [item.name for item in machine(CPU, far, *shared).accelerators]
    assert names == ["RPC0", "Vulkan0", "Vulkan1"]
