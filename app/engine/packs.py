"""Which of llama.cpp's backends this copy of the program holds, and packs that add others.

An engine pack is a folder with the libraries of one more backend (CUDA, Vulkan) and a ``pack.json``
that says which engine they were built for. Packs are optional because they are large and of use
only with a certain card. They are looked for beside the program, in the data folder and in the
folders that ``PLIMSOLL_ENGINE_PACKS`` names.

Here only files are looked at; the worker loads them (`app.engine.backend.library`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from app.paths import Paths, default_paths

__all__ = [
    "PACKS_VARIABLE",
    "Pack",
    "backend_name",
    "built_in_backends",
    "cpu_variants",
    "engine_folder",
    "find_packs",
    "pack_folders",
]

PACKS_VARIABLE: Final = "PLIMSOLL_ENGINE_PACKS"
MANIFEST: Final = "pack.json"
_MOST_MANIFEST_BYTES: Final = 64 * 1024
_BACKEND: Final = re.compile(
    r"(?:lib)?ggml-(?P<kind>[a-z]+)(?:-(?P<variant>\w+))?\.(?:so|dylib|dll)"
)
_NAMES: Final = {
    "blas": "BLAS",
    "cpu": "CPU",
    "cuda": "CUDA",
    "hip": "ROCm",
    "metal": "Metal",
    "mtl": "Metal",  # as the engine calls it
    "opencl": "OpenCL",
    "rpc": "RPC",
    "sycl": "SYCL",
    "vulkan": "Vulkan",
}


@dataclass(frozen=True, slots=True)
class Pack:
    """An engine pack as found. ``problem`` says in a sentence why it is not used."""

    name: str
    folder: Path
    libraries: tuple[Path, ...]
    problem: str | None = None


def engine_folder() -> Path | None:
    """Return the folder of the engine's libraries, found without loading them."""
    spec = find_spec("llama_cpp")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "lib"


def _backends(folder: Path) -> list[tuple[str, str, Path]]:
    found = []
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return []
    for path in files:
        match = _BACKEND.fullmatch(path.name)
        if match and match["kind"] != "base":
            found.append((match["kind"], match["variant"] or "", path))
    return found


def backend_name(name: str) -> str:
    """Return a backend's name for people, from a file's name for it or the engine's."""
    return _NAMES.get(name.lower(), name)


def built_in_backends(folder: Path | None) -> tuple[str, ...]:
    """Return the names of the backends in the engine's folder, in alphabetical order."""
    kinds = {kind for kind, _, _ in _backends(folder)} if folder is not None else set()
    return tuple(sorted(backend_name(kind) for kind in kinds))


def cpu_variants(folder: Path) -> dict[str, Path]:
    """Return the processor variants that an engine build holds; empty if it was built for one."""
    return {variant: path for kind, variant, path in _backends(folder) if kind == "cpu" and variant}


def pack_folders(paths: Paths, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders in which packs may lie."""
    named = environ.get(PACKS_VARIABLE, "")
    folders = [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    folders.append(paths.data / "engines")
    if getattr(sys, "frozen", False):
        folders.append(Path(sys.executable).resolve().parent / "engines")
    return folders


def find_packs(folders: Iterable[Path] | None = None, engine: str | None = None) -> list[Pack]:
    """Return the packs in some folders, the unusable ones with their problem; first name wins.

    Args:
        folders: None looks where this program looks.
        engine: the version of llama-cpp-python that packs must have been built for; None means
            the one installed.
    """
    wanted = _installed() if engine is None else engine
    found: dict[str, Pack] = {}
    for folder in pack_folders(default_paths()) if folders is None else folders:
        try:
            inside = sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file())
        except OSError:
            continue
        for path in inside:
            pack = _read(path, wanted)
            known = found.get(pack.name)
            if known is None or (known.problem is not None and pack.problem is None):
                found[pack.name] = pack
    return list(found.values())


def _installed() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("llama-cpp-python")
    except PackageNotFoundError:
        return ""


def _read(folder: Path, engine: str) -> Pack:
    """Read a pack. Its libraries are code: a pack is trusted like the program it lies with."""
    nothing = Pack(folder.name, folder, (), f"{folder / MANIFEST} is no description of a pack.")
    try:
        with (folder / MANIFEST).open("rb") as file:
            manifest = json.loads(file.read(_MOST_MANIFEST_BYTES).decode("utf-8"))
        name, built_for, names = manifest["name"], manifest["engine"], manifest["libraries"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return nothing
    if not (isinstance(name, str) and name and isinstance(names, list)):
        return nothing
    libraries = tuple(folder / str(entry) for entry in names)
    if built_for != engine:
        problem = f"The {name} pack was built for engine {built_for}; this program has {engine}."
        return Pack(name, folder, (), problem)
    for path in libraries:
        if path.parent != folder or not path.is_file():
            return Pack(name, folder, (), f"The {name} pack lacks its file {path.name}.")
    return Pack(name, folder, libraries)
