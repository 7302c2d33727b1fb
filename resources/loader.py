"""One way to read what the program ships, from source, from a wheel and from a built program."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path, PurePosixPath

__all__ = ["read_bytes", "read_text", "resource_path"]


def _checked(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"resource names are relative and stay inside resources/: {name!r}")
    return path


def read_bytes(name: str) -> bytes:
    """Return the content of ``resources/<name>``."""
    return files(__package__).joinpath(*_checked(name).parts).read_bytes()


def read_text(name: str) -> str:
    """Return the text of ``resources/<name>``, which is UTF-8."""
    return read_bytes(name).decode("utf-8")


def resource_path(name: str) -> Path:
    """Return a real path of ``resources/<name>``, for libraries that open files themselves.

    Plimsoll is always unpacked on disk (source tree, wheel or PyInstaller folder), so the path
    outlives the context manager.
    """
    with as_file(files(__package__).joinpath(*_checked(name).parts)) as path:
        return path
