"""Published figures of devices, found by the names that engines, drivers and systems report.

The table itself is data and is handed in as text. A name counts as a row's only where it says
the same variant: a laptop's chip is not the card of that name, a "Ti" not the plain one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from gguf_tools.machine import MOST_DEVICES, Device, DeviceKind, Machine

__all__ = ["Hardware", "HardwareTable", "parse_hardware"]

_GIB: Final = 1 << 30
_VARIANTS: Final = (
    "ti|super|laptop|mobile|max|xt|xtx|gre|pro|ultra|ada|sxm|nvl|pcie|d|m|generation|embedded"
)
_MARKS: Final = re.compile(r"\((?:r|tm|c)\)|[®™©]")
_COUNT: Final = re.compile(r"^\s*(\d{1,9})\s*[x×*]\s*(.+)$", re.IGNORECASE)
_BRANDS: Final = ("", "rtx ", "gtx ", "rx ", "arc ", "apple ")
_MEMORY_SLACK: Final = 0.15
# What a driver's context and the allocator keep for themselves, by backend: seen with CUDA 12.
_OVERHEAD: Final = {"CUDA": 450 << 20, "ROCm": 450 << 20, "SYCL": 300 << 20}


def _plain(name: str) -> str:
    """Return a name in small letters and figures, words apart by single blanks."""
    return re.sub(r"[^a-z0-9]+", " ", _MARKS.sub(" ", name.casefold())).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A row of the table. ``flops_per_s`` and ``link_bytes_per_s`` are None where unpublished.

    ``checked`` names whose published figures the row was compared with, "" for none.
    """

    name: str
    kind: DeviceKind
    backend: str
    memory_bytes: tuple[int, ...]
    bandwidth_bytes_per_s: float
    flops_per_s: float | None
    link_bytes_per_s: float | None
    channels: int | None
    source: str
    source_url: str
    note: str
    checked: str
    pattern: re.Pattern[str]

    @property
    def shares_memory(self) -> bool:
        """Tell whether the CPU uses the same memory."""
        return self.kind == "igpu"

    def device(
        self,
        name: str | None = None,
        *,
        total_bytes: int | None = None,
        free_bytes: int | None = None,
        pool: str = "",
    ) -> Device:
        """Return a device with these figures; without memory given, the largest that was sold."""
        total = total_bytes or max(self.memory_bytes, default=None)
        return Device(
            name=name or self.name,
            kind=self.kind,
            description=self.name,
            backend=self.backend,
            total_bytes=total,
            free_bytes=total if free_bytes is None else free_bytes,
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s,
            bandwidth_basis="table",
            flops_per_s=self.flops_per_s,
            flops_basis="table",
            link_bytes_per_s=self.link_bytes_per_s,
            pool=pool,
            overhead_bytes=_OVERHEAD.get(self.backend, 0),
        )


@dataclass(frozen=True, slots=True)
class HardwareTable:
    """All rows."""

    rows: tuple[Hardware, ...]

    def find(
        self, name: str, memory_bytes: int | None = None, *, cpu: bool | None = None
    ) -> Hardware | None:
        """Return the row that a reported name means, None if none surely does.

        Args:
            name: as llama.cpp, NVML or the operating system reports it.
            memory_bytes: its memory, to tell variants of one name apart.
            cpu: look among processors only (True), among other devices only (False).
        """
        plain = _plain(name)
        found: list[tuple[int, float, Hardware]] = []
        for row in self.rows:
            if cpu is not None and (row.kind == "cpu") != cpu:
                continue
            match = row.pattern.search(plain)
            if match is None:
                continue
            found.append((-len(match[0]), _mismatch(row, memory_bytes, plain), row))
        if not found:
            return None
        _, mismatch, best = min(found, key=lambda item: item[:2])
        if memory_bytes is not None and best.kind == "gpu" and mismatch > _MEMORY_SLACK:
            return None  # another variant of that name
        return best

    def machine(self, text: str, cpu: Device) -> Machine | None:
        """Return a machine with the hardware named, None if there is no such row.

        Args:
            text: a device's name, with a count in front for several ("2x RTX 3090").
            cpu: the processor that accelerators are put beside.

        Raises:
            ValueError: more devices are asked for than llama.cpp takes.
        """
        counted = _COUNT.match(text)
        count, name = (int(counted[1]), counted[2]) if counted else (1, text)
        if count > MOST_DEVICES:
            raise ValueError(
                f"llama.cpp takes at most {MOST_DEVICES} devices, not {count:,}; "
                f"name fewer, such as '{MOST_DEVICES}x {name.strip()}'."
            )
        row = next(filter(None, (self.find(brand + name) for brand in _BRANDS)), None)
        if row is None or count < 1:
            return None
        if row.kind == "cpu":
            bare = row.device("CPU", total_bytes=cpu.total_bytes, free_bytes=cpu.free_bytes)
            return Machine(name=row.name, cpu=bare)
        label = row.name if count == 1 else f"{count} x {row.name}"
        if row.shares_memory:
            total = _asked_memory(_plain(name)) or max(row.memory_bytes)
            device = row.device(total_bytes=total, pool=row.name)
            beside = Device(
                name="CPU",
                kind="cpu",
                backend="CPU",
                total_bytes=total,
                free_bytes=total,
                bandwidth_bytes_per_s=row.bandwidth_bytes_per_s,
                bandwidth_basis="table",
                pool=row.name,
            )
            return Machine(name=label, cpu=beside, accelerators=(device,))
        asked = _asked_memory(_plain(name))
        size = asked if asked in row.memory_bytes else None
        devices = tuple(
            row.device(row.name if count == 1 else f"{row.name} {index}", total_bytes=size)
            for index in range(count)
        )
        return Machine(name=label, cpu=cpu, accelerators=devices)


def _asked_memory(plain: str) -> int | None:
    found = re.search(r"\b(\d{1,3}) ?gi?b\b", plain)
    return int(found[1]) * _GIB if found else None


def _mismatch(row: Hardware, memory_bytes: int | None, plain: str) -> float:
    wanted = memory_bytes or _asked_memory(plain)
    if wanted is None or not row.memory_bytes:
        return 0.0
    return min(abs(wanted - size) / size for size in row.memory_bytes)


@lru_cache(maxsize=4)
def parse_hardware(text: str) -> HardwareTable:
    """Return the table in a text (JSON: ``sources`` and ``rows``).

    Raises:
        ValueError: the text is no such table.
    """
    try:
        data = json.loads(text)
        sources = data["sources"]
        return HardwareTable(tuple(_row(item, sources) for item in data["rows"]))
    except (KeyError, TypeError, re.error) as error:
        raise ValueError(f"The hardware table can't be read: {error!r}.") from error


def _row(item: dict[str, Any], sources: dict[str, dict[str, str]]) -> Hardware:
    source = sources[item["source"]]
    rate, link = item.get("tflops_16"), item.get("link_gb_s")
    return Hardware(
        name=item["name"],
        kind=item["kind"],
        backend=item.get("backend", "CPU"),
        memory_bytes=tuple(size * _GIB for size in item.get("memory_gib", ())),
        bandwidth_bytes_per_s=item["bandwidth_gb_s"] * 1e9,
        flops_per_s=None if rate is None else rate * 1e12,
        link_bytes_per_s=None if link is None else link * 1e9,
        channels=item.get("channels"),
        source=source["title"],
        source_url=source["url"],
        note=item.get("note", ""),
        checked=item.get("checked", ""),
        pattern=re.compile(rf"\b(?:{item['match']})\b(?! (?:{_VARIANTS})\b)"),
    )
