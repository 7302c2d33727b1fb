"""From the engine's messages to the records that the inspector keeps and draws."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, get_args

import msgspec

from app.engine.protocol import DeviceInfo, Hello, LoadOptions, MemoryNow, ModelInfo
from app.version import version
from inspector.plan_record import PlanRecord, SettingsRecord
from inspector.records import (
    BufferKind,
    BufferRecord,
    DeviceSample,
    Identity,
    LoadRecord,
    MemorySample,
)

__all__ = ["DriverSays", "as_loaded", "fingerprint", "load_record", "memory_sample"]

_HEAD_BYTES: Final = 64 * 1024
_PIECE_BYTES: Final = 4096
_PIECES: Final = 64
_BUFFER_KINDS: Final = frozenset(get_args(BufferKind))


@dataclass(frozen=True, slots=True)
class DriverSays:
    """What a device's driver knows better than the engine; None is unknown."""

    free_bytes: int | None = None
    spilled_bytes: int | None = None
    limited_by: str = ""


@lru_cache(maxsize=64)
def _fingerprint(path: str, size_bytes: int, _modified_ns: int) -> str:
    digest = hashlib.sha256(size_bytes.to_bytes(8, "little"))
    with Path(path).open("rb") as file:
        digest.update(file.read(_HEAD_BYTES))
        for index in range(1, _PIECES + 1):
            file.seek(size_bytes * index // (_PIECES + 1))
            digest.update(file.read(_PIECE_BYTES))
    return digest.hexdigest()[:32]


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Return what tells a model's file from others: its size, its head and 64 pieces of it.

    Empty if the file can't be read. Some milliseconds, whatever its size.
    """
    try:
        found = Path(path).stat()
        return _fingerprint(os.fspath(path), found.st_size, found.st_mtime_ns)
    except OSError:
        return ""


def memory_sample(
    now: MemoryNow | None,
    host: tuple[int, int] | None,
    *,
    at_ms: int,
    devices: Sequence[DeviceInfo] = (),
    drivers: Mapping[str, DriverSays] | None = None,
) -> MemorySample:
    """Return a sample of memory.

    Args:
        now: what the worker answered, None if it was not asked.
        host: total and free main memory by the system: engines report the CPU's badly.
        at_ms: when, since 1970.
        devices: devices of the hello, where ``now`` is None.
        drivers: what their drivers say of devices, by the devices' names.
    """
    seen = devices if now is None else now.devices
    samples = []
    for device in seen:
        total, free = device.total_bytes, device.free_bytes
        if device.kind == "cpu" and host is not None:
            total, free = host
        says = (drivers or {}).get(device.name, DriverSays())
        samples.append(
            DeviceSample(
                name=device.name,
                kind=device.kind,
                total_bytes=total,
                free_bytes=free if says.free_bytes is None else says.free_bytes,
                spilled_bytes=says.spilled_bytes,
                limited_by=says.limited_by,
            )
        )
    return MemorySample(
        at_ms=at_ms,
        devices=tuple(samples),
        private_bytes=None if now is None else now.private_bytes,
        mapped_bytes=None if now is None else now.mapped_bytes,
    )


def as_loaded(options: LoadOptions, model: ModelInfo) -> LoadOptions:
    """Return the options as they came out: the layers that fit, the devices that were there."""
    if model.layers_offloaded < model.layers_asked:
        options = msgspec.structs.replace(options, gpu_layers=model.layers_offloaded)
    if model.devices_used:
        options = msgspec.structs.replace(options, devices=",".join(model.devices_used))
    return options


def load_record(
    model: ModelInfo,
    hello: Hello,
    options: LoadOptions,
    *,
    plan: PlanRecord | None,
    before: MemorySample | None,
    after: MemorySample | None,
    at_ms: int,
) -> LoadRecord:
    """Return the record of a load that was answered with ``model``."""
    return LoadRecord(
        at_ms=at_ms,
        identity=Identity(
            engine=hello.engine,
            cpu=hello.cpu,
            system_info=hello.system_info,
            machine=_machine(hello),
            program=f"plimsoll {version()}",
            model_path=model.path,
            model_name=model.name,
            fingerprint=fingerprint(model.path),
        ),
        settings=SettingsRecord(
            n_ctx=model.n_ctx,
            n_batch=model.n_batch,
            n_ubatch=model.n_ubatch,
            type_k=model.type_k,
            type_v=model.type_v,
            flash_attention=model.flash_attention,
            swa_full=model.swa_full,
            gpu_layers=options.gpu_layers,
            sequences=options.sequences,
            threads=model.threads,
            threads_batch=model.threads_batch,
            mmap=model.mmap,
            compatibility=model.compatibility,
        ),
        plan=plan,
        buffers=tuple(
            BufferRecord(device=item.device, what=item.what, size_bytes=item.size_bytes)  # type: ignore[arg-type]
            for item in model.buffers
            if item.what in _BUFFER_KINDS
        ),
        before=before,
        after=after,
        load_s=model.load_s,
        layers_offloaded=model.layers_offloaded,
        layers_total=model.layers_total,
        gpu_layers_asked=model.layers_asked or options.gpu_layers,
        memory=model.memory,
        swa_window=model.swa_window,
        n_ctx_train=model.n_ctx_train,
        notices=model.notices,
    )


def _machine(hello: Hello) -> str:
    """Return a name for the computer that tells what matters: its devices, not its owner."""
    names = [item.description for item in hello.devices if item.kind != "cpu"]
    system = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}.get(
        sys.platform, sys.platform
    )
    return ", ".join([*names, hello.cpu or platform.machine(), system])
