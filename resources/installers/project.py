"""What every recipe needs to know of the project: its folder, version, date, and file names.

The version is that of ``pyproject.toml`` and stands nowhere else.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

__all__ = [
    "APP_ID",
    "HERE",
    "ROOT",
    "System",
    "Target",
    "commit",
    "engine_version",
    "metadata",
    "source_date",
    "target",
    "version",
]

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
APP_ID: Final = "app.plimsoll.plimsoll"
"""How desktops and macOS name the program; a reverse name that no other program has."""

System: TypeAlias = Literal["linux", "macos", "windows"]

_SYSTEMS: Final[dict[str, System]] = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_MACHINES: Final = {"amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}
_DEBIAN: Final = {"x86_64": "amd64", "arm64": "arm64"}
_RPM: Final = {"x86_64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Target:
    """What is built: for which system and processor, with or without the starter model."""

    version: str
    system: System
    machine: str
    with_model: bool = False

    @property
    def name(self) -> str:
        """Return the part of a file name before what the kind of package adds."""
        return "plimsoll-with-model" if self.with_model else "plimsoll"

    @property
    def folder(self) -> str:
        """Return the name of the program's folder inside archives."""
        return f"plimsoll-{self.version}"

    @property
    def debian_machine(self) -> str:
        """Return the processor as Debian calls it."""
        return _DEBIAN[self.machine]

    @property
    def rpm_machine(self) -> str:
        """Return the processor as RPM calls it."""
        return _RPM[self.machine]

    def file_name(self, kind: str) -> str:
        """Return an artefact's file name; the same source gives the same name.

        Args:
            kind: ``tar.gz``, ``deb``, ``rpm``, ``AppImage``, ``dmg`` or ``exe``.

        Raises:
            ValueError: there is no such kind.
        """
        if kind == "deb":
            return f"{self.name}_{self.version}_{self.debian_machine}.deb"
        if kind == "rpm":
            return f"{self.name}-{self.version}-1.{self.rpm_machine}.rpm"
        if kind in {"tar.gz", "AppImage", "dmg"}:
            return f"{self.name}-{self.version}-{self.system}-{self.machine}.{kind}"
        if kind == "exe":
            return f"{self.name}-{self.version}-{self.system}-{self.machine}-setup.exe"
        raise ValueError(f"no installer is called {kind!r}")


@cache
def metadata() -> dict[str, object]:
    """Return the ``project`` table of ``pyproject.toml``."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return table


def version() -> str:
    """Return the program's version."""
    return str(metadata()["version"])


def engine_version() -> str:
    """Return the exact version of llama-cpp-python that the program asks for.

    Raises:
        ValueError: it is not pinned; an engine pack could then not be told to fit.
    """
    dependencies = metadata()["dependencies"]
    assert isinstance(dependencies, list)
    for text in dependencies:
        name, pinned, number = str(text).partition("==")
        if name.strip() == "llama-cpp-python" and pinned:
            return number.strip()
    raise ValueError("pyproject.toml does not pin llama-cpp-python")


def target(*, with_model: bool = False) -> Target:
    """Return what this computer builds.

    Raises:
        ValueError: there is no recipe for this system.
    """
    system = _SYSTEMS.get(sys.platform)
    if system is None:
        raise ValueError(f"there is no installer recipe for {sys.platform}")
    machine = platform.machine().lower()
    return Target(version(), system, _MACHINES.get(machine, machine), with_model)


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None


def commit() -> str | None:
    """Return the commit that is built, None outside a clone."""
    return _git("rev-parse", "HEAD")


def source_date() -> int:
    """Return the time that all files in installers bear, in seconds since 1970.

    ``SOURCE_DATE_EPOCH`` wins, then the commit's time, so that two builds of one commit differ as
    little as they can; without a clone it is 1 January 2025.
    """
    asked = os.environ.get("SOURCE_DATE_EPOCH", "")
    if asked.isdigit():
        return int(asked)
    return int(_git("log", "-1", "--format=%ct") or 1_735_689_600)
