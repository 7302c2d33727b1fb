"""A machine as the planner sees it: devices with memory, bandwidth and arithmetic.

Pure data. Where a figure comes from stands beside it; unknown is None, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

__all__ = [
    "LOAD_LINE",
    "MEASURED_BUSY",
    "MOST_DEVICES",
    "OF_LARGER",
    "PARTLY_CACHED",
    "Basis",
    "CpuFeature",
    "DecodeFit",
    "Device",
    "DeviceKind",
    "Machine",
    "bandwidth_how",
    "cpu_only",
]

Basis: TypeAlias = Literal["measured", "engine", "read", "table", "planned", "assumed"]
DeviceKind: TypeAlias = Literal["cpu", "gpu", "igpu", "accel", "rpc"]
CpuFeature: TypeAlias = Literal["avx2", "avx512", "amx", "neon_dotprod", "neon_i8mm", "by_name"]
"""What a CPU has kernels for; ``by_name``: only matrices are repacked that a load can name."""

MOST_DEVICES: Final = 14
"""Devices beside the processor that a model can lie on: an assertion ends llama.cpp's process with
more than 16 (GGML_SCHED_MAX_BACKENDS in ggml-backend.cpp), of which the processor is one and a
library for its matrices may be another."""

LOAD_LINE: Final = 0.9
"""Share of a device's memory above which it counts as overloaded."""

MEASURED_BUSY: Final = "measured while busy"
"""A device's ``bandwidth_note`` where other programs slowed the measurement down."""

PARTLY_CACHED: Final = "partly from the processor's cache"
"""Begins a device's ``bandwidth_note`` where a model of this size is read faster than memory."""

OF_LARGER: Final = "for larger models: the processor's cache may read this one faster"
"""A device's ``bandwidth_note`` where nothing of the model's own size was measured."""


def bandwidth_how(basis: str, note: str) -> str:
    """Say how a bandwidth was got, with what is special about it: "measured while busy"."""
    parts = [item for item in (basis, *note.split("; ")) if item]
    if MEASURED_BUSY in parts:
        parts = [MEASURED_BUSY, *(item for item in parts[1:] if item != MEASURED_BUSY)]
    if OF_LARGER in parts:
        parts.remove(OF_LARGER)
        parts[0] = f"{parts[0]} {OF_LARGER}"
    return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One place where weights and caches can lie.

    Bandwidth is what weights are read at (bytes per second), ``flops_per_s`` the dense 16-bit
    rate; ``prefill_flops_per_s`` that of a prompt, which a processor may read with other threads
    than it decodes with (None: the same). ``pool`` names the memory a device draws on: devices of
    unified memory share one. ``overhead_bytes`` are taken by the driver's context before anything
    is loaded.
    ``link_bytes_per_s`` is the way to the device: its bus, or to one of another computer ("rpc")
    the network, whose round trip is ``round_trip_s`` (seconds). ``bandwidth_note`` says what is
    special about the bandwidth.
    """

    name: str
    kind: DeviceKind
    description: str = ""
    backend: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    bandwidth_basis: Basis = "assumed"
    bandwidth_note: str = ""
    flops_per_s: float | None = None
    prefill_flops_per_s: float | None = None
    flops_basis: Basis = "assumed"
    link_bytes_per_s: float | None = None
    link_basis: Basis = "assumed"
    round_trip_s: float | None = None
    pool: str = ""
    overhead_bytes: int = 0
    features: frozenset[CpuFeature] = frozenset()

    @property
    def prompt_flops_per_s(self) -> float | None:
        """Return the rate of arithmetic over a prompt, None if unknown."""
        return self.prefill_flops_per_s or self.flops_per_s

    @property
    def alignment(self) -> int:
        """Return the alignment of tensors in the device's buffers, in bytes."""
        return 32 if self.kind in {"cpu", "rpc"} else 128

    @property
    def pads_rows(self) -> bool:
        """Tell whether quantised rows are padded (ggml/src/ggml-cuda: MATRIX_ROW_PADDING)."""
        return self.backend.casefold() in {"cuda", "rocm", "hip", "musa"}

    @property
    def memory_pool(self) -> str:
        """Return the name of the memory the device draws on."""
        return self.pool or self.name

    @property
    def used_by_others_bytes(self) -> int | None:
        """Return what other programs hold of the device, None if the probe failed."""
        if self.total_bytes is None or self.free_bytes is None:
            return None
        return max(self.total_bytes - self.free_bytes, 0)

    @property
    def measured_busy(self) -> bool:
        """Tell whether the bandwidth may be more than was measured: other programs ran then."""
        return MEASURED_BUSY in self.bandwidth_note

    def with_free(self, free_bytes: int | None) -> Device:
        """Return the device with another amount of free memory."""
        return replace(self, free_bytes=free_bytes)

    def with_bandwidth(self, bytes_per_s: float) -> Device:
        """Return the device with a bandwidth that somebody gave."""
        return replace(self, bandwidth_bytes_per_s=bytes_per_s, bandwidth_basis="assumed")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeFit:
    """What decoding really took on this machine, over what `gguf_tools.expected` makes likely.

    ``weights`` scales the seconds of a step without the cache, ``cache`` those of the cache;
    ``spread`` is the half width of the prediction. ``key`` names the settings that were measured
    (`gguf_tools.expected.decode_key`), ``own`` tells that it was this very model with them;
    ``other_settings`` that it was this model with others. Another one's measurement says less.
    ``count`` rates of ``runs`` replies or benchmarks were measured, at
    depths up to ``deepest`` tokens. ``busy``: other programs ran meanwhile, so it may be faster.
    """

    weights: float
    cache: float
    spread: float
    key: str
    own: bool = True
    other_settings: bool = False
    count: int = 1
    deepest: int = 0
    runs: int = 1
    busy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A CPU and the devices that layers can be offloaded to, in the engine's order.

    ``fit`` is what was measured here of decoding, None before any measurement.
    """

    name: str
    cpu: Device
    accelerators: tuple[Device, ...] = ()
    fit: DecodeFit | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def devices(self) -> tuple[Device, ...]:
        """Return all devices, the CPU first."""
        return (self.cpu, *self.accelerators)

    def with_bandwidth(self, bytes_per_s: float) -> Machine:
        """Return the machine with another bandwidth of what works first: a GPU, else the CPU."""
        if not self.accelerators:
            return replace(self, cpu=self.cpu.with_bandwidth(bytes_per_s))
        first, *rest = self.accelerators
        return replace(self, accelerators=(first.with_bandwidth(bytes_per_s), *rest))


def cpu_only(
    total_bytes: int | None = None,
    free_bytes: int | None = None,
    bandwidth_bytes_per_s: float | None = None,
    flops_per_s: float | None = None,
) -> Machine:
    """Return a machine with nothing but a CPU."""
    cpu = Device(
        name="CPU",
        kind="cpu",
        backend="CPU",
        total_bytes=total_bytes,
        free_bytes=free_bytes,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        flops_per_s=flops_per_s,
    )
    return Machine(name="CPU", cpu=cpu)
