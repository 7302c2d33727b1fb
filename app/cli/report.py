"""``plimsoll report CHAT``: what a chat's turns measured and on what, from what is stored."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.cli.terminal import for_stream, json_line, note
from app.data.conversations import ConversationStore
from app.data.errors import StoreUnavailable
from app.data.load_records import LoadRecords, turn_records
from app.data.transfer.common import TransferError
from app.data.transfer.writing import find_chat
from app.paths import default_paths
from app.settings import atomic_write
from inspector.report import report_as_json, report_as_markdown

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("chat", metavar="CHAT", help="id, beginning of an id, or title")
    parser.add_argument(
        "--all-branches", action="store_true", help="every reply, not only those of the branch"
    )
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of stdout")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Write the report to stdout or a file."""
    paths = default_paths()
    try:
        store = ConversationStore(paths.store, read_only=True)
    except StoreUnavailable as error:
        note(error)
        return 1
    try:
        chat = find_chat(store, arguments.chat)
        messages = store.messages(chat.id) if arguments.all_branches else store.path(chat.id)
    except TransferError as error:
        note(error)
        return 2
    finally:
        store.close()
    turns = turn_records(messages, LoadRecords(paths.load_records))
    if arguments.json:
        text = json_line(report_as_json(chat.title, turns)) + "\n"
    else:
        text = report_as_markdown(chat.title, turns)
    if arguments.output is None:
        print(for_stream(text, sys.stdout), end="")
        return 0
    try:
        atomic_write(Path(arguments.output), text.encode("utf-8"))
    except OSError as error:
        note(f"{arguments.output} can't be written: {error.strerror}.")
        return 2
    return 0
