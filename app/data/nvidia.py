"""NVIDIA's cards as their driver tells them, through its library's Python binding (``pynvml``)."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Nvidia", "nvidia_card", "nvidia_devices"]

log = logging.getLogger(__name__)

_PCIE_BYTES_PER_S: Final = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}
# nvmlClocksEventReason…: what holds a clock down against one's will.
_LIMITS: Final = ((0x4, "its power limit"), (0x8, "a hardware slowdown"), (0x20, "heat"),
                  (0x40, "heat"), (0x80, "a power brake"))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvidia:
    """A card as its driver reports it. ``bandwidth_bytes_per_s`` follows from clock and bus."""

    name: str
    bus_id: str
    total_bytes: int
    free_bytes: int
    bandwidth_bytes_per_s: float | None = None
    link_bytes_per_s: float | None = None
    link: str = ""
    limited_by: str = ""


def nvidia_devices(library: Any = None) -> tuple[Nvidia, ...]:
    """Return the NVIDIA cards of this computer, none without a driver or its Python binding."""
    if library is None:
        try:
            library = importlib.import_module("pynvml")
        except ImportError:
            return ()
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        log.info("no NVIDIA driver: %s", error)
        return ()
    try:
        count = library.nvmlDeviceGetCount()
        return tuple(nvidia_card(library, index) for index in range(count))
    except library.NVMLError as error:
        log.warning("the NVIDIA driver does not answer: %s", error)
        return ()
    finally:
        library.nvmlShutdown()


def nvidia_card(library: Any, index: int) -> Nvidia:
    """Return a card as NVIDIA's library, which is open, tells it.

    Raises:
        library.NVMLError: it tells nothing of this card.
    """
    handle = library.nvmlDeviceGetHandleByIndex(index)
    memory = library.nvmlDeviceGetMemoryInfo(handle)

    def ask(function: str, *arguments: Any) -> Any:
        try:
            return getattr(library, function)(handle, *arguments)
        except (library.NVMLError, AttributeError):
            return None

    clock_mhz = ask("nvmlDeviceGetMaxClockInfo", getattr(library, "NVML_CLOCK_MEM", 2))
    bus_bits = ask("nvmlDeviceGetMemoryBusWidth")
    generation = ask("nvmlDeviceGetMaxPcieLinkGeneration")
    lanes = ask("nvmlDeviceGetMaxPcieLinkWidth")
    # Named anew in later versions of the binding.
    reasons = ask("nvmlDeviceGetCurrentClocksEventReasons")
    if reasons is None:
        reasons = ask("nvmlDeviceGetCurrentClocksThrottleReasons") or 0
    lane_rate = _PCIE_BYTES_PER_S.get(generation or 0)
    pci = ask("nvmlDeviceGetPciInfo")
    return Nvidia(
        name=_text(library.nvmlDeviceGetName(handle)),
        bus_id="" if pci is None else _text(pci.busId),
        total_bytes=int(memory.total),
        free_bytes=int(memory.free),
        # Two transfers a clock, on a bus of so many bits.
        bandwidth_bytes_per_s=(
            clock_mhz * 1e6 * 2 * bus_bits / 8 if clock_mhz and bus_bits else None
        ),
        link_bytes_per_s=lane_rate * lanes if lane_rate and lanes else None,
        link=f"PCIe {generation}.0 ×{lanes}" if generation and lanes else "",
        limited_by=next((word for bit, word in _LIMITS if reasons & bit), ""),
    )


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
