"""Loads the engine's backends where they are libraries of their own, and engine packs.

An engine built on the user's computer has its backends linked in, and nothing is to be done. The
engine of an installer has one library for each kind of processor; llama.cpp asks each whether the
processor at hand can run it, and takes the best.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any, Final

import psutil
from llama_cpp._ctypes_extensions import load_shared_library

from app.engine.backend.library import LIBRARIES, lib
from app.engine.packs import built_in_backends, cpu_variants, find_packs

__all__ = ["VARIANT_VARIABLE", "load_backends"]

VARIANT_VARIABLE: Final = "PLIMSOLL_CPU_VARIANT"
"""Names the processor variant to use (``x64`` runs everywhere), for processors that claim more
than they can do."""


def load_backends() -> str | None:
    """Load every backend there is; return the processor variant that was taken, if there is one.

    Packs that don't fit, or whose card or driver is missing, are told on stderr and left out.
    """
    library = _ggml()
    variants = cpu_variants(LIBRARIES)
    if variants:
        _load_built_in(library, variants)
    built_in = built_in_backends(LIBRARIES)
    for pack in find_packs():
        if pack.name in built_in:
            continue  # its devices would be there twice
        if pack.problem is not None:
            print(pack.problem, file=sys.stderr)
            continue
        if sys.platform == "win32":
            os.add_dll_directory(str(pack.folder))
        for path in pack.libraries:
            if not library.ggml_backend_load(os.fsencode(path)):
                print(f"The {pack.name} pack finds no device or driver here.", file=sys.stderr)
    return _loaded_variant(variants) if variants else None


def _ggml() -> Any:
    library: Any = lib.llama_cpp._lib
    if sys.platform == "win32":
        library = load_shared_library("ggml", LIBRARIES)
    library.ggml_backend_load.restype = ctypes.c_void_p
    library.ggml_backend_load.argtypes = [ctypes.c_char_p]
    library.ggml_backend_load_all_from_path.restype = None
    library.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
    return library


def _load_built_in(library: Any, variants: dict[str, Path]) -> None:
    forced = variants.get(os.environ.get(VARIANT_VARIABLE, ""))
    if forced is None:
        library.ggml_backend_load_all_from_path(os.fsencode(LIBRARIES))
        return
    for path in sorted(LIBRARIES.glob("*ggml-*")):
        other = path.name.startswith(("libggml-cpu", "ggml-cpu", "libggml-base", "ggml-base"))
        if not other and path.suffix in {".so", ".dylib", ".dll"}:
            library.ggml_backend_load(os.fsencode(path))
    library.ggml_backend_load(os.fsencode(forced))


def _loaded_variant(variants: dict[str, Path]) -> str | None:
    """Return the variant whose library is in this process (macOS does not tell)."""
    process = psutil.Process()
    if not hasattr(process, "memory_maps"):
        return None
    try:
        loaded = {os.path.realpath(item.path) for item in process.memory_maps()}
    except (psutil.Error, OSError):
        return None
    for name, path in variants.items():
        if os.path.realpath(path) in loaded:
            return name
    return None
