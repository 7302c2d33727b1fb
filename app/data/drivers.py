"""What the drivers of accelerators say while a model runs: memory, spilling, limits, other users.

NVIDIA's library through its Python binding (the extra ``nvidia``), AMD's files under /sys and
/proc, Windows' own counters. None of them is needed: what can't be asked is unknown.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from app.data.nvidia import Nvidia, nvidia_card
from app.data.windows_gpu import shared_bytes

__all__ = ["CardSample", "Drivers"]

log = logging.getLogger(__name__)

_DRM: Final = Path("/sys/class/drm")
_PROC: Final = Path("/proc")
_VENDORS: Final = {"0x10de": "NVIDIA", "0x1002": "AMD"}
_LEAST_CARD_BYTES: Final = 2 << 30  # graphics inside a processor have less memory of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSample:
    """A card at one moment; None is unknown.

    ``spilled_bytes`` of the engine's own memory lie in main memory in place of the card's,
    ``limited_by`` holds its clock down, ``others`` is a sentence about who else computes on it.
    """

    vendor: str
    name: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None
    spilled_bytes: int | None = None
    limited_by: str = ""
    others: str = ""


class Drivers:
    """Asks them; one thread at a time. Some milliseconds a call, the first one more."""

    def __init__(
        self, nvml: Any = None, *, drm: Path = _DRM, proc: Path = _PROC, platform: str = ""
    ) -> None:
        self._drm = drm
        self._proc = proc
        self._platform = platform or sys.platform
        self._nvml = _opened(nvml)
        self._gtt_before: dict[str, int] = {}

    def close(self) -> None:
        """Let go of the libraries."""
        nvml, self._nvml = self._nvml, None
        if nvml is not None:
            nvml.nvmlShutdown()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of cards that this computer has, whether the engine uses them or not."""
        told = [card.name for card, _ in self._handles()]
        named = list(told)
        for folder in self._cards():
            vendor = _VENDORS[_text(folder / "vendor")]
            if vendor == "NVIDIA" and told:
                continue
            total = _number(folder / "mem_info_vram_total")
            if vendor == "AMD" and (total or 0) < _LEAST_CARD_BYTES:
                continue
            named.append(_text(folder / "product_name") or f"a card of {vendor}")
        return tuple(named)

    def sample(self, pid: int | None) -> tuple[CardSample, ...]:
        """Return the cards as they are now; ``pid`` is the engine's process."""
        return (*self._nvidia(pid), *self._amd(pid))

    # --- NVIDIA

    def _handles(self) -> Iterator[tuple[Nvidia, Any]]:
        nvml = self._nvml
        if nvml is None:
            return
        try:
            for index in range(nvml.nvmlDeviceGetCount()):
                yield nvidia_card(nvml, index), nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as error:
            log.warning("the NVIDIA driver does not answer: %s", error)

    def _nvidia(self, pid: int | None) -> Iterator[CardSample]:
        windows = shared_bytes(pid) if self._platform == "win32" and pid is not None else None
        for card, handle in self._handles():
            yield CardSample(
                vendor="NVIDIA",
                name=card.name,
                total_bytes=card.total_bytes,
                free_bytes=card.free_bytes,
                # Windows counts by process, not by card: with several the first one is told.
                spilled_bytes=windows,
                limited_by=card.limited_by,
                others=self._others(handle, pid),
            )
            windows = None

    def _others(self, handle: Any, pid: int | None) -> str:
        nvml = self._nvml
        try:
            found = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
            used = nvml.nvmlDeviceGetUtilizationRates(handle).gpu
        except (nvml.NVMLError, AttributeError):
            return ""
        names = [name for item in found if item.pid != pid and (name := _process_name(item.pid))]
        if not names or not used:
            return ""
        return f"{', '.join(dict.fromkeys(names))} also works on this card, busy at {used}%."

    # --- AMD

    def _cards(self) -> Iterator[Path]:
        try:
            folders = sorted(self._drm.glob("card[0-9]*/device"))
        except OSError:
            return
        for folder in folders:
            if "-" not in folder.parent.name and _text(folder / "vendor") in _VENDORS:
                yield folder

    def _amd(self, pid: int | None) -> Iterator[CardSample]:
        own = {} if pid is None else own_gtt_bytes(pid, self._proc)
        for folder in self._cards():
            total = _number(folder / "mem_info_vram_total")
            used = _number(folder / "mem_info_vram_used")
            if total is None or used is None:
                continue
            bus = folder.resolve().name
            yield CardSample(
                vendor="AMD",
                name=_text(folder / "product_name"),
                total_bytes=total,
                free_bytes=max(total - used, 0),
                spilled_bytes=own.get(bus, self._gtt_growth(bus, folder)),
            )

    def _gtt_growth(self, bus: str, folder: Path) -> int | None:
        """Return what all programs took of main memory for the card since it was first asked."""
        used = _number(folder / "mem_info_gtt_used")
        if used is None:
            return None
        return max(used - self._gtt_before.setdefault(bus, used), 0)


def own_gtt_bytes(pid: int, proc: Path = _PROC) -> dict[str, int]:
    """Return main memory that a process holds through cards' drivers, by the cards' bus ids.

    As the kernel tells it (Documentation/gpu/drm-usage-stats.rst): a file of ``fdinfo`` for each
    open descriptor, those of one client with the same number.
    """
    seen: dict[tuple[str, str], int] = {}
    try:
        files = list((proc / str(pid) / "fdinfo").iterdir())
    except OSError:
        return {}
    for file in files:
        facts = dict(_facts(file))
        bus, client = facts.get("drm-pdev"), facts.get("drm-client-id")
        held = facts.get("drm-resident-gtt") or facts.get("drm-memory-gtt")
        if bus is None or client is None or held is None:
            continue
        value, _, unit = held.partition(" ")
        if value.isdigit():
            factor = {"KiB": 1 << 10, "MiB": 1 << 20, "": 1}.get(unit, 1)
            seen[bus, client] = int(value) * factor
    totals: dict[str, int] = {}
    for (bus, _), size in seen.items():
        totals[bus] = totals.get(bus, 0) + size
    return totals


def _facts(file: Path) -> Iterator[tuple[str, str]]:
    for line in _text(file).splitlines():
        key, colon, value = line.partition(":")
        if colon:
            yield key.strip(), value.strip()


def _opened(nvml: Any) -> Any:
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        log.info("no NVIDIA driver: %s", error)
        return None
    return nvml


def _process_name(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None
