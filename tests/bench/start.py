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
from typing import Any

from app.paths import DATA_DIR_VARIABLE
from tests.helpers.start_child import BEGUN, NO_MODEL

_ROWS = ("shown_s", "input_s", "input_cpu_s", "settled_s", "longest_slice_s", "model_s")


def _run(folder: str, *, model: bool, bytecode: bool) -> dict[str, Any]:
    environment = os.environ | {DATA_DIR_VARIABLE: f"{folder}/data"}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    if bytecode:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
    if not model:
        environment[NO_MODEL] = "1"
    environment[BEGUN] = repr(time.time())
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.start_child"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Print the table."""
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
    print(f"modules: {len(last['modules'])} by then, {len(last['modules_in_all'])} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
