"""Builds llama-bench, once, from the source package of the engine that is installed.

Against the installed shared libraries where that works, so that llama-bench and the worker run the
very same engine; else all of llama.cpp is built, and `Built.same_engine` is False.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Built", "built_llama_bench"]

_PACKAGE = "llama-cpp-python"
_INSIDE = Path("vendor", "llama.cpp")  # of the source package
_EXECUTABLE = "llama-bench.exe" if sys.platform == "win32" else "llama-bench"

# Everything but llama and ggml themselves is built; those are the installed libraries.
_AGAINST_INSTALLED = """
cmake_minimum_required(VERSION 3.18)
project(llama_bench_of_the_installed_engine C CXX)
set(CMAKE_CXX_STANDARD 17)
set(BUILD_SHARED_LIBS OFF)
set(LLAMA_SUBPROCESS ON)
set(LLAMA_BUILD_NUMBER 0)
set(LLAMA_BUILD_COMMIT "installed")
set(BUILD_COMPILER "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
set(BUILD_TARGET "${CMAKE_SYSTEM_PROCESSOR}")
function(llama_add_compile_flags)
endfunction()
function(license_add_file)
endfunction()
find_package(Threads REQUIRED)
add_library(llama INTERFACE)
target_include_directories(llama INTERFACE "${SOURCE}/include" "${SOURCE}/ggml/include")
target_compile_definitions(llama INTERFACE LLAMA_SHARED GGML_SHARED GGML_BACKEND_SHARED)
foreach(name llama ggml ggml-base)
  find_library(found_${name} ${name} PATHS "${INSTALLED}" NO_DEFAULT_PATH REQUIRED)
  target_link_libraries(llama INTERFACE "${found_${name}}")
endforeach()
set(CMAKE_BUILD_RPATH "${INSTALLED}")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CMAKE_EXE_LINKER_FLAGS "-Wl,-rpath-link,${INSTALLED}")
endif()
foreach(part vendor/nlohmann vendor/sheredom vendor/cpp-httplib common tools/llama-bench)
  add_subdirectory("${SOURCE}/${part}" "${part}")
