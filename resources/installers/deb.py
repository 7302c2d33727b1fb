"""The .deb: Debian's own control files around a staged tree, packed by ``dpkg-deb``."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from resources.installers.licence_file import bundled_libraries, system_libraries
from resources.installers.project import HERE, ROOT, Target, source_date

__all__ = ["control", "make_deb", "needed_packages"]

# An address must be one that mail could go to; this domain of GitHub's takes none.
_MAINTAINER: Final = "Plimsoll contributors <plimsoll@users.noreply.github.com>"
_DATA_PACKAGES: Final = ("xkb-data", "hicolor-icon-theme")
_RECOMMENDED: Final = ("xdg-utils", "shared-mime-info", "desktop-file-utils", "ca-certificates")
_DESCRIPTION: Final = """\
chat with local models and see what limits them
 Plimsoll chats with GGUF models on your own computer, offline. An instrument
 panel shows how deeply a model loads the computer, what that does to its
 speed, and what would change it.
 .
 The engine (llama.cpp) is inside and uses the best instructions of whichever
 64-bit processor it runs on."""


def needed_packages(tree: Path) -> list[str]:
    """Return what the program's folder needs of Debian's packages, as ``dpkg-shlibdeps`` finds it.

    Raises:
        subprocess.CalledProcessError: a library that is needed is on this computer nowhere.
    """
    private = sorted({path.parent for path in tree.rglob("*.so*")})
    binaries = [path for path in tree.rglob("*") if _is_elf(path)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "debian").mkdir()
        (Path(folder) / "debian" / "control").write_text(
            "Source: plimsoll\n\nPackage: plimsoll\nArchitecture: any\n"
        )
        command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", "--warnings=0"]
        command += [f"-l{path.resolve()}" for path in private]
        command += [f"-x{name}" for name in _owners(tree)]
        command += [f"-e{path.resolve()}" for path in binaries]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = re.search(r"shlibs:Depends=(.*)", done.stdout)
    return [] if found is None else [part.strip() for part in found[1].split(",")]


def _owners(tree: Path) -> list[str]:
    """Return the packages whose libraries the program carries itself and need not ask for."""
    libraries = system_libraries(bundled_libraries(tree))
    return [match[1] for part in libraries if (match := re.search(r"\((\S+)\)$", part.name))]


def _is_elf(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def control(target: Target, depends: list[str], installed_kib: int) -> str:
    """Return the text of the package's ``control`` file."""
    maintainer = os.environ.get("PLIMSOLL_MAINTAINER", _MAINTAINER)
    fields = {
        "Package": "plimsoll",
        "Version": target.version.replace("-", "~"),
        "Architecture": target.debian_machine,
        "Maintainer": maintainer,
        "Installed-Size": str(installed_kib),
        "Depends": ", ".join([*depends, *_DATA_PACKAGES]),
        "Recommends": ", ".join(_RECOMMENDED),
        "Section": "science",
        "Priority": "optional",
        "Description": _DESCRIPTION,
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _copyright(tree: Path) -> str:
    """Return an overview; Debian wants no full texts of common licences in this file."""
    whole = (tree / "_internal" / "resources" / "licences.txt").read_text(encoding="utf-8")
    overview = whole.partition("\n" + "=" * 20)[0].rstrip()
    own = (ROOT / "LICENSE").read_text(encoding="utf-8").strip()
    return (
        f"Plimsoll\n\n{own}\n\n"
        "It carries other programs under licences of their own. Their full texts are in\n"
        "/usr/lib/plimsoll/_internal/resources/licences.txt and in the program's About dialog;\n"
        "the common ones (Apache-2.0, GPL-3, LGPL-3) are also in /usr/share/common-licenses.\n\n"
        f"{overview}\n"
    )


def _documents(target: Target, root: Path, tree: Path) -> None:
    about = root / "usr" / "share" / "doc" / "plimsoll"
    about.mkdir(parents=True)
    (about / "copyright").write_text(_copyright(tree), encoding="utf-8")
    when = datetime.fromtimestamp(source_date(), UTC)
    maintainer = os.environ.get("PLIMSOLL_MAINTAINER", _MAINTAINER)
    changes = (
        f"plimsoll ({target.version.replace('-', '~')}) stable; urgency=medium\n\n"
        "  * See CHANGELOG.md in the source.\n\n"
        f" -- {maintainer}  {when:%a, %d %b %Y %H:%M:%S +0000}\n"
    )
    (about / "changelog.gz").write_bytes(gzip.compress(changes.encode(), 9, mtime=0))
    overrides = root / "usr" / "share" / "lintian" / "overrides" / "plimsoll"
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(HERE / "linux" / "lintian-overrides", overrides)


def make_deb(target: Target, root: Path, tree: Path, out: Path, *, fast: bool = False) -> Path:
    """Pack a staged tree; no script runs at installation, desktops see to their caches."""
    from resources.installers.linux import settle

    _documents(target, root, tree)
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    kib = sum(-(-path.stat().st_size // 1024) for path in files)
    sums = subprocess.run(
        ["md5sum", *(str(path.relative_to(root)) for path in files)],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    settle(root)
    debian = root / "DEBIAN"
    debian.mkdir()
    (debian / "control").write_text(control(target, needed_packages(tree), kib), encoding="utf-8")
    (debian / "md5sums").write_text(sums, encoding="utf-8")
    for path in (debian, *debian.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source_date())}
    command = [
        "dpkg-deb",
        "--root-owner-group",
        "-Zxz",
        f"-z{1 if fast else 6}",
        "--build",
        str(root),
        str(out),
    ]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return out
