"""Writes ``licences.txt``: the licences of all that a built program carries, in one file.

Python packages tell theirs; what is no package (Python, Qt, llama.cpp, the starter model, libraries
of the system that are bundled on Linux) is added here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from resources.installers.project import HERE, Target
from resources.licences import Licence, fonts, gather, render

__all__ = ["bundled_libraries", "licence_file", "system_libraries"]

_TEXTS: Final = HERE / "licences"
_QT: Final = """\
Qt and its Python binding (PySide6, shiboken6) are used under the GNU Lesser General Public
License, version 3. They are separate files in this program's folder (PySide6, shiboken6) and may
be replaced by other builds of the same version; nothing in Plimsoll's own licence forbids that, or
taking the program apart for it. Their source is at https://download.qt.io/official_releases/.

The Lesser General Public License adds to the General Public License; both follow.

"""
_OF_THE_SYSTEM: Final = re.compile(r"lib[\w+.-]+\.so[.\d]*")


def _text(name: str) -> str:
    return (_TEXTS / name).read_text(encoding="utf-8")


def _python() -> Licence:
    for folder in (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)):
        for name in ("LICENSE.txt", "LICENSE"):
            if (folder / name).is_file():
                text = (folder / name).read_text(encoding="utf-8", errors="replace")
                return Licence("Python", sys.version.split()[0], "PSF-2.0", text)
    about = Path("/usr/share/doc/python3/copyright")  # where Debian's own Python keeps it
    return Licence("Python", sys.version.split()[0], "PSF-2.0", about.read_text(encoding="utf-8"))


def _parts(target: Target) -> Iterator[Licence]:
    yield from gather(also=("pyinstaller",))
    yield _python()
    qt = _QT + _text("LGPL-3.0.txt") + "\n\n" + _text("GPL-3.0.txt")
    yield Licence("Qt", "6", "LGPL-3.0-only", qt)
    yield Licence("llama.cpp and ggml", "", "MIT", _text("llama.cpp.txt"))
    if target.with_model:
        yield Licence(
            "SmolLM2 135M Instruct (the starter model)", "", "Apache-2.0", _text("Apache-2.0.txt")
        )


def licence_file(target: Target, libraries: Iterable[Licence] = ()) -> str:
    """Return the text of the file."""
    return render(_parts(target), fonts(), libraries)


def bundled_libraries(tree: Path) -> list[str]:
    """Return the names of the system's libraries that a Linux program's folder carries."""
    inside = tree / "_internal"
    return sorted(
        path.name
        for path in inside.glob("lib*.so*")
        if not path.is_symlink() and _OF_THE_SYSTEM.fullmatch(path.name)
    )


def system_libraries(names: Iterable[str]) -> list[Licence]:
    """Return the licences of libraries that Debian's packages on this computer own.

    Libraries that no package owns are left out; they belong to Python packages or to Python.
    """
    owners: dict[str, list[str]] = {}
    for name in names:
        done = subprocess.run(
            ["dpkg", "-S", f"*/{name}"], capture_output=True, text=True, check=False
        )
        for line in done.stdout.splitlines():
            package, _, path = line.partition(": ")
            if "/usr/lib/" in path or path.startswith("/lib/"):
                owners.setdefault(package.partition(":")[0], []).append(name)
                break
    found = []
    for package, files in sorted(owners.items()):
        about = Path("/usr/share/doc") / package / "copyright"
        if about.is_file():
            text = about.read_text(encoding="utf-8", errors="replace")
            found.append(Licence(f"{', '.join(files)} ({package})", "", "see below", text))
    return found