endforeach()
"""


@dataclass(frozen=True, slots=True)
class Built:
    """``path`` of llama-bench; ``same_engine`` tells that it loads the installed libraries."""

    path: Path
    same_engine: bool


def built_llama_bench(folder: Path, source: Path | None = None) -> Built:
    """Return llama-bench, built if it isn't yet.

    Args:
        folder: where source and build are kept; each engine build has a folder of its own there.
        source: an unpacked source package of the installed version, or its llama.cpp; None looks
            where uv unpacks it, then downloads it.

    Raises:
        SystemExit: there is no source or no compiler; the text says what to do.
    """
    libraries = _installed_libraries()
    version = importlib.metadata.version(_PACKAGE)
    home = folder / f"{version}-{_fingerprint(libraries)}"
    for part, same in (("linked", True), ("whole", False)):
        found = _executable(home / part)
        if found is not None:
            return Built(found, same)
    if shutil.which("cmake") is None:
        raise SystemExit("Install cmake and a C++ compiler; llama-bench is built with them.")
    llama = _llama_cpp(source) if source is not None else _find_source(folder, version)
    print(f"llama-bench is built once, in {home}; this takes some minutes.", flush=True)
    linked = home / "linked"
    linked.mkdir(parents=True, exist_ok=True)
    (linked / "CMakeLists.txt").write_text(_AGAINST_INSTALLED, encoding="utf-8")
    why = _cmake(linked, linked, (f"-DSOURCE={llama}", f"-DINSTALLED={libraries}"))
    if why is None:
        return Built(_made(linked), same_engine=True)
    print(f"It can't be linked to the installed engine, so all is built.\n{why}", flush=True)
    shutil.rmtree(linked, ignore_errors=True)
    off = ("TESTS", "EXAMPLES", "SERVER", "APP")
    why = _cmake(
        llama,
        home / "whole",
        (
            "-DLLAMA_BUILD_COMMON=ON",
            "-DLLAMA_BUILD_TOOLS=ON",
            *(f"-DLLAMA_BUILD_{name}=OFF" for name in off),
            "-DLLAMA_OPENSSL=OFF",
        ),
    )
    if why is not None:
        raise SystemExit(f"llama-bench can't be built.\n{why}")
    return Built(_made(home / "whole"), same_engine=False)


def _installed_libraries() -> Path:
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        raise SystemExit("The engine isn't installed.")
    return Path(spec.origin).parent / "lib"


def _fingerprint(libraries: Path) -> str:
    """Return a short name for an engine build: another one gets another llama-bench."""
    digest = hashlib.sha256(str(libraries).encode())
    for file in sorted(libraries.iterdir()):
        digest.update(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}".encode())
    return digest.hexdigest()[:12]


def _llama_cpp(source: Path) -> Path:
    for place in (source, source / _INSIDE, source / "src" / _INSIDE):
        if (place / "tools" / "llama-bench" / "llama-bench.cpp").is_file():
            return place.resolve()
    raise SystemExit(f"{source} holds no llama.cpp with tools/llama-bench.")


def _find_source(folder: Path, version: str) -> Path:
    unpacked = folder / "source" / f"llama_cpp_python-{version}"
    if not unpacked.is_dir():
        kept = _kept_by_uv(version)
        if kept is not None:
            return kept
        _download(folder / "source", version)
    return _llama_cpp(unpacked)


def _kept_by_uv(version: str) -> Path | None:
    uv = shutil.which("uv")
    if uv is None:
        return None
    told = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=False)
    if told.returncode:
        return None
    pattern = f"sdists-*/*/{_PACKAGE}/{version}/*/src/{_INSIDE.as_posix()}"
    return next(
        (found for found in sorted(Path(told.stdout.strip()).glob(pattern)) if found.is_dir()), None
    )


def _download(into: Path, version: str) -> None:
    """Download and unpack the source package, with the pip that is at hand."""
    into.mkdir(parents=True, exist_ok=True)
    asked = ["download", "--no-deps", "--no-binary", _PACKAGE, "--dest", str(into)]
    pips = [[sys.executable, "-m", "pip"], ["uv", "tool", "run", "pip"], ["pip3"]]
    for pip in pips:
        if pip[0] != sys.executable and shutil.which(pip[0]) is None:
            continue
        done = subprocess.run([*pip, *asked, f"{_PACKAGE}=={version}"], check=False)
        packed = next(into.glob("llama_cpp_python-*.tar.gz"), None)
        if done.returncode == 0 and packed is not None:
            with tarfile.open(packed) as archive:
                archive.extractall(into, filter="data")
            return
    raise SystemExit(
        f"The source package of {_PACKAGE} {version} can't be downloaded; unpack it yourself and "
        "name it with --source."
    )


def _cmake(source: Path, build: Path, options: Sequence[str]) -> str | None:
    """Configure and build; return the end of what was said where that fails."""
    inside = build / "build" if source == build else build
    ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
    log = build.parent / f"{build.name}.log"
    build.parent.mkdir(parents=True, exist_ok=True)
    options = ("-DCMAKE_BUILD_TYPE=Release", *options)
    at_once = str(os.cpu_count() or 1)
    steps = (
        ["cmake", "-S", str(source), "-B", str(inside), *ninja, *options],
        [
            "cmake",
            "--build",
            str(inside),
            "--config",
            "Release",
            "--target",
            "llama-bench",
            "-j",
            at_once,
        ],
    )
    with log.open("w", encoding="utf-8") as told:
        for step in steps:
            done = subprocess.run(step, stdout=told, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                break
        else:
            return None
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join([*lines[-8:], f"All of it: {log}"])


def _executable(build: Path) -> Path | None:
    if not build.is_dir():
        return None
    # A folder of the build has the same name.
    return next((found for found in build.rglob(_EXECUTABLE) if found.is_file()), None)


def _made(build: Path) -> Path:
    found = _executable(build)
    if found is None:
        raise SystemExit(f"The build in {build} made no {_EXECUTABLE}.")
    return found
