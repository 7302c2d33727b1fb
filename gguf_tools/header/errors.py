"""The one exception that reading a header raises, whatever the file holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

__all__ = ["HeaderError", "HeaderErrorKind"]

HeaderErrorKind: TypeAlias = Literal[
    "missing",  # no such file
    "unreadable",  # the operating system refuses, or it is no regular file
    "directory",
    "empty",
    "not_gguf",
    "lfs_pointer",  # text that git-LFS leaves in place of a file
    "web_page",  # HTML saved under the model's name
    "old_format",  # ggml, ggjt, … from before GGUF
    "too_old",  # GGUF version 1
    "too_new",  # a version or tensor type from after this program
    "byte_order",  # written on a machine of the other byte order
    "truncated",  # ends inside its header
    "damaged",  # contradicts itself, or was made to do harm
    "split_missing",  # shards are not there
    "split_name",  # a shard whose name does not lead to the others
    "split_mixed",  # shards of different models
    "split_joined",  # shards glued together as bytes
]


# Names in a hostile file may hold ends of lines, commands to a terminal, turns of direction.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


class HeaderError(Exception):
    """A file that can't be used as a model file; ``str()`` is one clear sentence."""

    def __init__(self, kind: HeaderErrorKind, message: str, path: Path | None = None) -> None:
        message = _UNSHOWN.sub(lambda match: ascii(match[0])[1:-1], message)
        super().__init__(message)
        self.kind: HeaderErrorKind = kind
        self.message = message
        self.path = path
