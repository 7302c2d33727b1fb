"""File names of the parts of a split model: ``NAME-00002-of-00003.gguf``.

As ``llama_split_path`` in src/llama.cpp writes them. Apart from what reads headers, so that a
name can be told without it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parse_shard_name", "shard_name"]

_SHARD: Final = re.compile(r"(?P<prefix>.*)-(?P<no>\d{5})-of-(?P<count>\d{5})\.gguf")


def parse_shard_name(name: str) -> tuple[str, int, int] | None:
    """Return (prefix, number from 1, count) of a shard's file name, None for another name."""
    match = _SHARD.fullmatch(name)
    if match is None:
        return None
    return match["prefix"], int(match["no"]), int(match["count"])


def shard_name(prefix: str, number: int, count: int) -> str:
    """Return the file name of shard ``number`` (from 1) of ``count``."""
    return f"{prefix}-{number:05d}-of-{count:05d}.gguf"
