"""From a file to conversations: how large it may be, what it is, and who reads it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.data.transfer import chatgpt, lmstudio, own
from app.data.transfer.common import Imported, TransferError

__all__ = ["MAX_FILE_BYTES", "read_file"]

MAX_FILE_BYTES = 512 * 1024 * 1024
_MB = 1024 * 1024


def read_file(path: Path) -> Imported:
    """Return the conversations of a file of Plimsoll's, ChatGPT's or LM Studio's.

    Raises:
        TransferError: nothing of it can be imported; the text says why.
    """
    data = _decoded(path)
    if own.looks_like(data):
        imported = own.read(data)
    elif chatgpt.looks_like(data):
        imported = chatgpt.read(data)
    elif lmstudio.looks_like(data):
        imported = lmstudio.read(data, path.name)
    else:
        raise TransferError(
            f"{path.name} is JSON, but none of the files that can be imported: Plimsoll's own"
            " export, ChatGPT's conversations.json, LM Studio's *.conversation.json."
        )
    if not imported.conversations:
        raise TransferError(f"{path.name} holds no chat that can be imported{_why(imported)}.")
    return imported


def _why(imported: Imported) -> str:
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in imported.skipped.items())
    return f" ({reasons})" if reasons else ""


def _decoded(path: Path) -> object:
    try:
        if path.is_dir():
            raise TransferError(f"{path} is a folder: name a file.")
        if not path.exists():
            raise TransferError(f"There is no file {path}.")
        if not path.is_file():
            raise TransferError(f"{path} is not a file.")
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise TransferError(
                f"{path.name} is {size // _MB:,} MB; files of up to {MAX_FILE_BYTES // _MB} MB"
                " can be imported."
            )
        raw = path.read_bytes()
    except OSError as error:
        raise TransferError(f"{path} can't be read: {error.strerror}.") from error
    try:
        return msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise TransferError(f"{path.name} is nested too deeply to be a chat.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise TransferError(f"{path.name} is not JSON ({error}).") from error
