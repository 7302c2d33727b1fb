from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from resources.installers import icons, windows
from resources.installers.project import Target

TARGET = Target("1.2.3", "windows", "x86_64")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "_internal").mkdir(parents=True)
    for name in ("plimsoll.exe", windows.WINDOW_PROGRAM, "_internal/python311.dll"):
        (folder / name).write_bytes(b"MZ" + bytes(4000))
    return folder


def test_the_installer_compiles_without_a_warning(tree: Path, tmp_path: Path) -> None:
    """`-WX` in the command makes every warning an error."""
    makensis = windows.find_makensis()
    if makensis is None:
        pytest.skip("NSIS is not installed")
    icon = tmp_path / "plimsoll.ico"
    icon.write_bytes(icons.as_ico({size: icons.png(size) for size in (16, 32, 48, 256)}))
    out = tmp_path / TARGET.file_name("exe")
    command = windows.nsis_command(makensis, TARGET, tree, icon, out)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    data = out.read_bytes()
    assert data[:2] == b"MZ"
    assert "1.2.3".encode("utf-16-le") in data  # the version resource


def test_the_script_needs_no_administrator_and_keeps_chats() -> None:
    script = windows.SCRIPT.read_text(encoding="utf-8")
    assert "RequestExecutionLevel user" in script
    assert "HKLM" not in script
    assert not re.search(r"RMDir /r \"\$INSTDIR\"\s*$", script, re.MULTILINE)
    chats = script.index('RMDir /r "$LOCALAPPDATA\\${NAME}"')
    section = script.rindex("Section", 0, chats)
    assert script[section:].startswith("Section /o")  # not chosen unless the user does


def test_the_uninstaller_takes_back_what_the_installer_wrote() -> None:
    script = windows.SCRIPT.read_text(encoding="utf-8")
    install, _, remove = script.partition('Section "un.')
    written = set(re.findall(r'WriteReg\w+ HKCU "([^"]+)"', install))
    for key in written:
        whole = any(f'DeleteRegKey HKCU "{parent}"' in remove for parent in _parents(key))
        assert whole or f'DeleteRegValue HKCU "{key}"' in remove, key
    for link in re.findall(r'CreateShortcut "([^"]+)"', install):
        assert f'Delete "{link}"' in remove


def _parents(key: str) -> list[str]:
    parts = key.split("\\")
    return ["\\".join(parts[: end + 1]) for end in range(len(parts))]


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("1.2.3", "1, 2, 3, 0"), ("1.2rc1", "1, 2, 0, 0"), ("1.2.3.4.5", "1, 2, 3, 4")],
)
def test_windows_gets_four_numbers(version: str, numbers: str) -> None:
    text = windows.version_info(Target(version, "windows", "x86_64"))
    assert f"filevers=({numbers})" in text
    assert f"StringStruct('ProductVersion', {version!r})" in text
    compile(text, "version.txt", "eval")
