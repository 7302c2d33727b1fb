"""Drivers of cards that this machine has not: a scripted library, and folders as Linux has them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.data.drivers import Drivers, own_gtt_bytes
from app.data.windows_gpu import shared_bytes
from app.engine.protocol import DeviceInfo
from app.machine import drivers_say

MIB = 1 << 20
GIB = 1 << 30


class _Error(Exception):
    pass


class _Nvml:
    """What is used of ``pynvml``: cards with what they are told to say."""

    NVMLError = _Error
    NVML_CLOCK_MEM = 2

    def __init__(self, *cards: dict[str, Any], broken: bool = False) -> None:
        self.cards = cards
        self.broken = broken
        self.open = 0
        self.fails = False

    def nvmlInit(self) -> None:
        if self.broken:
            raise _Error("no driver")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        if self.fails:
            raise _Error("the card fell off the bus")
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:
        return str(self.cards[handle]["name"])

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=24 * GIB, free=self.cards[handle]["free"])

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int) -> int:
        return int(self.cards[handle].get("reasons", 0))

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        pids = self.cards[handle].get("pids", ())
        return [SimpleNamespace(pid=pid, usedGpuMemory=GIB) for pid in pids]

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=self.cards[handle].get("used", 0))

    def __getattr__(self, name: str) -> Any:
        def unknown(*_arguments: object) -> None:
            raise _Error("not supported")

        return unknown


def _drivers(nvml: Any, folder: Path, **options: Any) -> Drivers:
    return Drivers(nvml, drm=folder / "drm", proc=folder / "proc", **options)


def _gpu(name: str, description: str, backend: str, total: int) -> DeviceInfo:
    return DeviceInfo(
        name=name,
        description=description,
        kind="gpu",
        backend=backend,
        total_bytes=total,
        free_bytes=total,
    )


# --- NVIDIA


@pytest.mark.parametrize(
    ("reasons", "words"),
    [(0, ""), (0x1, ""), (0x4, "its power limit"), (0x8, "a hardware slowdown"), (0x20, "heat"),
     (0x40, "heat"), (0x80, "a power brake"), (0x21, "heat")],
)  # fmt: skip
def test_nvidia_tells_what_holds_a_card_back(tmp_path: Path, reasons: int, words: str) -> None:
    nvml = _Nvml({"name": "RTX 4090", "free": 20 * GIB, "reasons": reasons})
    drivers = _drivers(nvml, tmp_path)
    (card,) = drivers.sample(1)
    assert (card.name, card.total_bytes, card.free_bytes) == ("RTX 4090", 24 * GIB, 20 * GIB)
    assert card.limited_by == words
    assert card.spilled_bytes is None
    assert drivers.names == ("RTX 4090",)
    assert nvml.open == 1
    drivers.close()
    assert nvml.open == 0
    assert drivers.sample(1) == ()


def test_nvidia_tells_who_else_computes(tmp_path: Path) -> None:
    own, other = 999_999_999, os.getpid()
    busy = {"name": "RTX 4090", "free": GIB, "pids": (own, other), "used": 63}
    (card,) = _drivers(_Nvml(busy), tmp_path).sample(own)
    assert card.others.endswith(" also works on this card, busy at 63%.")
    (card,) = _drivers(_Nvml(busy), tmp_path).sample(other)
    assert card.others == ""  # the engine's own, and one that has ended
    (card,) = _drivers(_Nvml(busy | {"used": 0}), tmp_path).sample(own)
    assert card.others == ""


def test_without_library_driver_or_answer_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _drivers(_Nvml(broken=True), tmp_path).sample(1) == ()
    nvml = _Nvml({"name": "RTX 4090", "free": GIB})
    drivers = _drivers(nvml, tmp_path)
    nvml.fails = True
    assert drivers.sample(1) == ()
    assert drivers.names == ()

    def fail(_name: str) -> None:
        raise ImportError

    monkeypatch.setattr("app.data.drivers.importlib.import_module", fail)
    drivers = _drivers(None, tmp_path)
    assert drivers.sample(1) == ()
    drivers.close()


# --- AMD


def _amd(folder: Path, bus: str, card: str = "card0", **files: object) -> Path:
    """Make a card as ``amdgpu`` shows it: the folder of its bus, and a link to it."""
    device = folder / "devices" / bus
    device.mkdir(parents=True)
    for name, value in ({"vendor": "0x1002"} | files).items():
        (device / name).write_text(f"{value}\n")
    link = folder / "drm" / card
    link.mkdir(parents=True)
    (link / "device").symlink_to(device)
    return device


def _client(folder: Path, pid: int, number: int, text: str) -> None:
    place = folder / "proc" / str(pid) / "fdinfo"
    place.mkdir(parents=True, exist_ok=True)
    (place / str(number)).write_text(text)


CARD: dict[str, Any] = {"mem_info_vram_total": 16 * GIB, "mem_info_vram_used": 15 * GIB}


def test_amd_tells_memory_and_what_lies_in_main_memory(tmp_path: Path) -> None:
    device = _amd(tmp_path, "0000:03:00.0", mem_info_gtt_used=300 * MIB, **CARD)
    drivers = _drivers(None, tmp_path)
    (card,) = drivers.sample(7)
    assert card.vendor == "AMD"
    assert (card.total_bytes, card.free_bytes) == (16 * GIB, GIB)
    assert card.spilled_bytes == 0  # what others had before is theirs
    (device / "mem_info_gtt_used").write_text(str(1300 * MIB))
    assert drivers.sample(7)[0].spilled_bytes == 1000 * MIB
    (device / "mem_info_gtt_used").write_text(str(100 * MIB))
    assert drivers.sample(7)[0].spilled_bytes == 0


def test_amd_tells_the_engines_own_share_where_the_kernel_does(tmp_path: Path) -> None:
    _amd(tmp_path, "0000:03:00.0", mem_info_gtt_used=5 * GIB, **CARD)
    entry = "drm-driver:\tamdgpu\ndrm-client-id:\t{0}\ndrm-pdev:\t{1}\n{2}:\t{3} KiB\n"
    _client(tmp_path, 7, 3, entry.format(11, "0000:03:00.0", "drm-memory-gtt", 700 * 1024))
    _client(tmp_path, 7, 4, entry.format(11, "0000:03:00.0", "drm-memory-gtt", 700 * 1024))
    _client(tmp_path, 7, 5, entry.format(12, "0000:03:00.0", "drm-resident-gtt", 50 * 1024))
    _client(tmp_path, 7, 6, entry.format(13, "0000:0a:00.0", "drm-memory-gtt", 9 * 1024))
    _client(tmp_path, 7, 7, "pos:\t0\nflags:\t02\n")
    own = own_gtt_bytes(7, tmp_path / "proc")
    assert own == {"0000:03:00.0": 750 * MIB, "0000:0a:00.0": 9 * MIB}
    assert own_gtt_bytes(8, tmp_path / "proc") == {}
    (card,) = _drivers(None, tmp_path).sample(7)
    assert card.spilled_bytes == 750 * MIB


def test_cards_of_the_computer_are_named(tmp_path: Path) -> None:
    _amd(tmp_path, "0000:03:00.0", "card1", product_name="Radeon RX 7900 XT", **CARD)
    _amd(tmp_path, "0000:0a:00.0", "card2", mem_info_vram_total=512 * MIB)  # in the processor
    _amd(tmp_path, "0000:01:00.0", "card3", vendor="0x10de")
    _amd(tmp_path, "0000:00:02.0", "card4", vendor="0x8086")
    (tmp_path / "drm" / "card1-HDMI-A-1").mkdir()
    assert _drivers(None, tmp_path).names == ("Radeon RX 7900 XT", "a card of NVIDIA")
    nvml = _Nvml({"name": "RTX 4090", "free": GIB})
    assert _drivers(nvml, tmp_path).names == ("RTX 4090", "Radeon RX 7900 XT")
    assert Drivers(None, drm=tmp_path / "none", proc=tmp_path / "none").names == ()


# --- whose they are


def test_answers_go_to_the_devices_of_the_engine(tmp_path: Path) -> None:
    _amd(tmp_path, "0000:03:00.0", mem_info_gtt_used=0, **CARD)
    nvml = _Nvml(
        {"name": "NVIDIA GeForce RTX 4090", "free": 3 * GIB, "reasons": 0x4},
        {"name": "NVIDIA GeForce RTX 4090", "free": 9 * GIB},
    )
    _client(
        tmp_path, 7, 3,
        "drm-client-id: 1\ndrm-pdev: 0000:03:00.0\ndrm-memory-gtt: 600 MiB\n",
    )  # fmt: skip
    cards = _drivers(nvml, tmp_path).sample(7)
    devices = (
        _gpu("RPC0", "10.0.0.5:50052", "RPC", 16 * GIB),
        _gpu("CUDA0", "NVIDIA GeForce RTX 4090", "CUDA", 24 * GIB),
        _gpu("CUDA1", "NVIDIA GeForce RTX 4090", "CUDA", 24 * GIB),
        _gpu("ROCm0", "AMD Radeon Graphics", "ROCm", 16 * GIB),
    )
    says = drivers_say(devices, cards, host_bytes=100 * MIB)
    assert set(says) == {"CUDA0", "CUDA1", "ROCm0"}
    assert says["CUDA0"].limited_by == "its power limit"
    assert (says["CUDA0"].free_bytes, says["CUDA1"].free_bytes) == (3 * GIB, 9 * GIB)
    assert says["ROCm0"].spilled_bytes == 500 * MIB
    assert drivers_say(devices[:1], cards) == {}
    assert drivers_say(devices, ()) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has the counter")
def test_other_systems_have_no_counter_of_windows() -> None:
    assert shared_bytes(os.getpid()) is None
