"""``plimsoll report CHAT``: what a chat's turns measured and on what, from what is stored.

With ``--out`` the report is written as Markdown with pictures beside it. Pictures are drawn by a
process of its own, since the command line knows no window.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.cli.exits import EXIT_REFUSED, EXIT_USAGE
from app.cli.terminal import for_stream, json_line, note, say
from app.data.conversations import ConversationStore
from app.data.errors import StoreUnavailable
from app.data.load_records import LoadRecords, turn_records
from app.data.transfer.common import TransferError
from app.data.transfer.writing import find_chat
from app.engine.launch import worker_argv, worker_environment
from app.paths import default_paths
from app.settings import atomic_write
from inspector.records import TurnRecord
from inspector.report import report_as_json, report_as_markdown

__all__ = ["add_arguments", "run"]

_REPORT: Final = "report.md"
_DRAWING_S: Final = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("chat", metavar="CHAT", help="id, beginning of an id, or title")
    parser.add_argument(
        "--all-branches", action="store_true", help="every reply, not only those of the branch"
    )
    parser.add_argument(
        "--out",
        "--output",
        metavar="PATH",
        help="write to a folder or a .md file, with pictures beside it; any other name is a file "
        "without pictures",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Write the report to stdout, or to a file with its pictures."""
    paths = default_paths()
    try:
        store = ConversationStore(paths.store, read_only=True)
    except StoreUnavailable as error:
        note(error)
        return EXIT_REFUSED
    try:
        chat = find_chat(store, arguments.chat)
        messages = store.messages(chat.id) if arguments.all_branches else store.path(chat.id)
    except TransferError as error:
        note(error)
        return EXIT_USAGE
    finally:
        store.close()
    turns = turn_records(messages, LoadRecords(paths.load_records))
    if arguments.out is None:
        text = _json(chat.title, turns) if arguments.json else report_as_markdown(chat.title, turns)
        print(for_stream(text, sys.stdout), end="")
        return 0
    try:
        return _write(Path(arguments.out), chat.title, turns, as_json=arguments.json)
    except OSError as error:
        note(f"{arguments.out} can't be written: {error.strerror or error}.")
        return EXIT_USAGE


def _json(title: str, turns: Sequence[TurnRecord]) -> str:
    return json_line(report_as_json(title, turns)) + "\n"


def _write(out: Path, title: str, turns: Sequence[TurnRecord], *, as_json: bool) -> int:
    """Write the report; as Markdown with pictures into a folder or beside a .md file."""
    if as_json:
        atomic_write(out / "report.json" if out.is_dir() else out, _json(title, turns).encode())
        return 0
    is_document = out.suffix.lower() in {".md", ".markdown"}
    if out.suffix and not is_document and not out.is_dir():
        atomic_write(out, report_as_markdown(title, turns).encode("utf-8"))
        return 0
    file = out if is_document else out / _REPORT
    file.parent.mkdir(parents=True, exist_ok=True)
    code = 0
    pictures: dict[str, list[tuple[str, str]]] = {}
    if any(turn.load is not None for turn in turns):
        try:
            pictures = _draw(file.parent, title, turns)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            note(f"The report is written without pictures: {_reason(error)}")
            code = 1
    atomic_write(file, report_as_markdown(title, turns, pictures).encode("utf-8"))
    count = sum(len(items) for items in pictures.values())
    say(f"{file}" + (f" and {count} pictures" if count else ""))
    return code


def _draw(
    folder: Path, title: str, turns: Sequence[TurnRecord]
) -> dict[str, list[tuple[str, str]]]:
    done = subprocess.run(
        [*worker_argv()[:-1], "--report-pictures", str(folder.absolute())],
        input=_json(title, turns).encode(),
        capture_output=True,
        check=True,
        timeout=_DRAWING_S,
        env=worker_environment(),
    )
    found = json.loads(done.stdout)
    return {key: [(name, caption) for name, caption in items] for key, items in found.items()}


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        last = error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return last[0] if last else f"the process that draws ended with code {error.returncode}"
    return str(error)
