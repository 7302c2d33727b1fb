"""``plimsoll export`` and ``plimsoll import``: chats as Markdown or JSON, and back."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from app.cli.terminal import for_stream, json_line, note, say, shown
from app.data.conversations import ConversationStore
from app.data.errors import StoreUnavailable
from app.data.records import Conversation
from app.data.transfer.common import Imported, TransferError
from app.data.transfer.reading import read_file
from app.data.transfer.writing import Format, export_text, find_chat
from app.paths import default_paths
from app.settings import atomic_write

__all__ = ["add_export_arguments", "add_import_arguments", "run_export", "run_import"]

_WAIT_FOR_WRITER_S = 3.0


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``export``."""
    parser.add_argument(
        "chat", nargs="?", metavar="CHAT", help="id, beginning of an id, or title; none lists all"
    )
    parser.add_argument("--all", action="store_true", help="export every chat")
    parser.add_argument("--format", choices=("markdown", "json"), help="default: markdown")
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of stdout")
    parser.add_argument(
        "--json",
        action="store_true",
        help="same as --format json; with --output, say what was done",
    )


def run_export(arguments: argparse.Namespace) -> int:
    """Write chats to stdout or a file, or list them."""
    try:
        store = ConversationStore(default_paths().store, read_only=True)
    except StoreUnavailable as error:
        return _failed(error, 1)
    try:
        if arguments.all:
            chats = store.list_all()
        elif arguments.chat is None:
            return _list(store.list_all(), as_json=arguments.json)
        else:
            chats = [find_chat(store, arguments.chat)]
        text = export_text(store, chats, _format_of(arguments), datetime.now().astimezone())
    except TransferError as error:
        return _failed(error, 2)
    finally:
        store.close()
    if arguments.output is None:
        print(for_stream(text, sys.stdout), end="")
        return 0
    return _write(Path(arguments.output), text, len(chats), as_json=arguments.json)


def _format_of(arguments: argparse.Namespace) -> Format:
    if arguments.format is not None:
        return "json" if arguments.format == "json" else "markdown"
    name = (arguments.output or "").lower()
    named_json = name.endswith(".json")
    return "json" if named_json or (arguments.json and not name) else "markdown"


def _list(chats: list[Conversation], *, as_json: bool) -> int:
    if as_json:
        rows = [
            {
                "id": chat.id,
                "title": chat.title,
                "model": chat.model_name,
                "created_ms": chat.created_ms,
                "updated_ms": chat.updated_ms,
                "pinned": chat.pinned,
            }
            for chat in chats
        ]
        print(json_line({"chats": rows}))
        return 0
    for chat in chats:
        when = datetime.fromtimestamp(chat.updated_ms / 1000).astimezone()
        title = shown(chat.title) or "Untitled chat"
        say(f"{chat.id[:12]}  {when:%Y-%m-%d %H:%M}  {title}")
    if not chats:
        note("There is no chat yet.")
    return 0


def _write(path: Path, text: str, count: int, *, as_json: bool) -> int:
    try:
        atomic_write(path, text.encode("utf-8"))
    except OSError as error:
        return _failed(f"{path} can't be written: {error.strerror}.", 2)
    if as_json:
        print(json_line({"written": str(path), "chats": count}))
    else:
        note(f"{_counted(count, 'chat')} written to {path}")
    return 0


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``import``."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="Plimsoll's JSON, ChatGPT's conversations.json, or a conversation file of LM Studio",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run_import(arguments: argparse.Namespace) -> int:
    """Add the chats of a file, all or none."""
    try:
        imported = read_file(Path(arguments.file))
    except TransferError as error:
        return _failed(error, 2)
    store = ConversationStore(default_paths().store, lock_wait_s=_WAIT_FOR_WRITER_S)
    try:
        if store.notice is not None and (store.read_only or store.in_memory):
            way = " Import the file there, or close it first." if store.read_only else ""
            return _failed(f"Nothing was imported. {store.notice.sentence}{way}", 1)
        if store.notice is not None:
            note(store.notice.sentence)
        new, known = store.add_whole(imported.conversations)
        if store.in_memory and not store.retry():
            assert store.notice is not None
            return _failed(f"Nothing was imported. {store.notice.sentence}", 1)
    finally:
        store.close()
    _report(imported, new, known, as_json=arguments.json)
    return 0


def _report(imported: Imported, new: int, known: int, *, as_json: bool) -> None:
    if as_json:
        result = {
            "source": imported.source,
            "chats": new,
            "already_there": known,
            "skipped": dict(imported.skipped),
        }
        print(json_line(result))
        return
    print(f"{_counted(new, 'chat')} imported from {imported.source}.")
    if known:
        note(f"{_counted(known, 'chat')} left alone: already here, unchanged.")
    for reason, count in imported.skipped.items():
        note(f"Left out: {reason} ({count:,}).")


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _failed(reason: object, code: int) -> int:
    note(reason)
    return code
