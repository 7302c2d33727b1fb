"""Does each known kind of defect fail its tests? ``python -m tests.defects [WORDS]``.

Each defect of the lists beside this file is put into a copy of the tree, and the tests named with
it are run there: one of them must fail, and pass again once the defect is taken out. With words,
only the defects whose names hold them. Ends with 1 if a defect is not caught, or no longer fits
the source.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.defects import engine, physics, store, window
from tests.defects.defect import Defect, DefectError

ROOT = Path(__file__).resolve().parents[2]
DEFECTS = (*store.DEFECTS, *engine.DEFECTS, *physics.DEFECTS, *window.DEFECTS)
_COPIED = ("app", "inspector", "gguf_tools", "tests", "resources", "pyproject.toml")
_LIMIT_S = 600
_ALL_PASSED, _SOME_FAILED = 0, 1


def _copy(folder: Path) -> Path:
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
            )
        else:
            shutil.copy2(source, folder / name)
    return folder


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a defect: by which test it was caught, or else what is wrong."""

    by: str = ""
    wrong: str = ""


def _pytest(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Return pytest's exit code and what it said, at the first failure."""
    # In order of the files: another order each time would catch a defect only sometimes.
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=copy,
        env=os.environ
        | {
            "PYTHONPATH": str(copy),  # processes of the program run the same source
            "PYTHONDONTWRITEBYTECODE": "1",
            "QT_QPA_PLATFORM": "offscreen",
        },
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _tested(defect: Defect, copy: Path) -> _Outcome:
    """Return what came of a defect in a copy of the tree."""
    path = copy / defect.path
    sound = path.read_text("utf-8")
    path.write_text(defect.applied(copy), "utf-8")
    try:
        code, said = _pytest(copy, defect.tests)
    except subprocess.TimeoutExpired:
        return _Outcome(by=f"no end within {_LIMIT_S} s")  # it hangs: nobody overlooks that
    finally:
        path.write_text(sound, "utf-8")
    if code == _ALL_PASSED:
        return _Outcome(wrong="no test fails")
    failed = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - |$)", said, re.MULTILINE)
    if code != _SOME_FAILED or failed is None:
        return _Outcome(wrong="the tests could not be run:\n" + said[-2000:])
    # A test that is red anyway has not seen the defect.
    code, said = _pytest(copy, [failed[1]])
    if code != _ALL_PASSED:
        return _Outcome(wrong=f"{failed[1]} fails without it as well:\n" + said[-2000:])
    return _Outcome(by=failed[1])


def _run(defects: Sequence[Defect], at_once: int) -> list[str]:
    """Return what is wrong, a sentence each; print how it goes."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for number in range(at_once):
            copies.put(_copy(Path(folder) / str(number)))

        def one(defect: Defect) -> _Outcome:
            copy = copies.get()
            try:
                return _tested(defect, copy)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(at_once) as pool:
            for defect, found in zip(defects, pool.map(one, defects), strict=True):
                if found.wrong:
                    print(f"NOT CAUGHT: {defect.name}", flush=True)
                    wrong.append(f'"{defect.name}" ({defect.path}): {found.wrong}')
                else:
                    print(f"caught: {defect.name}: {found.by}", flush=True)
    return wrong


def main() -> int:
    """Try the defects; return 1 if one is not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.defects", description=__doc__)
    parser.add_argument("words", nargs="*", help="only defects whose names hold these")
    parser.add_argument(
        "--tests", nargs="+", default=[""], help="only defects whose tests' names hold one of these"
    )
    parser.add_argument("--check", action="store_true", help="only whether they fit the source")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    asked = parser.parse_args()
    chosen = [
        item
        for item in DEFECTS
        if all(word in item.name for word in asked.words)
        and any(word in test for word in asked.tests for test in item.tests)
    ]
    wrong = []
    for defect in chosen:
        try:
            defect.applied(ROOT)
        except DefectError as error:
            wrong.append(str(error))
    if not wrong and not asked.check:
        wrong = _run(chosen, asked.at_once)
    print(*wrong, sep="\n")
    print(f"{len(chosen)} defects, {len(wrong)} of them not caught or out of date")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
