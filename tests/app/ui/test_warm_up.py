from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer

from app.ui.warm_up import Step, WarmUp, imports, library
from tests.helpers.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]


def test_steps_are_done_in_order_and_the_end_is_told(qtbot: Any) -> None:
    done: list[int] = []
    warm_up = WarmUp(iter([partial(done.append, number) for number in range(5)]))
    with qtbot.waitSignal(warm_up.finished):
        warm_up.start()
        assert done == []
        assert warm_up.is_running
    assert done == [0, 1, 2, 3, 4]
    assert not warm_up.is_running


def test_the_window_hears_events_between_steps(qtbot: Any) -> None:
    """Ten steps of 10 ms fit into no slice: other events have their turn after each."""
    heard: list[int] = []
    done: list[int] = []
    now_s = 0.0

    def step() -> None:
        nonlocal now_s
        now_s += 0.010
        done.append(len(heard))

    timer = QTimer()
    timer.setInterval(0)
    timer.timeout.connect(lambda: heard.append(len(done)))
    warm_up = WarmUp(iter([step] * 10), clock=lambda: now_s)
    timer.start()
    with qtbot.waitSignal(warm_up.finished):
        warm_up.start()
    timer.stop()
    assert set(range(1, 10)) <= set(heard)
    assert warm_up.longest_s == pytest.approx(0.010)


def test_what_is_stopped_does_nothing_more(qtbot: Any) -> None:
    done: list[str] = []

    def stop() -> None:
        done.append("one")
        warm_up.stop()

    warm_up: WarmUp = WarmUp(iter([stop, lambda: done.append("two")]))
    warm_up.start()
    qtbot.waitUntil(lambda: bool(done))
    qtbot.wait(50)
    assert done == ["one"]


def test_a_step_that_fails_is_told_and_the_others_are_done(qtbot: Any) -> None:
    done: list[str] = []

    def fail() -> None:
        raise ImportError("no such part")

    warm_up = WarmUp(iter([fail, lambda: done.append("after")]))
    with qtbot.captureExceptions() as raised, qtbot.waitSignal(warm_up.finished):
        warm_up.start()
    assert [str(error) for _, error, _ in raised] == ["no such part"]
    assert done == ["after"]


def test_work_is_done_in_a_thread_and_waited_for(qtbot: Any) -> None:
    threads: list[int] = []
    window_heard = threading.Event()

    def work() -> None:
        if window_heard.wait(PATIENCE_S):  # it does while this work goes on
            threads.append(threading.get_ident())

    def steps() -> Iterator[Step]:
        yield lambda: work
        yield lambda: threads.append(threading.get_ident())

    warm_up = WarmUp(steps())
    QTimer.singleShot(0, window_heard.set)
    with qtbot.waitSignal(warm_up.finished):
        warm_up.start()
    assert len(threads) == 2
    assert threads[0] != threading.get_ident()
    assert threads[1] == threading.get_ident()


def test_stopped_while_a_thread_works_it_does_not_go_on(qtbot: Any) -> None:
    gate = threading.Event()
    done: list[str] = []
    warm_up = WarmUp(iter([lambda: gate.wait, lambda: done.append("after")]))
    warm_up.start()
    qtbot.waitUntil(lambda: warm_up._task is not None)
    warm_up.stop()
    gate.set()
    qtbot.wait(50)
    assert done == []


def test_a_library_that_is_there_or_missing_costs_nothing() -> None:
    assert library("json")() is None
    work = library("no_such_library_anywhere")()
    assert callable(work)
    work()


@pytest.mark.parametrize("module", ["inspector.widgets.panel", "app.ui.presenters.planner"])
def test_modules_are_imported_one_by_one_what_they_need_first(module: str) -> None:
    code = f"""
import json, sys
from app.ui.warm_up import imports
ours = ("app.", "inspector.", "gguf_tools.")
counts = []
for step in imports({module!r}):
    before = set(sys.modules)
    step()
    counts.append(sum(name.startswith(ours) for name in set(sys.modules) - before))
left = set(sys.modules)
import {module}
print(json.dumps([counts, sorted(set(sys.modules) - left)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counts, left = json.loads(done.stdout)
    assert left == []
    assert len(counts) > 20
    # A package that imports its own modules comes whole.
    assert sum(count == 1 for count in counts) > 0.8 * len(counts)
    assert max(counts) <= 20


def test_what_is_imported_already_or_not_ours_is_left_out() -> None:
    assert list(imports("app.ui.warm_up", "json", "numpy.linalg")) == []
    assert list(imports("app.no_such_module", "app.no_such_package.module")) == []
