"""Does each known kind of defect fail its tests? ``python -m tests.defects [WORDS]``.

Each defect of the lists beside this file is put into a copy of the tree, and the tests named with
it are run there: one of them must fail. With words, only the defects whose names hold them. Ends
with 1 if a defect is not caught, or no longer fits the source.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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


def _tested(defect: Defect, copy: Path) -> str:
    """Return what came of a defect in a copy of the tree; empty if it was caught."""
    path = copy / defect.path
    sound = path.read_text("utf-8")
    path.write_text(defect.applied(copy), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *defect.tests],
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
    except subprocess.TimeoutExpired:
        return ""  # it hangs: nobody overlooks that
    finally:
        path.write_text(sound, "utf-8")
    if done.returncode == _SOME_FAILED:
        return ""
    if done.returncode == _ALL_PASSED:
        return "no test fails"
    return "the tests could not be run:\n" + (done.stdout + done.stderr)[-2000:]


def _run(defects: Sequence[Defect], at_once: int) -> list[str]:
    """Return what is wrong, a sentence each; print how it goes."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for number in range(at_once):
            copies.put(_copy(Path(folder) / str(number)))

        def one(defect: Defect) -> str:
            copy = copies.get()
            try:
                return _tested(defect, copy)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(at_once) as pool:
            for defect, found in zip(defects, pool.map(one, defects), strict=True):
                print(f"{'NOT CAUGHT' if found else 'caught'}: {defect.name}", flush=True)
                if found:
                    wrong.append(f'"{defect.name}" ({defect.path}): {found}')
    return wrong


def main() -> int:
    """Try the defects; return 1 if one is not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.defects", description=__doc__)
    parser.add_argument("words", nargs="*", help="only defects whose names hold these")
    parser.add_argument("--check", action="store_true", help="only whether they fit the source")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    asked = parser.parse_args()
    chosen = [item for item in DEFECTS if all(word in item.name for word in asked.words)]
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
