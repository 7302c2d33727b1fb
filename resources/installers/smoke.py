"""Tries a built program out as a stranger's computer would run it.

It is copied to a folder with spaces and letters beyond ASCII in its name and started from another
one, by another user where that can be, without Python or anything else on the path, in a plain
locale and with an empty home folder. Every word on stderr counts as a failure.

``python -m resources.installers.smoke PROGRAM_FOLDER [--model]`` tries one that is built already.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from resources.installers import project
from resources.installers.project import Target

__all__ = ["check_program", "environment_for", "main"]

_LIMIT_S: Final = 300
_NOBODY: Final = 65534
_CHECKS: Final = ("program", "resources", "database", "engine", "starter", "window")


def environment_for(home: Path, system: project.System) -> dict[str, str]:
    """Return the environment of a computer that knows nothing of this one."""
    if system == "windows":
        root = os.environ.get("SYSTEMROOT", r"C:\Windows")
        return {
            "SYSTEMROOT": root,
            "PATH": rf"{root}\System32",
            "USERPROFILE": str(home),
            "LOCALAPPDATA": str(home / "Local"),
            "APPDATA": str(home / "Roaming"),
            "TEMP": str(home),
            "TMP": str(home),
        }
    nowhere = home / "nowhere"
    return {
        "HOME": str(home),
        "PATH": str(nowhere),
        "TMPDIR": str(home),
        "LC_ALL": "C",
        "LANG": "tr_TR.UTF-8",  # whose i has no upper case I
    }


class _Program:
    """The copied program and how it is started."""

    def __init__(self, folder: Path, place: Path, system: project.System) -> None:
        self._home = place / "home folder"
        self._elsewhere = place / "elsewhere"
        for path in (self._home, self._elsewhere):
            path.mkdir()
        copied = place / "Prógram ordner"
        shutil.copytree(_top(folder), copied / _top(folder).name, symlinks=True)
        name = "plimsoll.exe" if system == "windows" else "plimsoll"
        inside = folder.relative_to(_top(folder)) if folder.suffix != "" else Path()
        base = copied / _top(folder).name / inside
        self.path = base if base.is_file() else base / name
        self._environment = environment_for(self._home, system)
        self._as_user: dict[str, Any] = {}
        if os.name == "posix" and os.geteuid() == 0:
            self._as_user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            place.chmod(0o755)
            for path in (self._home, self._elsewhere):
                os.chown(path, _NOBODY, _NOBODY)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.path), *arguments],
            cwd=self._elsewhere,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
            **self._as_user,
        )


def _top(folder: Path) -> Path:
    """Return the bundle that a program lies in, or its own folder."""
    for path in (folder, *folder.parents):
        if path.suffix == ".app":
            return path
    return folder


def check_program(folder: Path, target: Target) -> list[str]:
    """Return what is wrong with a built program, one sentence each; prints what it does.

    Args:
        folder: its folder, or inside a macOS bundle the executable.
        target: what it should be.
    """
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="plimsoll smoke ", ignore_cleanup_errors=True) as name:
        program = _Program(folder, Path(name), target.system)

        def expect(arguments: Sequence[str], code: int = 0, stderr: str = "") -> str:
            started = time.monotonic()
            done = program.run(*arguments)
            spent = time.monotonic() - started
            shown = " ".join(arguments) or "(no arguments)"
            print(f"smoke: plimsoll {shown}: code {done.returncode}, {spent:.2f} s")
            if done.returncode != code:
                said = (done.stdout + done.stderr).strip()[-2000:]
                problems.append(f"'plimsoll {shown}' ended with code {done.returncode}: {said}")
            elif (stderr not in done.stderr) if stderr else done.stderr.strip():
                problems.append(f"'plimsoll {shown}' printed to stderr: {done.stderr.strip()}")
            return done.stdout

        told = expect(["--version"])
        if told.strip() != f"plimsoll {target.version}":
            problems.append(f"the program calls itself {told.strip()!r}, not {target.version}")
        told = expect(["self-test"])
        print(told, end="")
        lines = [line.split() for line in told.splitlines()]
        if [line[:2] for line in lines] != [["ok", name] for name in _CHECKS]:
            problems.append("the self-test did not pass every check")
        expect(["no-such-command"], 2, "there is no file")
        if target.system == "linux":
            expect([], 2, "there is no screen")
        if target.with_model:
            told = expect(["chat", "-p", "Say hello.", "--max-tokens", "8"], stderr="tok")
            if not told.strip():
                problems.append("the starter model said nothing")
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the program out in the folder that the arguments name."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with_model = "--model" in given
    folders = [argument for argument in given if argument != "--model"]
    if len(folders) != 1:
        print("usage: python -m resources.installers.smoke FOLDER [--model]", file=sys.stderr)
        return 2
    problems = check_program(Path(folders[0]).resolve(), project.target(with_model=with_model))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
