"""Tiny models of every family of architectures, in sizes that no wrong formula gets right by luck.

One module a family. They have no weights; the engine loads them for a dry run.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from tests.helpers.families.family import Family

__all__ = ["FAMILIES", "Family", "write_families"]

FAMILIES: dict[str, Family] = {
    info.name: importlib.import_module(f"{__name__}.{info.name}").FAMILY
    for info in pkgutil.iter_modules(__path__)
    if info.name != "family"
}


def write_families(folder: Path) -> dict[str, Path]:
    """Write a file for each family; return them by name."""
    return {
        name: family.builder().write(folder / f"{name}.gguf") for name, family in FAMILIES.items()
    }
