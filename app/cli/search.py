"""``plimsoll search TEXT``: repositories with GGUF files on Hugging Face."""

from __future__ import annotations

import argparse

from app.cli.exits import EXIT_REFUSED
from app.cli.folders import make_folders, open_settings
from app.cli.hub import open_hub, print_table
from app.cli.numbers import whole
from app.cli.terminal import json_line, note
from app.data.hub.errors import HubError
from app.data.hub.values import Repository
from app.paths import default_paths
from gguf_tools.units import format_count

__all__ = ["add_arguments", "run"]

_HEADINGS = ("REPOSITORY", "PARAMETERS", "DOWNLOADS", "LIKES", "CHANGED", "LICENCE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("text", nargs="+", help="part of a repository's name")
    parser.add_argument(
        "--limit", type=whole(1, 500), default=20, metavar="N", help="at most so many (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Search and print what was found."""
    paths = default_paths()
    make_folders(paths)
    text = " ".join(arguments.text)
    try:
        found = open_hub(paths, open_settings()).search(text, arguments.limit)
    except HubError as error:
        note(error)
        return EXIT_REFUSED
    if arguments.json:
        print(json_line({"repositories": [_plain(item) for item in found]}))
    elif found:
        print_table([_HEADINGS, *(_row(item) for item in found)])
        note("[plimsoll get REPOSITORY lists its files and whether they fit]")
    else:
        note(f"No repository with GGUF files has “{text}” in its name.")
    return 0


def _row(item: Repository) -> tuple[str, ...]:
    licence = item.licence or "–"
    return (
        item.id,
        format_count(item.parameters) if item.parameters else "–",
        "–" if item.downloads is None else f"{item.downloads:,}",
        "–" if item.likes is None else f"{item.likes:,}",
        item.updated or "–",
        f"{licence}, gated" if item.gated else licence,
    )


def _plain(item: Repository) -> dict[str, object]:
    return {
        "id": item.id,
        "parameters": item.parameters,
        "downloads": item.downloads,
        "likes": item.likes,
        "updated": item.updated,
        "licence": item.licence,
        "gated": item.gated,
    }
