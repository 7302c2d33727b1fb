"""What a planner's page holds: a model, settings and machines, as data that can be kept.

Figures of machines of the hardware table stay in the table: a row keeps the name, so that a
corrected table corrects it. ``own`` gives a row a model and settings of its own; rows without
share the page's.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

import msgspec

from gguf_tools.hardware import Hardware, HardwareTable
from gguf_tools.machine import Device, Machine
from gguf_tools.typed import TypedModel
from gguf_tools.units import format_bytes

__all__ = [
    "HOST_BANDWIDTH",
    "HOST_BYTES",
    "MachineKind",
    "MachineSpec",
    "ModelSpec",
    "PlannerSettings",
    "PlannerSetup",
    "RowSetup",
    "Scenario",
    "decode_setup",
    "encode_setup",
    "machine_of",
    "usable_bytes",
]

log = logging.getLogger(__name__)

MachineKind: TypeAlias = Literal["gpu", "unified", "cpu"]

HOST_BYTES: Final = 64 << 30
HOST_BANDWIDTH: Final = 89.6e9  # two channels of DDR5-5600
_HOST_FLOPS: Final = 8 * 3.0e9 * 32  # eight cores at 3 GHz, 32 operations a cycle
_DRIVER_BYTES: Final = 450 << 20  # what a graphics driver keeps, as seen with CUDA 12
_LARGE_APPLE: Final = 36 << 30
_MOST_ROWS: Final = 24


class ModelSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file by its path, or a typed model; both empty means that none is chosen yet."""

    path: str = ""
    typed: TypedModel | None = None


class MachineSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A machine: this computer, a row of the table by name, or typed figures.

    ``memory_bytes`` is of one card (0: the largest sold). ``host_…`` describe the main memory
    beside a card. Rates are per second; None is unknown.
    """

    source: Literal["this", "table", "typed"] = "this"
    name: str = ""
    kind: MachineKind = "gpu"
    cards: int = 1
    memory_bytes: int = 0
    bandwidth_bytes_per_s: float | None = None
    flops_per_s: float | None = None
    link_bytes_per_s: float | None = None
    host_bytes: int = HOST_BYTES
    host_bandwidth_bytes_per_s: float = HOST_BANDWIDTH


class PlannerSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the model would be loaded. ``context`` is of one conversation, in tokens.

    ``gpu_layers`` -1 means all; ``batch`` is the tokens of a prompt that are worked on at once.
    """

    context: int = 32_768
    cache_type: str = "f16"
    conversations: int = 1
    batch: int = 512
    gpu_layers: int = -1
    flash_attention: Literal["on", "off"] = "on"
    experts_on_cpu: bool = False


class Scenario(msgspec.Struct, frozen=True):
    """A model and how it would be loaded."""

    model: ModelSpec = ModelSpec()
    settings: PlannerSettings = PlannerSettings()


