"""How long the program takes to a window that takes keys, and to a loaded starter model.

Each start is a process of its own, by the same way as a user's, in a fresh data folder and then in
the same one again. The first one is the first after an installation: Python has no bytecode of the
program yet and writes it. The others find it, as all later starts of a user do (the environment
of some build machines forbids bytecode; it is allowed here, in a folder of its own).

    python -m tests.bench.start [--repeat 7] [--no-model] [--no-bytecode]

What is measured, from the time at which the process was made: ``shown``, the window was asked to
show; ``input``, a key that was sent to the window stands in the composer; ``settled``, all that
the window does by itself between events is done; ``model``, the starter model is loaded.
Beside the times: the processor time of this process until the key stood there, the modules that
were imported by then, and the longest time in which the window heard nothing while it settled.
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

from app.paths import DATA_DIR_VARIABLE

_CHILD = "--child"
_BEGUN = "PLIMSOLL_BENCH_BEGUN"
_NO_MODEL = "PLIMSOLL_BENCH_NO_MODEL"
_ROWS = ("shown_s", "input_s", "input_cpu_s", "settled_s", "longest_slice_s", "model_s")


def _child() -> int:
    """Start the program as `app.ui.start.run` does; print what was measured."""
    begun = float(os.environ[_BEGUN])
    times: dict[str, float] = {}

    def now() -> float:
        return time.time() - begun

    import gc

    gc.disable()
    from PySide6.QtCore import QCoreApplication, QEvent, Qt
    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QApplication

    from app import logs
    from app.paths import default_paths
    from app.ui.single_instance import SingleInstance
    from app.ui.start import begin, show_window

    paths = default_paths()
    paths.make()
    logs.set_up(paths.logs)
    app = QApplication(["plimsoll"])
    instance = SingleInstance(paths.data, app)
    instance.hand_over("")
    instance.listen()
    program = show_window(paths, None, *begin(paths))
    times["shown_s"] = now()
    gc.freeze()
    gc.enable()
    handle = program.window.windowHandle()
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        key = QKeyEvent(kind, Qt.Key.Key_X, Qt.KeyboardModifier.NoModifier, "x")
        QCoreApplication.postEvent(handle, key)
    composer = program.window.chat.composer
    wanted = {"input_s", "settled_s"} | (set() if os.environ.get(_NO_MODEL) else {"model_s"})

    def took(name: str) -> None:
        times[name] = now()
        if wanted <= times.keys():
            program.window.close()

    def typed() -> None:
        if composer.text() == "x" and "input_s" not in times:
            times["input_cpu_s"] = time.process_time()
            times["modules"] = float(len(sys.modules))
            composer.set_text("")
            took("input_s")

    def settled() -> None:
        times["longest_slice_s"] = program.warm_up.longest_s
        program.tuning.enabled = False
        took("settled_s")

    composer.draft_changed.connect(typed)
    program.warm_up.finished.connect(settled)
    program.models.model_loaded.connect(lambda _model: took("model_s"))
    app.exec()
    instance.close()
    program.release()
    times["modules_in_all"] = float(len(sys.modules))
    print(json.dumps(times))
    return 0


def _run(folder: str, *, model: bool, bytecode: bool) -> dict[str, float]:
    environment = os.environ | {DATA_DIR_VARIABLE: f"{folder}/data"}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    if bytecode:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
    if not model:
        environment[_NO_MODEL] = "1"
    environment[_BEGUN] = repr(time.time())
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
    parser.add_argument("--no-model", action="store_true", help="end before a model is loaded")
    parser.add_argument(
        "--no-bytecode", action="store_true", help="as the environment has it, perhaps without"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            _run(folder, model=not arguments.no_model, bytecode=not arguments.no_bytecode)
            for _ in range(arguments.repeat + 1)
        ]
    first, *later = rows
    print(f"{'':16}{'first':>9}{'median':>9}{'best':>9}")
    for name in _ROWS:
        known = [row[name] for row in later if name in row]
        if known:
            print(f"{name:16}{first.get(name, 0):9.3f}{median(known):9.3f}{min(known):9.3f}")
    last = later[-1] if later else first
    print(f"modules imported: {int(last['modules'])} by then, {int(last['modules_in_all'])} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
