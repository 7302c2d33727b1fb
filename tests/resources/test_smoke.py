"""The smoke test itself: it must fail for a program that is broken in any of the ways it knows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from resources.installers import project, smoke
from resources.installers.project import Target

GOOD = """\
#!/bin/sh
case "$1" in
  --version) echo "plimsoll 1.0" ;;
  self-test)
    for n in program resources database engine starter window; do echo "ok $n fine"; done ;;
  "") echo "plimsoll: there is no screen" >&2; exit 2 ;;
  *) echo "plimsoll: there is no file" >&2; exit 2 ;;
esac
"""
TARGET = Target("1.0", "linux", "x86_64")

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="programs of these tests are scripts"
)


def program(folder: Path, text: str) -> Path:
    folder.mkdir()
    path = folder / "plimsoll"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return folder


def test_a_good_program_passes(tmp_path: Path) -> None:
    assert smoke.check_program(program(tmp_path / "good", GOOD), TARGET) == []


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("plimsoll 1.0", "plimsoll 0.9", "calls itself 'plimsoll 0.9'"),
        ("engine starter", "engine", "did not pass every check"),
        ('echo "ok $n', 'echo "FAILED $n', "did not pass every check"),
        ("  self-test)", "  self-test) echo stray >&2;", "printed to stderr: stray"),
        ('echo "plimsoll 1.0"', "exit 3", "ended with code 3"),
        ("there is no screen", "crash", "printed to stderr"),
    ],
)
def test_a_bad_program_is_caught(tmp_path: Path, good: str, bad: str, said: str) -> None:
    problems = smoke.check_program(program(tmp_path / "bad", GOOD.replace(good, bad)), TARGET)
    assert any(said in problem for problem in problems), problems


def test_the_program_meets_nothing_of_this_computer(tmp_path: Path) -> None:
    spy = GOOD.replace(
        "  --version)",
        '  --version) echo "$PATH|$HOME|$LC_ALL|$PYTHONPATH|$(pwd)|$0" >&2;',
    )
    (problem,) = smoke.check_program(program(tmp_path / "spy", spy), TARGET)
    path, home, locale, python, folder, name = problem.rpartition("stderr: ")[2].split("|")
    assert not Path(path).exists()
    assert Path(home) != Path.home()
    assert locale == "C"
    assert python == ""
    assert folder != str(Path.cwd())
    assert " " in name
    assert not name.isascii()


def test_this_systems_environment_names_no_python() -> None:
    for system in ("linux", "macos", "windows"):
        environment = smoke.environment_for(Path("/home/x"), system)
        assert "PYTHONPATH" not in environment
        assert "python" not in environment["PATH"].lower()
    assert project.HERE.name == "installers"
