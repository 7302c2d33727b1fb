"""Does a test see it when the physics is wrong? ``python -m tests.mutants [PATH ...]``.

Makes small faults in gguf_tools and in the Qt-free part of inspector, one at a time: another
operator, a number one too large, a condition turned round, a statement left out. Each runs the
tests of both packages that reach its line, quickest first. What no test sees is printed: a test is
missing, or the fault changes nothing, which ``equivalent.txt`` says with the reason.

A runner of our own because what keeps the figures right here lies where others do not look:
mutmut leaves alone what is decorated (every property and cached function) and what stands outside
functions (tables, defaults); cosmic-ray starts the tests anew for each fault.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.mutants.runner import Forks, Loop, Outcome
from tests.mutants.sites import Module, Site, read_module

_TOLD = 100  # every so many faults it says how far it is
ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
TESTS = ["tests/gguf_tools", "tests/inspector", "--ignore=tests/inspector/widgets"]
_QUIET = ["-q", "-s", "-p", "no:randomly", "--timeout=0", "-o", "faulthandler_timeout=0"]
_QUIET += ["-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--no-summary"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("paths", nargs="*", help="files or folders; all without")
    parser.add_argument(
        "--seed", type=int, default=1, help="which faults are tried, in which order"
    )
    parser.add_argument("--most", type=int, default=1000, help="how many faults (default 1000)")
    parser.add_argument(
        "--minutes", type=float, default=20, help="ends after so long at the latest"
    )
    parser.add_argument(
        "--patience", type=float, default=10, help="seconds of tests for each fault"
    )
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tests", nargs="+", default=TESTS, help="what pytest is given")
    parser.add_argument("--again", type=Path, help="only what an earlier output says survived")
    parser.add_argument("--fast", action="store_true", help="without the tests that ask the engine")
    return parser.parse_args()


def _files(asked: list[str]) -> list[Path]:
    if not asked:
        asked = ["gguf_tools", "inspector"]
    found: list[Path] = []
    for name in asked:
        path = (ROOT / name).resolve()
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path for path in found if "widgets" not in path.parts]


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return the faults that change nothing, by file, line and fault, with the reason."""
    found = {}
    for line in EQUIVALENT.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            path, text, what, reason = line.split(" | ")
            found[path.strip(), text.strip(), what.strip()] = reason.strip()
    return found


def _name(module: Module, site: Site) -> str:
    """Return a fault's name: file, line's text and what is other, the line's number left out."""
    return f"{site.path.relative_to(ROOT).as_posix()} | {module.text(site)} | {site.what}"


def _survivors(output: Path) -> set[str]:
    """Return the names of the faults that an output calls survivors."""
    lines = output.read_text("utf-8").splitlines()
    found = (line.partition(": ")[2] for line in lines if line.startswith(("surv", "unre")))
    return {re.sub(r":\d+ \|", " |", line, count=1) for line in found}


class _Tally:
    """Counts, prints what survives, and says when the time is over."""

    def __init__(self, modules: list[Module], ends: float) -> None:
        self.counts: Counter[str] = Counter()
        self._modules = {module.path: module for module in modules}
        self._equivalents = equivalents()
        self._ends = ends

    def __call__(self, outcome: Outcome) -> bool:
        site, fate = outcome.site, outcome.fate
        name = site.path.relative_to(ROOT).as_posix()
        text = self._modules[site.path].text(site)
        if fate in {"survived", "unreached"} and (name, text, site.what) in self._equivalents:
            fate = "equivalent"
        self.counts[fate] += 1
        if fate in {"survived", "unreached"}:
            print(f"{fate}: {name}:{site.line} | {text} | {site.what}", flush=True)
        tried = self.counts.total()
        if tried % _TOLD == 0:
            print(
                f"{tried} tried, {self.counts['killed'] + self.counts['timeout']} killed",
                flush=True,
            )
        return time.monotonic() < self._ends


def main() -> int:
    """Try the faults; return 1 if one survived."""
    asked = _arguments()
    modules = [read_module(path) for path in _files(asked.paths)]
    every = [site for module in modules for site in module.sites if site.inside is not None]
    if asked.again is not None:
        kept = _survivors(asked.again)
        by_path = {module.path: module for module in modules}
        every = [site for site in every if _name(by_path[site.path], site) in kept]
    chosen: list[Site] = random.Random(asked.seed).sample(every, min(asked.most, len(every)))
    tally = _Tally(modules, time.monotonic() + 60 * asked.minutes)
    loop = Loop(modules, chosen, Forks(asked.at_once), tally, asked.patience)
    with ExitStack() as servers:
        tests = list(asked.tests)
        if asked.fast:
            tests += [
                f"--ignore=tests/gguf_tools/test_{name}.py" for name in ("engine", "families")
            ]
        else:
            from tests.mutants.recorded import record

            record(servers)
        pytest.main([*_QUIET, *tests], plugins=[loop])
    if loop.red:
        print("left out, since they fail without a fault:", *loop.red, sep="\n    ")
    counted = ", ".join(f"{number} {fate}" for fate, number in sorted(tally.counts.items()))
    print(f"{len(every)} faults known, {sum(tally.counts.values())} tried: {counted}")
    return 1 if tally.counts["survived"] + tally.counts["unreached"] else 0


if __name__ == "__main__":
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    sys.exit(main())
