"""The one check: format, lint, types, import contracts, tests. ``python -m tests [pytest args]``.

With ``--coverage`` the tests of gguf_tools and inspector are watched while they run, and the lines
of both that none of them reached are named at the end.

Every step runs even if an earlier one failed, so that one run shows all there is to mend. Tests
run side by side; ``-n 0`` runs them one after another. A few that fail beside others are run once
more by themselves, and named: a machine that is too busy for a time limit is no fault of theirs,
and one that fails alone as well is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import coverage

ROOT = Path(__file__).resolve().parent.parent
_MOST_AGAIN = 8


def _steps(pytest_arguments: list[str]) -> list[tuple[str, list[str]]]:
    python = sys.executable
    scripts = Path(python).parent
    # One more than there are cores: most tests wait for a process that they started.
    workers = str(min(8, (os.cpu_count() or 1) + 1))
    side_by_side = ["-n", workers, "--dist", "worksteal", "--cache-clear"]
    if "-n" in pytest_arguments:
        side_by_side = []
    return [
        ("format", [python, "-m", "ruff", "format", "--check", "--quiet", "."]),
        ("lint", [python, "-m", "ruff", "check", "--quiet", "."]),
        ("types", [python, "-m", "mypy"]),
        ("imports", [str(scripts / "lint-imports"), "--no-cache"]),
        ("tests", [python, "-m", "pytest", "-q", *side_by_side, *pytest_arguments]),
    ]


def _failed_tests() -> list[str]:
    """Return the tests that failed in the last run."""
    try:
        found = json.loads((ROOT / ".pytest_cache/v/cache/lastfailed").read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return sorted(found) if isinstance(found, dict) else []


def _alone() -> int:
    """Run the failed tests once more, one after another, if they are few; return the exit code."""
    names = _failed_tests()
    if not 0 < len(names) <= _MOST_AGAIN:
        return 1
    print(
        f"--- {len(names)} failed beside others; once more alone:", *names, sep="\n    ", flush=True
    )
    command = [sys.executable, "-m", "pytest", "-q", "--last-failed", "--last-failed-no-failures"]
    return subprocess.run([*command, "none"], cwd=ROOT, check=False).returncode


def main() -> int:
    """Run all steps; return 1 if one failed."""
    arguments = [item for item in sys.argv[1:] if item != "--coverage"]
    if "--coverage" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            os.environ[coverage.FOLDER_VARIABLE] = folder
            return _run(arguments) or coverage.report(folder)
    return _run(arguments)


def _run(arguments: list[str]) -> int:
    failed = []
    for name, command in _steps(arguments):
        print(f"--- {name}", flush=True)
        started = time.monotonic()
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if name == "tests" and code == 1 and "-n" not in sys.argv:
            code = _alone()
        took_s = time.monotonic() - started
        print(f"--- {name}: {'ok' if code == 0 else 'FAILED'} in {took_s:.0f} s", flush=True)
        if code != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
