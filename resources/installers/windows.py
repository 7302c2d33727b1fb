"""Windows: the installer by NSIS, and the version that the programs' properties show."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

from resources.installers.project import HERE, Target

__all__ = ["SCRIPT", "WINDOW_PROGRAM", "find_makensis", "make_installer", "nsis_command",
           "version_info"]  # fmt: skip

SCRIPT: Final = HERE / "windows" / "plimsoll.nsi"
WINDOW_PROGRAM: Final = "plimsoll-window.exe"
"""The program without a console; ``plimsoll.exe`` is the one for terminals."""

_INSTALLED: Final = (
    Path(r"C:\Program Files (x86)\NSIS\makensis.exe"),
    Path(r"C:\Program Files\NSIS\makensis.exe"),
)


def find_makensis() -> str | None:
    """Return the compiler of installer scripts, None where it is not installed."""
    found = shutil.which("makensis")
    if found is not None:
        return found
    return next((str(path) for path in _INSTALLED if path.is_file()), None)


def nsis_command(makensis: str, target: Target, tree: Path, icon: Path, out: Path) -> list[str]:
    """Return the command that compiles the installer of a program's folder."""
    size_kib = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) >> 10
    defines = {
        "VERSION": target.version,
        "VERSION4": ".".join(_four(target.version)),
        "TREE": tree.resolve(),
        "ICON": icon.resolve(),
        "OUT": out.resolve(),
        "SIZE_KIB": size_kib,
    }
    options = [f"-D{name}={value}" for name, value in defines.items()]
    return [makensis, "-V2", "-WX", "-INPUTCHARSET", "UTF8", *options, str(SCRIPT)]


def make_installer(target: Target, tree: Path, icon: Path, out: Path) -> Path:
    """Compile the installer.

    Raises:
        FileNotFoundError: NSIS is not installed.
        subprocess.CalledProcessError: the script does not compile.
    """
    makensis = find_makensis()
    if makensis is None:
        raise FileNotFoundError("NSIS is not installed; it makes the installer")
    subprocess.run(nsis_command(makensis, target, tree, icon, out), check=True)
    return out


def _four(version: str) -> list[str]:
    """Return a version as the four numbers that Windows knows."""
    numbers: list[str] = []
    for part in version.split("."):
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        numbers.append(digits or "0")
    return [*numbers, "0", "0", "0", "0"][:4]


def version_info(target: Target) -> str:
    """Return the version resource in the form that PyInstaller reads."""
    numbers = f"({', '.join(_four(target.version))})"
    strings = {
        "CompanyName": "Plimsoll",
        "FileDescription": "Plimsoll",
        "FileVersion": target.version,
        "LegalCopyright": "MIT licence",
        "OriginalFilename": "plimsoll.exe",
        "ProductName": "Plimsoll",
        "ProductVersion": target.version,
    }
    rows = ", ".join(f"StringStruct({name!r}, {value!r})" for name, value in strings.items())
    return (
        f"VSVersionInfo(ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3F, "
        "flags=0, OS=0x40004, fileType=1, subtype=0, date=(0, 0)), kids=["
        f"StringFileInfo([StringTable('040904B0', [{rows}])]), "
        "VarFileInfo([VarStruct('Translation', [1033, 1200])])])\n"
    )
