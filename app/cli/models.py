"""``plimsoll models``: the models on this computer, and why some files can't be used."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from app.cli.folders import make_folders
from app.cli.terminal import json_line, note, say, shown
from app.data.library.entries import ModelEntry
from app.data.library.places import places_for
from app.data.library.scan import scan
from app.paths import default_paths
from app.settings import Settings
from gguf_tools.units import format_bytes, format_count

__all__ = ["add_arguments", "run"]

_HEADINGS = ("NAME", "QUANT", "SIZE", "PARAMETERS", "CONTEXT", "ARCHITECTURE", "FOUND IN")
_WIDEST_NAME = 44


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Scan all places and print what was found."""
    paths = default_paths()
    make_folders(paths)
    settings = Settings(paths.settings)
    places = places_for(
        paths, settings.get("model_folders"), others=settings.get("scan_other_programs")
    )
    entries = sorted(scan(places, paths.library_cache), key=_order)
    if arguments.json:
        print(json_line({"models": [_plain(entry) for entry in entries]}))
        return 0
    usable = [entry for entry in entries if entry.usable]
    if usable:
        _print_table([_HEADINGS, *(_row(entry) for entry in usable)])
    else:
        note(
            f"No model was found: put a .gguf file into {paths.models}, or name a folder in the"
            " settings."
        )
    problems = [entry for entry in entries if not entry.usable]
    if problems:
        print("\nNot for chat:")
    for entry in problems:
        say(f"  {shown(entry.path)}\n    {shown(entry.problem)}")
    return 0


def _order(entry: ModelEntry) -> tuple[bool, str, int]:
    return not entry.usable, entry.base_name.casefold(), entry.size_bytes


def _plain(entry: ModelEntry) -> dict[str, object]:
    return {
        "path": str(entry.path),
        "files": [str(path) for path in entry.files],
        "name": entry.name,
        "base_name": entry.base_name,
        "quantization": entry.quantization,
        "size_label": entry.size_label,
        "size_bytes": entry.size_bytes,
        "architecture": entry.architecture,
        "context_length": entry.context_length,
        "parameters": entry.parameters,
        "bits_per_weight": entry.bits_per_weight,
        "kind": entry.kind,
        "problem": entry.problem,
        "source": entry.source,
    }


def _row(entry: ModelEntry) -> tuple[str, ...]:
    name = shown(entry.name)
    if len(name) > _WIDEST_NAME:
        name = f"{name[: _WIDEST_NAME - 1]}…"
    return (
        name,
        shown(entry.quantization or "–"),
        format_bytes(entry.size_bytes),
        format_count(entry.parameters) if entry.parameters else "–",
        f"{entry.context_length:,}" if entry.context_length else "–",
        shown(entry.architecture or "–"),
        shown(entry.source),
    )


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
