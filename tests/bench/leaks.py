"""Whether memory, threads, descriptors and child processes stay flat over many turns.

    python -m tests.bench.leaks [--turns 500] [--loads 50] [--comparisons 100]

A whole window (offscreen) is driven over the scripted engine; comparisons run over it as well.
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
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.engine.launch import FAKE_ENGINE_VARIABLE
from app.paths import DATA_DIR_VARIABLE

_PATIENCE_S = 120.0
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


def _series(name: str, count: int, step: Callable[[int], None]) -> bool:
    """Do something so often; print what grew, and return whether anything did."""
    early = max(1, count // 5)
    before = Look.now()
    middle = before
    for number in range(count):
        step(number)
        if number + 1 == early:
            middle = Look.now()
    end = Look.now()
    grown = end.memory_bytes - middle.memory_bytes
    each = grown / max(count - early, 1)
    print(
        f"{name:24}{count:6}  memory {before.memory_bytes >> 20:4} → {middle.memory_bytes >> 20:4}"
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
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[DATA_DIR_VARIABLE] = str(Path(folder) / "data")
        script = Path(folder) / "script.json"
        script.write_text(json.dumps({"replies": ["word " * 40], "n_ctx": 65_536}))
        os.environ[FAKE_ENGINE_VARIABLE] = str(script)
        return _drive(Path(folder), arguments)


def _drive(folder: Path, arguments: argparse.Namespace) -> int:
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from app.paths import default_paths
    from app.ui.application import Application
    from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

    models = [
        str(write_tiny_model(folder / f"Tiny-{name}.gguf", TinyModel(layers=layers)))
        for name, layers in (("Q8_0", 2), ("Q4_0", 1))
    ]
    paths = default_paths()
    paths.make()
    app = QApplication.instance() or QApplication(["plimsoll"])
    program = Application(paths, models[0])
    program.tuning.enabled = False
    program.window.show()

    def until(done: Callable[[], bool]) -> None:
        end_s = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > end_s:
                raise TimeoutError("something did not come to its end in two minutes")
            QTest.qWait(2)

    def turn(number: int) -> None:
        if number % 50 == 0:
            program.window.sidebar.new_chat_requested.emit()
            QTest.qWait(20)
        before = len(program.controller.path) if program.controller.conversation else 0
        program.chat.send(f"Message {number}")
        until(lambda: len(program.controller.path) > before)
        until(lambda: not program.controller.runner.is_running)

    def load(number: int) -> None:
        program.models.load(models[number % 2])
        until(lambda: program.engine.state.status == "loading")
        until(lambda: program.engine.state.status == "ready")
        QTest.qWait(50)

    def compare(_number: int) -> None:
        program.compare.start("Hello")
        until(lambda: not program.compare.is_running)

    until(lambda: program.engine.state.status == "ready" and not program.warm_up.is_running)
    QTest.qWait(1500)  # plots are made after the window stands
    grew = []
    if arguments.turns:
        grew.append(_series("turns", arguments.turns, turn))
    if arguments.loads:
        grew.append(_series("loads", arguments.loads, load))
    if arguments.comparisons:
        program.compare.set_options({"quality": False, "measure_rates": False, "max_tokens": 20})
        program.compare.choose(models)
        until(lambda: program.compare.record is not None)
        grew.append(_series("comparisons of two", arguments.comparisons, compare))
    program.window.close()
    until(lambda: program.has_ended)
    program.release()
    app.processEvents()
    print("something grew" if any(grew) else "flat")
    return 1 if any(grew) else 0


if __name__ == "__main__":
    sys.exit(main())
