"""Makes an engine pack: ``python -m resources.installers.engine_pack vulkan`` (or ``cuda``).

A pack is a .zip with one folder: the libraries of one backend, built with the very engine that the
installers carry, and ``pack.json``, which says so. Unpacked into the ``engines`` folder of the data
folder, or beside the program, it is found at the next start (`app.engine.packs`).

Building one needs the backend's own tools: the CUDA toolkit, or Vulkan's headers and ``glslc``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from resources.installers import engine, project
from resources.installers.project import ROOT, Target

__all__ = ["main", "pack_name", "write_pack"]

_NAMES: Final = {"cuda": "CUDA", "vulkan": "Vulkan", "rpc": "RPC"}


def pack_name(target: Target, backend: str) -> str:
    """Return the pack's file name, which says for which engine it is."""
    version = project.engine_version()
    return f"plimsoll-engine-{backend}-{version}-{target.system}-{target.machine}.zip"


def write_pack(wheel: Path, backend: str, out: Path, also: Sequence[Path] = ()) -> Path:
    """Take a backend's libraries out of an engine's wheel and pack them.

    Args:
        wheel: of the portable engine, built with this backend.
        backend: as in the library's name, such as ``vulkan``.
        out: the .zip to write; the same input gives the same bytes.
        also: libraries that the backend needs and that computers don't have (CUDA's runtime).

    Raises:
        ValueError: the wheel has no library of that backend.
    """
    inside: dict[str, bytes] = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            file = PurePosixPath(name).name
            stem = file.removeprefix("lib").removeprefix("ggml-")
            ours = name.startswith("llama_cpp/lib/") and stem != file
            if ours and stem.startswith(backend) and file.endswith((".so", ".dll", ".dylib")):
                inside[file] = archive.read(name)
    if not inside:
        raise ValueError(f"{wheel.name} was built without {backend}")
    manifest = {
        "name": _NAMES.get(backend, backend),
        "engine": project.engine_version(),
        "libraries": sorted(inside),
    }
    for path in also:
        inside[path.name] = path.read_bytes()
    inside["pack.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    when = time.gmtime(max(project.source_date(), 315_532_800))[:6]  # zip knows no time before 1980
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(inside.items()):
            entry = zipfile.ZipInfo(f"{backend}/{name}", when)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the engine with a backend and pack what that adds."""
    parser = argparse.ArgumentParser(prog="python -m resources.installers.engine_pack")
    parser.add_argument("backend", choices=sorted(engine.PACK_OPTIONS))
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--wheels", type=Path, help="folder with the wheel, or for it")
    parser.add_argument("--jobs", type=int)
    parser.add_argument(
        "--library", type=Path, action="append", default=[], help="to be packed too; repeatable"
    )
    options = parser.parse_args(arguments)
    target = project.target()
    wheels = options.wheels or ROOT / "build" / "installers" / f"wheels-{options.backend}"
    wheel = engine.make_wheel(
        target.system, target.machine, wheels, jobs=options.jobs, pack=options.backend
    )
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / pack_name(target, options.backend)
    write_pack(wheel, options.backend, path, options.library)
    print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
