"""``plimsoll devices``: what the engine can use, how fast its memory is, and who says so.

Computers on the network that run llama.cpp's rpc-server are added here and remembered.
"""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.engine import open_engine
from app.cli.exits import EXIT_ENGINE, EXIT_USAGE
from app.cli.folders import make_folders, open_settings
from app.cli.numbers import whole
from app.cli.options import add_remote_flags, remote_address, remotes
from app.cli.terminal import json_line, note, say
from app.engine.bandwidth import LARGE_BYTES
from app.engine.client import EngineError
from app.engine.protocol import Hello
from app.engine.threads import choose_threads, clamp_threads
from app.machine import bandwidth_for, machine_for, state_file
from app.paths import default_paths
from app.settings import Settings
from gguf_tools.machine import Device
from gguf_tools.units import format_bandwidth, format_bytes, format_seconds
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
    known = parser.add_argument_group("computers on the network").add_mutually_exclusive_group()
    known.add_argument(
        "--add-rpc",
        type=remote_address,
        metavar="HOST:PORT",
        help="remember a computer that runs llama.cpp's rpc-server: chat, bench, plan, verify and "
        "the window use it from then on",
    )
    known.add_argument(
        "--remove-rpc", type=remote_address, metavar="HOST:PORT", help="forget such a computer"
    )
    add_remote_flags(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Ask a worker, probe and print."""
    state = state_file()
    settings = open_settings()
    if arguments.add_rpc is not None or arguments.remove_rpc is not None:
        make_folders(default_paths())
        if not _remember(settings, arguments.add_rpc, arguments.remove_rpc):
            return EXIT_USAGE
    try:
        with open_engine(state, note, remotes(arguments, settings)) as client:
            hello = client.hello
            assert hello is not None
    except EngineError as error:
        note(error)
        return EXIT_ENGINE
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
        found = {"engine": hello.engine, "cpu": hello.cpu, "devices": rows}
        print(json_line(found | {"remotes": _remotes_as_json(hello)}))
        return 0
    for device in machine.devices:
        say(_as_text(device, record))
    note(f"engine: {hello.engine}")
    note(f"processor: {hello.cpu or 'unknown'}; {hello.system_info}")
    return 0


def _remember(settings: Settings, added: str | None, removed: str | None) -> bool:
    """Change the remembered computers; False where there is nothing to remove."""
    known = tuple(settings.get("rpc"))
    if added is not None:
        settings.set("rpc", (*known, added))
        note(f"{added} is remembered.")
        return True
    if removed not in known:
        listed = ", ".join(known) or "none"
        note(f"{removed} is not among the computers remembered: {listed}.")
        return False
    settings.set("rpc", tuple(item for item in known if item != removed))
    note(f"{removed} is forgotten.")
    return True


def _remotes_as_json(hello: Hello) -> list[dict[str, Any]]:
    return [
        {
            "endpoint": item.endpoint,
            "devices": list(item.devices),
            "problem": item.problem or None,
        }
        for item in hello.remotes
    ]


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
        "bandwidth_note": device.bandwidth_note or None,
        "bandwidth_threads": None if measured is None else measured.threads,
        "bandwidth_spread": None if measured is None else measured.spread,
        "flops_per_s": device.flops_per_s,
        "flops_source": "unknown" if device.flops_per_s is None else device.flops_basis,
        "link_bytes_per_s": device.link_bytes_per_s,
        "link_source": "unknown" if device.link_bytes_per_s is None else device.link_basis,
        "round_trip_s": device.round_trip_s,
    }


def _as_text(device: Device, record: BandwidthRecord | None) -> str:
    basis = _basis(device)
    how = {
        "measured": "measured",
        "read": "by clock and bus, from the driver",
        "table": "published",
        "assumed": "assumed",
    }.get(basis, basis)
    if device.kind == "rpc":
        how = "measured on it"
    elif basis == "measured" and record is not None:
        plural = "s" if record.threads != 1 else ""
        how = f"measured with {record.threads} thread{plural}, ±{record.spread:.0%}"
        if device.measured_busy:
            how += ", while busy: --probe measures again"
    speed = (
        "bandwidth unknown"
        if device.bandwidth_bytes_per_s is None
        else f"{format_bandwidth(device.bandwidth_bytes_per_s)} ({how})"
    )
    if device.kind == "cpu":  # a processor's cache gives small models more: `plan` says how much
        speed = f"main memory {speed}"
    line = (
        f"{device.name:<10} {device.kind:<5} {device.description}  "
        f"{format_bytes(device.total_bytes)}, {format_bytes(device.free_bytes)} free, {speed}"
    )
    return f"{line}; {_network(device)}" if device.kind == "rpc" else line


def _network(device: Device) -> str:
    parts = []
    if device.round_trip_s is not None:
        parts.append(f"{format_seconds(device.round_trip_s)} a round trip")
    if device.link_bytes_per_s is not None:
        parts.append(format_bandwidth(device.link_bytes_per_s))
    return f"network {', '.join(parts)} (measured)" if parts else "network not measured"
