"""``plimsoll devices``: what the engine can use, how fast its memory is, and who says so."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.engine import open_engine
from app.cli.numbers import whole
from app.cli.terminal import json_line, note, say
from app.engine.bandwidth import LARGE_BYTES
from app.engine.client import EngineError
from app.engine.threads import choose_threads, clamp_threads
from app.machine import bandwidth_for, machine_for, state_file
from gguf_tools.machine import Device
from gguf_tools.units import format_bandwidth, format_bytes
from inspector.records import BandwidthRecord

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--threads", type=whole(1, 1024), metavar="N", help="threads of the bandwidth probe"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--probe", action="store_true", help="measure bandwidth again")
    group.add_argument("--no-probe", action="store_true", help="measure nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Ask a worker, probe and print."""
    state = state_file()
    try:
        with open_engine(state, note) as client:
            hello = client.hello
            assert hello is not None
    except EngineError as error:
        note(error)
        return 4
    threads = choose_threads() if arguments.threads is None else clamp_threads(arguments.threads)
    record = None
    if not arguments.no_probe:
        try:
            record = bandwidth_for(state, hello.cpu, threads, LARGE_BYTES, again=arguments.probe)
        except MemoryError:
            note("There is no room to measure the memory's bandwidth.")
    machine = machine_for(hello, record)
    if arguments.json:
        rows = [_as_json(device, record) for device in machine.devices]
        print(json_line({"engine": hello.engine, "cpu": hello.cpu, "devices": rows}))
        return 0
    for device in machine.devices:
        say(_as_text(device, record))
    note(f"engine: {hello.engine}")
    note(f"processor: {hello.cpu or 'unknown'}; {hello.system_info}")
    return 0


def _basis(device: Device) -> str:
    return "unknown" if device.bandwidth_bytes_per_s is None else device.bandwidth_basis


def _as_json(device: Device, record: BandwidthRecord | None) -> dict[str, Any]:
    measured = record if device.kind == "cpu" and _basis(device) == "measured" else None
    return {
        "name": device.name,
        "description": device.description,
        "kind": device.kind,
        "backend": device.backend,
        "pool": device.memory_pool,
        "total_bytes": device.total_bytes,
        "free_bytes": device.free_bytes,
        "bandwidth_bytes_per_s": device.bandwidth_bytes_per_s,
        "bandwidth_source": _basis(device),
        "bandwidth_threads": None if measured is None else measured.threads,
        "bandwidth_spread": None if measured is None else measured.spread,
        "flops_per_s": device.flops_per_s,
        "flops_source": "unknown" if device.flops_per_s is None else device.flops_basis,
        "link_bytes_per_s": device.link_bytes_per_s,
    }


def _as_text(device: Device, record: BandwidthRecord | None) -> str:
    basis = _basis(device)
    how = {
        "measured": "measured",
        "read": "by clock and bus, from the driver",
        "table": "published",
        "assumed": "assumed",
    }.get(basis, basis)
    if basis == "measured" and record is not None:
        plural = "s" if record.threads != 1 else ""
        how = f"measured with {record.threads} thread{plural}, ±{record.spread:.0%}"
    speed = (
        "bandwidth unknown"
        if device.bandwidth_bytes_per_s is None
        else f"{format_bandwidth(device.bandwidth_bytes_per_s)} ({how})"
    )
    return (
        f"{device.name:<10} {device.kind:<5} {device.description}  "
        f"{format_bytes(device.total_bytes)}, {format_bytes(device.free_bytes)} free, {speed}"
    )
