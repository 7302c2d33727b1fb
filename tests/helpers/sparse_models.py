"""Model files of real and tiny shapes without their weights: headers before a hole in the file."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from gguf_tools.header import open_header

__all__ = ["ORACLE", "unpack_headers", "unpack_sparse"]

ORACLE = Path(__file__).resolve().parents[1] / "gguf_tools" / "oracle"


def unpack_headers(folder: Path) -> dict[str, Path]:
    """Unpack the header-only files of the oracle; return them by name."""
    with tarfile.open(ORACLE / "headers.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return {path.stem: path for path in sorted((folder / "headers").glob("*.gguf"))}


def unpack_sparse(folder: Path) -> dict[str, Path]:
    """Unpack the same files and let each be as long as its tensors: they load without weights."""
    files = unpack_headers(folder)
    for path in files.values():
        path.chmod(0o644)
        needed = open_header(path).needed_bytes
        os.truncate(path, needed)
    return files
