"""Kills the parent of an engine's process in a phase, and waits until that process has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import psutil

from app.engine.launch import FAKE_ENGINE_VARIABLE, FAULTS_VARIABLE

__all__ = ["PHASES", "killed_parent"]

PHASES: Final = (
    "starting",
    "idle",
    "loading",
    "stuck in a load",
    "reading a prompt",
    "writing a reply",
    "stuck in a reply",
    "making a variant",
)
"""What the engine may be at; where it is stuck, nothing in it asks whether to go on."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_LOOK_S: Final = 0.01
_PATIENCE_S: Final = 30.0  # what is stuck here goes on for a minute and more


def killed_parent(phase: str, model: Path, target: Path, wait_s: float, **more: str) -> float:
    """Kill a parent in a phase of its engine; return how long the engine lived on, in seconds.

    Args:
        phase: one of `PHASES`.
        model: that is loaded.
        target: that a variant is made as.
        wait_s: how long after the phase was reached, in seconds.
        more: variables of the environment.

    Raises:
        AssertionError: the engine did not end by itself.
    """
    environment = os.environ | {FAULTS_VARIABLE: "1"} | more
    environment.pop(FAKE_ENGINE_VARIABLE, None)
    arguments = ["-m", "tests.helpers.doomed_parent", phase, str(model), str(target)]
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        time.sleep(wait_s)
        family = [worker, *worker.children(recursive=True)]
        assert all(process.is_running() for process in family)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        begun_s = time.monotonic()
        while (alive := [item for item in family if not _has_ended(item)]) and (
            time.monotonic() - begun_s < _PATIENCE_S
        ):
            time.sleep(_LOOK_S)
        took_s = time.monotonic() - begun_s
    for process in alive:
        process.kill()
    assert not alive, f"{phase}, after {wait_s:.3f} s: {alive} went on without a parent"
    return took_s


def _has_ended(process: psutil.Process) -> bool:
    """Tell whether a process has ended, be it that nobody has asked for its exit code yet.

    An orphan is left to the system's first process, and that of a container takes seconds to ask.
    """
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
