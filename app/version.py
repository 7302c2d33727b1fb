"""The program's version, from one place: the metadata of its package."""

from __future__ import annotations

__all__ = ["version"]


def version() -> str:
    """Return the version, or ``unknown`` where the package has no metadata."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("plimsoll")
    except PackageNotFoundError:
        return "unknown"
