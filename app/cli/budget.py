"""What ``plan`` and ``verify`` share: their flags, the machine, and the plan itself.

Flags say what a load would say, and what is left out is what the engine would take, so that a
plan is about the load that would happen.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

from app.cli.numbers import MOST_TOKENS, whole
from app.cli.terminal import note
from app.engine.client import EngineClient, EngineError
from app.engine.protocol import DeviceInfo, LoadOptions
from app.engine.threads import cpu_name, performance_cores
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.hardware import HardwareTable, parse_hardware
from gguf_tools.header import HeaderError
from gguf_tools.machine import Device, Machine
from gguf_tools.quants import CACHE_TYPES
from gguf_tools.settings import LoadSettings
from resources.loader import read_text

__all__ = [
    "add_budget_flags",
    "hardware_table",
    "load_options",
    "load_settings",
    "machine_from_devices",
    "named_machine",
    "plannable_facts",
    "this_machine",
]

DEFAULT_CONTEXT: Final = 8192  # as the engine takes it
_FLOPS_PER_CYCLE: Final = 32
_CLOCK_HZ: Final = 3.0e9


def add_budget_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the file and how it would be loaded."""
    parser.add_argument("file", help="a .gguf file; any part of a split model")
    group = parser.add_argument_group("how it would be loaded")
    group.add_argument("--ctx", type=whole(1, MOST_TOKENS), metavar="N", help="context in tokens")
    group.add_argument(
        "--kv-type",
        choices=sorted(CACHE_TYPES),
        default="f16",
        help="type of the KV cache (default: f16)",
    )
    group.add_argument(
        "--gpu-layers",
        type=whole(-1, 9999),
        default=-1,
        metavar="N",
        help="layers on GPUs (default: all)",
    )
    group.add_argument(
        "--ubatch", type=whole(1, MOST_TOKENS), default=512, metavar="N", help="micro-batch"
    )
    group.add_argument(
        "--batch", type=whole(1, MOST_TOKENS), default=512, metavar="N", help="batch"
    )
    group.add_argument(
        "--sequences", type=whole(1, 65_536), default=1, metavar="N", help="chats at once"
    )
    group.add_argument("--flash", choices=("auto", "on", "off"), default="auto")
    group.add_argument(
        "--swa-full",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="keep the whole context in sliding-window layers",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def plannable_facts(path: str) -> ModelFacts | None:
    """Return what a file says, None with a sentence on stderr where nothing can be planned."""
    try:
        facts = read_facts(path)
    except HeaderError as error:
        note(error)
        return None
    if not facts.complete:
        note(facts.warnings[0])
        return None
    if facts.shape is None:
        note(f"This file is a {facts.kind}: there is nothing to plan.")
        return None
    return facts


def context_of(arguments: argparse.Namespace, facts: ModelFacts) -> int:
    """Return the context asked for, or the one that the engine takes by itself."""
    if arguments.ctx is not None:
        return int(arguments.ctx)
    return min(facts.context_length or DEFAULT_CONTEXT, DEFAULT_CONTEXT)


def load_settings(arguments: argparse.Namespace, facts: ModelFacts) -> LoadSettings:
    """Return the settings of a load as the planner takes them."""
    return LoadSettings(
        context=context_of(arguments, facts),
        type_k=arguments.kv_type,
        type_v=arguments.kv_type,
        gpu_layers=arguments.gpu_layers,
        batch=arguments.batch,
        ubatch=arguments.ubatch,
        sequences=arguments.sequences,
        unified=arguments.sequences > 1,
        flash_attention=arguments.flash,
        swa_full=arguments.swa_full,
    )


def load_options(load: LoadSettings) -> LoadOptions:
    """Return the same settings as the engine takes them."""
    return LoadOptions(
        n_ctx=load.context,
        gpu_layers=load.gpu_layers,
        type_k=load.type_k,
        type_v=load.type_v,
        flash_attention=load.flash_attention,
        n_batch=load.batch,
        n_ubatch=load.ubatch,
        swa_full=load.swa_full,
        sequences=load.sequences,
        compatibility=not load.extra_buffers,
    )


def hardware_table() -> HardwareTable:
    """Return the table of published figures."""
    return parse_hardware(read_text("hardware.json"))


def _memory_limit() -> int | None:
    """Return what a container allows this process, None if nothing does."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = Path("/sys/fs/cgroup", name).read_text().strip()
            limit = int(text)
        except (OSError, ValueError):
            continue
        if limit < 1 << 60:
            return limit
    return None


def _cpu(table: HardwareTable, name: str | None = None) -> Device:
    memory = psutil.virtual_memory()
    limit = _memory_limit()
    total = memory.total if limit is None else min(memory.total, limit)
    name = cpu_name() if name is None else name
    row = table.find(name)
    rate = performance_cores() * _CLOCK_HZ * _FLOPS_PER_CYCLE
    return Device(
        name="CPU",
        kind="cpu",
        description=name,
        backend="CPU",
        total_bytes=total,
        free_bytes=min(memory.available, total),
        bandwidth_bytes_per_s=None if row is None else row.bandwidth_bytes_per_s,
        bandwidth_basis="assumed" if row is None else "table",
        flops_per_s=rate,
        flops_basis="assumed",
        pool="main memory",
    )


def machine_from_devices(devices: Sequence[DeviceInfo], table: HardwareTable) -> Machine:
    """Return a machine of the devices that an engine reports, in the order it fills them.

    Follows ``llama_prepare_model_devices`` in src/llama.cpp: devices over RPC first, then GPUs;
    those that share the main memory only where there is no GPU, and then of one backend.
    """
    remote = [item for item in devices if item.backend.startswith("RPC")]
    local = [item for item in devices if item.kind == "gpu" and item not in remote]
    shared = [item for item in devices if item.kind == "igpu"]
    if not local:
        local = [item for item in shared if item.backend == shared[0].backend]
    chosen = [*remote, *local]
    cpu = _cpu(table)
    return Machine(
        name="this computer",
        cpu=cpu,
        accelerators=tuple(_accelerator(item, table, cpu) for item in chosen),
    )


def _accelerator(item: DeviceInfo, table: HardwareTable, cpu: Device) -> Device:
    remote = item.backend.startswith("RPC")
    row = table.find(item.description, item.total_bytes, cpu=False)
    shared = item.kind == "igpu" or (row is not None and row.shares_memory)
    if row is None:
        return Device(
            name=item.name,
            kind="rpc" if remote else "igpu" if item.kind == "igpu" else "gpu",
            description=item.description,
            backend=item.backend,
            total_bytes=item.total_bytes,
            free_bytes=item.free_bytes,
            bandwidth_bytes_per_s=cpu.bandwidth_bytes_per_s if shared else None,
            bandwidth_basis=cpu.bandwidth_basis if shared else "assumed",
            pool=cpu.pool if shared else "",
        )
    found = row.device(item.name, total_bytes=item.total_bytes, pool=cpu.pool if shared else "")
    return found.with_free(item.free_bytes)


def this_machine(table: HardwareTable) -> Machine:
    """Return this computer as its engine sees it; its processor alone if the engine is silent."""
    try:
        with EngineClient() as client:
            hello = client.hello
    except EngineError as error:
        note(f"Only the processor is planned for: {error}")
        hello = None
    return machine_from_devices(() if hello is None else hello.devices, table)


def named_machine(name: str, table: HardwareTable) -> Machine | None:
    """Return a machine with the hardware named, None if no such name is known."""
    return table.machine(name, _cpu(table))
