"""How long the program takes to a window that takes input, and to a loaded starter model.

Each start is a process of its own, in a fresh data folder or in one that was used before. The
first run of a session is the cold one: files come from the disk unless they were read lately.

    python -m tests.bench.start [--repeat 7] [--no-model]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import psutil

from app.paths import DATA_DIR_VARIABLE

_CHILD = "--child"


def _child() -> int:
    """Start the program as a user does; print when its window stood, and when a model was there."""
    begun = psutil.Process().create_time()

    def now() -> float:
        return time.time() - begun

    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app import logs
    from app.paths import default_paths
    from app.ui.application import Application

    imported = now()
    paths = default_paths()
    paths.make()
    logs.set_up(paths.logs)
    app = QApplication(["plimsoll"])
    program = Application(paths, None)
    program.tuning.enabled = False
    program.window.show()
    times: dict[str, float] = {"imported_s": imported, "shown_s": now()}

    def ready() -> None:
        # The first turn of the event loop after the first paint: from here keys are heard.
        times["input_s"] = now()
        times["input_cpu_s"] = sum(psutil.Process().cpu_times()[:2])
        if os.environ.get("PLIMSOLL_BENCH_NO_MODEL"):
            program.window.close()

    def loaded(_model: object) -> None:
        times["model_s"] = now()
        program.window.close()

    QTimer.singleShot(0, app, lambda: QTimer.singleShot(0, app, ready))
    program.models.model_loaded.connect(loaded)
    app.exec()
    program.release()
    times["modules"] = float(len(sys.modules))
    print(json.dumps(times))
    return 0


def _run(folder: str, *, model: bool) -> dict[str, float]:
    environment = os.environ | {DATA_DIR_VARIABLE: folder}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    if not model:
        environment["PLIMSOLL_BENCH_NO_MODEL"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.start", _CHILD],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Print the table."""
    if _CHILD in sys.argv:
        return _child()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--no-model", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [_run(folder, model=not arguments.no_model) for _ in range(arguments.repeat + 1)]
    first, *warm = rows
    names = ("imported_s", "shown_s", "input_s", "input_cpu_s", "model_s")
    print(f"{'':14}{'first':>9}{'median':>9}{'best':>9}")
    for name in names:
        known = [row[name] for row in warm if name in row]
        if known:
            print(f"{name:14}{first.get(name, 0):9.2f}{median(known):9.2f}{min(known):9.2f}")
    print(f"modules imported: {int(warm[-1]['modules'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
