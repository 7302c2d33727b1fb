"""The plan beside the engine's own log, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from inspector.records import BufferRecord, LoadRecord

__all__ = [
    "PlanError",
    "device_of_buffer",
    "is_mapped",
    "is_rounding",
    "plan_errors",
    "tensors_of_range",
    "worst_error",
]

_SUFFIX: Final = re.compile(r"(_Mapped|_Private|_Split|_REPACK|\[.*\])+$")
_HOST: Final = frozenset({"CPU", "AMX", "BLAS", "KleidiAI"})
_LOG_ROUNDING_BYTES: Final = (1 << 20) // 200 + 1
_TELLING_BYTES: Final = 1 << 20  # smaller rows don't decide how good a plan was


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanError:
    """Planned and real bytes of one thing on one device."""

    device: str
    what: str
    planned_bytes: int
    engine_bytes: int

    @property
    def error(self) -> float | None:
        """Return the share by which the plan was too high, None if there is nothing.

        The log prints sizes to 0.01 MiB, so a difference within that is none.
        """
        if not self.engine_bytes:
            return None
        off = self.planned_bytes - self.engine_bytes
        return 0.0 if is_rounding(off) else off / self.engine_bytes


def is_rounding(off_bytes: int, buffers: int = 1) -> bool:
    """Tell whether a difference to a sum of figures of the engine's log is their rounding's."""
    return abs(off_bytes) <= buffers * _LOG_ROUNDING_BYTES


def plan_errors(load: LoadRecord) -> tuple[PlanError, ...]:
    """Return the plan beside the engine's numbers, row by row; empty without a plan."""
    plan = load.plan
    if plan is None or not load.buffers:
        return ()
    names = [device.name for device in plan.devices]
    sizes: dict[tuple[str, str], int] = {}
    mapped: dict[str, int] = {}
    for item in load.buffers:
        name = device_of_buffer(item.device, names)
        if is_mapped(item):
            mapped[name] = mapped.get(name, 0) + item.size_bytes
            continue
        sizes[name, item.what] = sizes.get((name, item.what), 0) + item.size_bytes
    for device in plan.devices:
        key = (device.name, "weights")
        in_file = tensors_of_range(
            mapped.get(device.name, 0), device.weights_bytes, sizes.get(key, 0)
        )
        if in_file:
            sizes[key] = sizes.get(key, 0) + in_file
    rows = []
    for device in plan.devices:
        planned = {
            "weights": device.weights_bytes,
            "kv": device.kv_bytes,
            "state": device.state_bytes,
            "compute": device.compute_bytes,
            "output": device.output_bytes,
        }
        for what, size in planned.items():
            engine = sizes.get((device.name, what), 0)
            if size or engine:
                rows.append(
                    PlanError(
                        device=device.name, what=what, planned_bytes=size, engine_bytes=engine
                    )
                )
    return tuple(rows)


def worst_error(rows: Iterable[PlanError]) -> PlanError | None:
    """Return the row that is furthest off among those that matter, None if there is none."""
    telling = [
        row
        for row in rows
        if row.error is not None and max(row.planned_bytes, row.engine_bytes) >= _TELLING_BYTES
    ]
    return max(telling, key=lambda row: abs(row.error or 0.0), default=None)


def is_mapped(item: BufferRecord) -> bool:
    """Tell whether a buffer is a mapped range of the model's file."""
    return item.what == "weights" and "_Mapped" in item.device


def tensors_of_range(mapped_bytes: int, planned_bytes: int, own_bytes: int) -> int:
    """Return the bytes of tensors in a mapped range; it may span tensors that lie elsewhere.

    Args:
        mapped_bytes: of the range.
        planned_bytes: of the device's tensors, 0 if there is no plan.
        own_bytes: of those in buffers of their own.
    """
    if not planned_bytes:
        return mapped_bytes
    return min(mapped_bytes, max(planned_bytes - own_bytes, 0))


def device_of_buffer(buffer: str, devices: list[str]) -> str:
    """Return the device that a buffer of the engine's log lies on; ``devices`` has the CPU first.

    Host memory has many names (CPU_Mapped, CPU_REPACK, AMX, CUDA_Host); an accelerator's buffers
    are named after it (CUDA0, CUDA0_Split, MTL0_Mapped, RPC0[host:port]).
    """
    host = devices[0] if devices else "CPU"
    base = _SUFFIX.sub("", buffer)
    if base in devices:
        return base
    if base in _HOST or buffer.endswith("_Host"):
        return host
    near = [name for name in devices[1:] if base.startswith(name) or name.startswith(base)]
    return max(near, key=len, default=host)
