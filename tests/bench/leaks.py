"""Whether memory, threads, descriptors and child processes stay flat over many turns.

    python -m tests.bench.leaks [--turns 500] [--loads 50] [--comparisons 100]
        [--openings 200] [--themes 50] [--switches 200]

A whole window (offscreen) is driven over the scripted engine; comparisons run over it as well,
each page and each dialog is opened and closed, the theme changed, and other chats are opened.
Each series is looked at after its first fifth, when caches are filled, and at its end: what grows
in between grows for ever. Exit code 1 if something did.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from app.engine.launch import FAKE_ENGINE_VARIABLE
from app.paths import DATA_DIR_VARIABLE

if TYPE_CHECKING:
    from tests.helpers.leak_steps import Steps

_SLACK_BYTES = 6 << 20  # the allocator's own ups and downs
_SLACK = 3  # threads of the pool come and go, each with a descriptor or two


@dataclass(frozen=True, slots=True)
class Look:
    """What a process holds."""

    memory_bytes: int
    threads: int
    descriptors: int
    children: int

    @classmethod
    def now(cls) -> Look:
        """Return what this process holds, after a collection."""
        gc.collect()
        process = psutil.Process()
        return cls(
            process.memory_full_info().uss,
            process.num_threads(),
            process.num_fds(),
            len(process.children(recursive=True)),
        )


def _series(name: str, count: int, step: Callable[[int], None], rest: Callable[[], None]) -> bool:
    """Do something so often; print what grew, and return whether anything did."""
    early = max(1, count // 5)
    rest()
    before = Look.now()
    middle = before
    for number in range(count):
        step(number)
        if number + 1 == early:
            rest()
            middle = Look.now()
    rest()
    end = Look.now()
    grown = end.memory_bytes - middle.memory_bytes
    each = grown / max(count - early, 1)
    print(
        f"{name:34}{count:6}  memory {before.memory_bytes >> 20:4} → {middle.memory_bytes >> 20:4}"
        f" → {end.memory_bytes >> 20:4} MiB ({each / 1024:+.1f} KiB each)  threads "
        f"{middle.threads} → {end.threads}  descriptors {middle.descriptors} → {end.descriptors}"
        f"  children {middle.children} → {end.children}",
        flush=True,
    )
    return (
        grown > _SLACK_BYTES
        or end.threads > middle.threads + _SLACK
        or end.descriptors > middle.descriptors + _SLACK
        or end.children > middle.children
    )


def main() -> int:
    """Run the series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--loads", type=int, default=50)
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--openings", type=int, default=200, help="of each page and dialog")
    parser.add_argument("--themes", type=int, default=50, help="changes between dark and light")
    parser.add_argument("--switches", type=int, default=200, help="between chats")
    parser.add_argument("--only", default="", help="series with this in their names")
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[DATA_DIR_VARIABLE] = str(Path(folder) / "data")
        script = Path(folder) / "script.json"
        script.write_text(json.dumps({"replies": ["word " * 40], "n_ctx": 65_536}))
        os.environ[FAKE_ENGINE_VARIABLE] = str(script)
        return _drive(arguments)


def _drive(arguments: argparse.Namespace) -> int:
    from PySide6.QtWidgets import QApplication

    from app.paths import default_paths
    from app.ui.application import Application
    from tests.helpers.leak_steps import Steps
    from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

    paths = default_paths()
    paths.make()
    models = [
        str(write_tiny_model(paths.models / f"Tiny-{name}.gguf", TinyModel(layers=layers)))
        for name, layers in (("Q8_0", 2), ("Q4_0", 1))
    ]
    app = QApplication.instance() or QApplication(["plimsoll"])
    program = Application(paths, models[0])
    program.tuning.enabled = False
    program.window.show()
    steps = Steps(program, models)
    steps.ready()
    grew = [
        _series(name, count, step, steps.rest)
        for name, count, step in _all_series(steps, arguments)
        if count and arguments.only in name
    ]
    program.window.close()
    steps.until(lambda: program.has_ended)
    program.release()
    app.processEvents()
    print("something grew" if any(grew) else "flat")
    return 1 if any(grew) else 0


def _all_series(
    steps: Steps, arguments: argparse.Namespace
) -> Iterator[tuple[str, int, Callable[[int], None]]]:
    """Yield each series with its name and length; pages are made when their turn comes."""
    from tests.helpers.leak_steps import DIALOGS, PAGES

    yield "turns", arguments.turns, steps.turn
    steps.have_chats()
    yield "other chats opened", arguments.switches, steps.switch
    yield "loads", arguments.loads, steps.load
    if arguments.comparisons:
        steps.prepare_comparison()
    yield "comparisons of two", arguments.comparisons, steps.compare
    if arguments.openings:
        for name in PAGES:
            yield f"page: {name}", arguments.openings, steps.page(name)
        for name in DIALOGS:
            yield f"dialog: {name}", arguments.openings, steps.dialog(name)
    yield "themes", arguments.themes, steps.theme


if __name__ == "__main__":
    sys.exit(main())
