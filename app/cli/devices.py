"""``plimsoll devices``: what llama.cpp's backends report on this computer."""

from __future__ import annotations

import argparse
import json
import sys

from app.engine.client import EngineClient, EngineError

__all__ = ["add_arguments", "run"]

_GIB = 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _size(size_bytes: int | None) -> str:
    return "unknown" if size_bytes is None else f"{size_bytes / _GIB:.1f} GiB"


def run(arguments: argparse.Namespace) -> int:
    """Ask a worker and print."""
    try:
        with EngineClient() as client:
            hello = client.hello
            assert hello is not None
    except EngineError as error:
        print(error, file=sys.stderr)
        return 4
    if arguments.json:
        rows = [
            {
                "name": device.name,
                "description": device.description,
                "kind": device.kind,
                "backend": device.backend,
                "total_bytes": device.total_bytes,
                "free_bytes": device.free_bytes,
            }
            for device in hello.devices
        ]
        print(json.dumps({"engine": hello.engine, "cpu": hello.cpu, "devices": rows}))
        return 0
    for device in hello.devices:
        print(
            f"{device.name:<10} {device.kind:<5} {device.description}  "
            f"{_size(device.total_bytes)}, {_size(device.free_bytes)} free"
        )
    print(f"engine: {hello.engine}", file=sys.stderr)
    print(f"processor: {hello.cpu or 'unknown'}; {hello.system_info}", file=sys.stderr)
    return 0
