"""Every line of the physics and of what explains it is run by a test of its own folder.

``python -m tests --coverage`` watches the tests of both while they run with all others;
``python -m tests.coverage`` runs them alone. Both end with 1 if a line of gguf_tools, or of
inspector without its widgets, is not reached, and name it. Tests of other folders don't count:
what only the program's tests reach, nobody checks for being right.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from coverage import Coverage

__all__ = ["FOLDER_VARIABLE", "WATCH", "Watch", "report"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER_VARIABLE = "PLIMSOLL_COVERAGE"
"""Names the folder that each test process leaves what it saw in; unset: nothing is watched."""

_WATCHED = (ROOT / "tests" / "gguf_tools", ROOT / "tests" / "inspector")
_NOT_WATCHED = ROOT / "tests" / "inspector" / "widgets"


class Watch:
    """Plugin that records while tests of the watched folders run, and while modules load."""

    def __init__(self, folder: str) -> None:
        self._seen = _coverage(folder)
        self._seen.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Stop: the modules are loaded."""
        self._seen.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record a test that is watched."""
        path = item.path
        watched = any(path.is_relative_to(folder) for folder in _WATCHED)
        if not watched or path.is_relative_to(_NOT_WATCHED):
            return (yield)
        self._seen.start()
        try:
            return (yield)
        finally:
            self._seen.stop()

    def pytest_unconfigure(self) -> None:
        """Leave what was seen in the folder."""
        self._seen.stop()
        self._seen.save()


def _coverage(folder: str) -> Coverage:
    from coverage import Coverage  # here and not above: most test runs are not watched

    return Coverage(
        data_file=str(Path(folder) / "seen"),
        data_suffix=True,
        config_file=str(ROOT / "pyproject.toml"),
    )


WATCH = Watch(os.environ[FOLDER_VARIABLE]) if FOLDER_VARIABLE in os.environ else None
"""Begins before any module of gguf_tools is loaded: their first lines count as well."""


def report(folder: str) -> int:
    """Print the lines that no process reached; return 1 if there are any."""
    seen = _coverage(folder)
    seen.combine()
    seen.report(show_missing=True, skip_covered=True, skip_empty=True)
    files = seen.get_data().measured_files()
    missing = sum(len(seen.analysis2(path)[3]) for path in files)
    if missing:
        print(f"{missing} lines are reached by no test of tests/gguf_tools or tests/inspector")
    return 1 if missing else 0


def main() -> int:
    """Run the tests of the watched folders, then report."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER_VARIABLE] = folder
        folders = [str(path.relative_to(ROOT)) for path in _WATCHED]
        ignored = f"--ignore={_NOT_WATCHED.relative_to(ROOT)}"
        side_by_side = ["-n", str(os.cpu_count() or 1), "--dist", "worksteal"]
        command = [sys.executable, "-m", "pytest", "-q", *side_by_side, ignored, *folders]
        code = subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, check=False).returncode
        return report(folder) or code


if __name__ == "__main__":
    sys.exit(main())
