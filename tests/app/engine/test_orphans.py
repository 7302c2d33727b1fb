"""An engine whose window or command was killed ends by itself, at once, whatever it is doing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from app.engine.launch import FAKE_ENGINE_VARIABLE, FAULTS_VARIABLE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")

_ROOT = Path(__file__).resolve().parents[3]
_GOAL_S = 2.0  # the engine has one to end in order
_SLOW_IMPORT = """
import sys, time
print("importing", file=sys.stderr, flush=True)
time.sleep(60)
"""


def _patience_s() -> float:
    """Return how long an engine may live on, on a machine that is as busy as it is now."""
    begun_s = time.monotonic()
    subprocess.run([sys.executable, "-c", "import json"], check=True)
    return _GOAL_S + 10 * (time.monotonic() - begun_s)


def _killed_parent(phase: str, model: Path, target: Path, wait_s: float, **more: str) -> float:
    """Kill a parent in a phase of its engine; return how long the engine lived on, in seconds."""
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
        _gone, alive = psutil.wait_procs(family, timeout=30)
        took_s = time.monotonic() - begun_s
    for process in alive:
        process.kill()
    assert not alive, f"{phase}: {alive} went on without a parent"
    return took_s


def test_while_it_is_imported(tmp_path: Path) -> None:
    """A busy computer takes ten seconds and more for this; here the engine's library takes 60."""
    slow = tmp_path / "slow" / "llama_cpp"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text(_SLOW_IMPORT)
    took_s = _killed_parent("starting", tmp_path, tmp_path, 2.0, PYTHONPATH=str(slow.parent))
    assert took_s < _patience_s()


@pytest.mark.parametrize("phase", ["starting", "loading", "reading a prompt"])
def test_at_any_moment(starter: Path, tmp_path: Path, phase: str) -> None:
    wait_s = random.Random(f"{phase}{os.getpid()}").uniform(0.0, 1.0)
    assert _killed_parent(phase, starter, tmp_path, wait_s) < _patience_s(), f"after {wait_s} s"


@pytest.mark.parametrize("phase", ["idle", "writing a reply"])
def test_between_tokens(starter: Path, tmp_path: Path, phase: str) -> None:
    assert _killed_parent(phase, starter, tmp_path, 0.0) < _patience_s()


@pytest.mark.parametrize("phase", ["stuck in a load", "stuck in a reply"])
def test_where_nothing_asks_whether_to_go_on(starter: Path, tmp_path: Path, phase: str) -> None:
    assert _killed_parent(phase, starter, tmp_path, 0.5) < _patience_s()


def test_while_it_makes_a_variant_and_nothing_of_that_is_left(
    starter: Path, tmp_path: Path
) -> None:
    target = tmp_path / "Made-Q6_K.gguf"
    assert _killed_parent("making a variant", starter, target, 0.3) < _patience_s()
    assert list(tmp_path.iterdir()) == []
