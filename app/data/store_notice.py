"""What the user must know about the store, each in one clear sentence."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from app.data import recovery
from app.data.errors import fault_kind
from app.data.migrations import current_version, version_text

__all__ = ["NoticeKind", "StoreNotice", "in_memory_notice", "in_use_sentence", "too_new_sentence"]

NoticeKind: TypeAlias = Literal["full", "read_only", "unreadable", "too_new", "in_use", "recovered"]
_Cause: TypeAlias = Literal["full", "read_only", "no_folder", "busy", "unreadable"]

_IN_MEMORY: dict[_Cause, tuple[NoticeKind, str]] = {
    "full": (
        "full",
        (
            "The disk is full: chats are kept in memory until there is space again,"
            " and would be lost if Plimsoll closed before."
        ),
    ),
    "read_only": (
        "read_only",
        (
            "Chats can't be saved because {folder} can't be written: they are kept in memory"
            " and will be lost when Plimsoll closes."
        ),
    ),
    "no_folder": (
        "unreadable",
        (
            "Nothing can be kept because {folder} is not a folder: chats and drafts stay in memory"
            " and will be lost when Plimsoll closes."
        ),
    ),
    "busy": (
        "unreadable",
        (
            "Another program holds the file with your chats: what is new is kept in memory until"
            " it lets go of {name}, and would be lost if Plimsoll closed before."
        ),
    ),
    "unreadable": (
        "unreadable",
        (
            "Chats can't be saved because the disk does not take them ({reason}): they are kept"
            " in memory until it does."
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class StoreNotice:
    """What the user must know about the store: a name to act on and one clear sentence.

    ``path`` is the file that was moved aside, for ``recovered``.
    """

    kind: NoticeKind
    sentence: str
    path: Path | None = None
    recovered: recovery.Recovery | None = None


def in_memory_notice(path: Path, error: Exception) -> StoreNotice:
    """Return why the store at ``path`` goes on in memory after an error of its disk."""
    kind, sentence = _IN_MEMORY[_cause(error)]
    return StoreNotice(kind, sentence.format(folder=path.parent, name=path.name, reason=error))


def _cause(error: Exception) -> _Cause:
    if isinstance(error, OSError):
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return "full"
        if error.errno in {errno.EEXIST, errno.ENOTDIR}:
            return "no_folder"
        return (
            "read_only" if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM} else "unreadable"
        )
    kind = fault_kind(error)
    return kind if kind in {"full", "read_only", "busy"} else "unreadable"


def too_new_sentence(path: Path, version: int) -> str:
    """Say that a store is of a version which this program doesn't know."""
    return (
        f"The chats in {path.name} were written by a newer Plimsoll (store version"
        f" {version_text(version)}, this one knows {version_text(current_version())}): update"
        " Plimsoll to open them."
    )


def in_use_sentence(pid: int | None) -> str:
    """Say that another Plimsoll writes the store, by its process id if that is known."""
    who = f" (process {pid})" if pid else ""
    return f"Another Plimsoll{who} has the chats open, so they can only be read here."
