"""The engine for other people's computers: a wheel of llama-cpp-python that suits any processor.

The package's own build is for the computer it is built on (``-march=native``). Here every kind of
processor gets a library of its own, from plain x86-64 (or the first Apple chip) upwards, and
llama.cpp loads the best that the processor at hand can run (``GGML_CPU_ALL_VARIANTS``). The
package installs only libraries it knows by name, so the install folders of llama.cpp itself are
pointed at the package's folder; the variants arrive there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from resources.installers.project import System, engine_version

__all__ = ["PACK_OPTIONS", "cmake_options", "find_wheel", "make_wheel", "wheel_command"]

PACK_OPTIONS: Final[dict[str, dict[str, str]]] = {
    # A pack must suit whichever card of the kind: CUDA's own list of architectures, no -march.
    "cuda": {"GGML_CUDA": "ON", "CMAKE_CUDA_ARCHITECTURES": "all-major"},
    "vulkan": {"GGML_VULKAN": "ON"},
}
"""What else llama.cpp is configured with for an engine pack."""

_FOLDER: Final = "llama_cpp/lib"


def cmake_options(system: System, machine: str, pack: str | None = None) -> dict[str, str]:
    """Return the CMake options of the portable engine, or of it with a pack's backend.

    Raises:
        KeyError: there is no such pack.
    """
    options = {
        "GGML_NATIVE": "OFF",
        "GGML_BACKEND_DL": "ON",
        "GGML_CPU_ALL_VARIANTS": "ON",
        "GGML_RPC": "ON",
        "LLAVA_BUILD": "OFF",  # pictures are not read, and the library is large
        "LLAMA_OPENSSL": "OFF",  # nothing is downloaded by the engine
        "CMAKE_INSTALL_BINDIR": _FOLDER,
        "CMAKE_INSTALL_LIBDIR": _FOLDER,
        "CMAKE_INSTALL_INCLUDEDIR": "llama_cpp/include",
    }
    if system == "linux":
        options["CMAKE_INSTALL_RPATH"] = "$ORIGIN"
    elif system == "macos":
        options["CMAKE_INSTALL_RPATH"] = "@loader_path"
        options["GGML_METAL"] = "ON"
        options["GGML_METAL_EMBED_LIBRARY"] = "ON"
        options["CMAKE_OSX_ARCHITECTURES"] = machine
        options["CMAKE_OSX_DEPLOYMENT_TARGET"] = "13.3"  # std::filesystem and Metal 3
        # OpenMP is no part of macOS; ggml's own threads do as well.
        options["GGML_OPENMP"] = "OFF"
    elif system == "windows":
        # Several libraries of Windows' OpenMP in one process are one too many to ship.
        options["GGML_OPENMP"] = "OFF"
    if pack is not None:
        options.update(PACK_OPTIONS[pack])
    return options


def wheel_command(options: dict[str, str], folder: Path, python: str = sys.executable) -> list[str]:
    """Return the command that compiles the wheel into a folder."""
    command = [python, "-m", "pip", "wheel", f"llama-cpp-python=={engine_version()}"]
    command += ["--no-deps", "--no-binary", "llama-cpp-python", "--no-cache-dir"]
    command += ["--wheel-dir", str(folder)]
    for name, value in sorted(options.items()):
        command += ["-C", f"cmake.define.{name}={value}"]
    return command


def find_wheel(folder: Path) -> Path | None:
    """Return the engine's wheel in a folder, None where there is none of the right version."""
    found = sorted(folder.glob(f"llama_cpp_python-{engine_version()}-*.whl"))
    return found[-1] if found else None


def make_wheel(
    system: System,
    machine: str,
    folder: Path,
    *,
    python: str = sys.executable,
    jobs: int | None = None,
    pack: str | None = None,
) -> Path:
    """Return the wheel in ``folder``, compiled if it is not there; that takes many minutes.

    Raises:
        subprocess.CalledProcessError: it does not compile.
    """
    kept = find_wheel(folder)
    if kept is not None:
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs or os.cpu_count() or 1)}
    options = cmake_options(system, machine, pack)
    subprocess.run(wheel_command(options, folder, python), env=environment, check=True)
    made = find_wheel(folder)
    assert made is not None
    return made