class RowSetup(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row of the page; ``key`` is unique on it."""

    key: str
    machine: MachineSpec
    own: Scenario | None = None


class PlannerSetup(msgspec.Struct, frozen=True):
    """The whole page. ``chosen`` is the key of the row that drives the charts."""

    common: Scenario = Scenario()
    rows: tuple[RowSetup, ...] = ()
    chosen: str = ""

    def row(self, key: str) -> RowSetup | None:
        """Return the row of a key."""
        return next((row for row in self.rows if row.key == key), None)

    @property
    def chosen_row(self) -> RowSetup | None:
        """Return the row that drives the charts: the chosen one, else the first."""
        return self.row(self.chosen) or (self.rows[0] if self.rows else None)

    def scenario(self, row: RowSetup | None) -> Scenario:
        """Return what a row is planned with."""
        return self.common if row is None or row.own is None else row.own

    def new_key(self) -> str:
        """Return a key that no row has."""
        used = {row.key for row in self.rows}
        return next(key for key in (f"r{n}" for n in range(len(used) + 1)) if key not in used)

    def with_scenario(self, scenario: Scenario) -> PlannerSetup:
        """Return the page with another scenario where it is edited: the chosen row's, or all's."""
        row = self.chosen_row
        if row is None or row.own is None:
            return msgspec.structs.replace(self, common=scenario)
        return self.with_row(msgspec.structs.replace(row, own=scenario))

    def with_row(self, changed: RowSetup) -> PlannerSetup:
        """Return the page with a row in place of the one of its key."""
        rows = tuple(changed if row.key == changed.key else row for row in self.rows)
        return msgspec.structs.replace(self, rows=rows)

    def with_new_row(self, machine: MachineSpec, own: Scenario | None = None) -> PlannerSetup:
        """Return the page with another row at the end, which is the chosen one."""
        row = RowSetup(self.new_key(), machine, own)
        return msgspec.structs.replace(self, rows=(*self.rows, row), chosen=row.key)

    def without_row(self, key: str) -> PlannerSetup:
        """Return the page without a row."""
        return msgspec.structs.replace(self, rows=tuple(row for row in self.rows if row.key != key))

    def with_row_moved(self, key: str, by: int) -> PlannerSetup:
        """Return the page with a row moved by places, negative is up; as it is past an end."""
        rows = list(self.rows)
        at = next((index for index, row in enumerate(rows) if row.key == key), None)
        if at is None or not 0 <= at + by < len(rows):
            return self
        rows.insert(at + by, rows.pop(at))
        return msgspec.structs.replace(self, rows=tuple(rows))


def encode_setup(setup: PlannerSetup) -> bytes:
    """Return a setup as JSON."""
    return msgspec.json.encode(setup)


def decode_setup(data: bytes | None) -> PlannerSetup | None:
    """Return a kept setup, None if there is none that can be used."""
    if not data:
        return None
    try:
        setup = msgspec.json.decode(data, type=PlannerSetup)
    except msgspec.MsgspecError as error:
        log.warning("the planner's rows can't be read: %s", error)
        return None
    keys = [row.key for row in setup.rows]
    if len(keys) > _MOST_ROWS or len(set(keys)) != len(keys):
        return None
    return setup


def usable_bytes(memory_bytes: int, backend: str) -> int:
    """Return what a GPU may use of memory it shares with the processor.

    macOS keeps a third for itself, a quarter from 36 GB on (``recommendedMaxWorkingSetSize`` as
    Metal reports it on machines of each size).
    """
    if backend != "MTL":
        return memory_bytes
    return memory_bytes * 3 // 4 if memory_bytes >= _LARGE_APPLE else memory_bytes * 2 // 3


def machine_of(spec: MachineSpec, table: HardwareTable, this: Machine | None) -> Machine | None:
    """Return the machine of a spec, None for this computer while it is unknown.

    Raises:
        ValueError: the table has no row of that name; the text is one sentence.
    """
    if spec.source == "this":
        return this
    if spec.source == "table":
        row = next((row for row in table.rows if row.name == spec.name), None)
        if row is None:
            raise ValueError(f"The hardware table has no {spec.name!r}: remove this row.")
        return _of_row(spec, row)
    return _typed(spec)


def _label(name: str, cards: int) -> str:
    return name if cards == 1 else f"{cards} × {name}"


def _host(spec: MachineSpec) -> Device:
    return Device(
        name="CPU",
        kind="cpu",
        description="assumed processor",
        backend="CPU",
        total_bytes=spec.host_bytes,
        free_bytes=spec.host_bytes,
        bandwidth_bytes_per_s=spec.host_bandwidth_bytes_per_s,
        flops_per_s=_HOST_FLOPS,
        pool="main memory",
    )


def _of_row(spec: MachineSpec, row: Hardware) -> Machine:
    total = spec.memory_bytes or max(row.memory_bytes, default=spec.host_bytes)
    if row.kind == "cpu":
        device = row.device("CPU", total_bytes=spec.host_bytes, pool="main memory")
        flops = {"flops_per_s": _HOST_FLOPS} if row.flops_per_s is None else {}
        basis: dict[str, Any] = {"flops_basis": "assumed"} if flops else {}
        return Machine(name=row.name, cpu=_replaced(device, **flops, **basis))
    if row.shares_memory:
        return _unified(row.name, total, row.backend, row.device(total_bytes=total, pool=row.name))
    devices = tuple(
        row.device(row.name if spec.cards == 1 else f"{row.name} {index + 1}", total_bytes=total)
        for index in range(spec.cards)
    )
    return Machine(name=_label(row.name, spec.cards), cpu=_host(spec), accelerators=devices)


def _unified(name: str, total_bytes: int, backend: str, device: Device) -> Machine:
    usable = usable_bytes(total_bytes, backend)
    device = _replaced(device, total_bytes=usable, free_bytes=usable)
    beside = Device(
        name="CPU",
        kind="cpu",
        backend="CPU",
        total_bytes=usable,
        free_bytes=usable,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
        bandwidth_basis=device.bandwidth_basis,
        pool=device.memory_pool,
    )
    notes: tuple[str, ...] = ()
    if usable < total_bytes:
        notes = (f"{usable / (1 << 30):.3g} usable of {format_bytes(total_bytes)}",)
    return Machine(name=name, cpu=beside, accelerators=(device,), notes=notes)


def _typed(spec: MachineSpec) -> Machine:
    name = spec.name or "Typed machine"
    if spec.kind == "cpu":
        device = _replaced(
            _host(spec),
            total_bytes=spec.memory_bytes,
            free_bytes=spec.memory_bytes,
            bandwidth_bytes_per_s=spec.bandwidth_bytes_per_s,
            flops_per_s=spec.flops_per_s or _HOST_FLOPS,
        )
        return Machine(name=name, cpu=device)
    devices = tuple(
        Device(
            name=name if spec.cards == 1 else f"{name} {index + 1}",
            kind="igpu" if spec.kind == "unified" else "gpu",
            description=name,
            total_bytes=spec.memory_bytes,
            free_bytes=spec.memory_bytes,
            bandwidth_bytes_per_s=spec.bandwidth_bytes_per_s,
            flops_per_s=spec.flops_per_s,
            link_bytes_per_s=spec.link_bytes_per_s,
            pool=name if spec.kind == "unified" else "",
            overhead_bytes=0 if spec.kind == "unified" else _DRIVER_BYTES,
        )
        for index in range(1 if spec.kind == "unified" else spec.cards)
    )
    if spec.kind == "unified":
        return _unified(name, spec.memory_bytes, "", devices[0])
    return Machine(name=_label(name, spec.cards), cpu=_host(spec), accelerators=devices)


def _replaced(device: Device, **changes: Any) -> Device:
    return replace(device, **changes)
