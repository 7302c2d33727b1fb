from __future__ import annotations

import gc
import threading

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThreadPool, QTimer
from pytestqt.exceptions import capture_exceptions
from pytestqt.qtbot import QtBot

from app.ui import tasks
from app.ui.tasks import Throttle, run
from tests.helpers.patience import PATIENCE_MS, PATIENCE_S


@pytest.fixture
def parent(qtbot: QtBot) -> QObject:
    return QObject()


def test_work_runs_elsewhere_and_its_result_arrives_here(qtbot: QtBot, parent: QObject) -> None:
    here = threading.get_ident()
    worked: list[int] = []
    got: list[tuple[str, int]] = []

    def work() -> str:
        worked.append(threading.get_ident())
        return "result"

    run(work, lambda result: got.append((result, threading.get_ident())), None, parent)
    qtbot.waitUntil(lambda: bool(got))
    assert got == [("result", here)]
    assert worked[0] != here


def test_an_error_arrives_here(qtbot: QtBot, parent: QObject) -> None:
    def work() -> str:
        raise OSError("disk is gone")

    failures: list[Exception] = []
    run(work, lambda _result: pytest.fail("no result"), failures.append, parent)
    qtbot.waitUntil(lambda: bool(failures))
    assert str(failures[0]) == "disk is gone"


def test_an_error_nobody_takes_is_raised_here(qtbot: QtBot, parent: QObject) -> None:
    def work() -> str:
        raise ValueError("a bug")

    with capture_exceptions() as raised:
        run(work, lambda _result: None, None, parent)
        qtbot.waitUntil(lambda: bool(raised))
    assert raised[0][0] is ValueError


def test_a_parent_that_is_gone_gets_nothing(qtbot: QtBot) -> None:
    parent = QObject()
    may_end = threading.Event()
    got: list[int] = []

    def work() -> int:
        may_end.wait(PATIENCE_S)
        return 1

    run(work, got.append, None, parent)
    parent.deleteLater()
    del parent
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    may_end.set()
    qtbot.waitUntil(lambda: not tasks._running)
    assert got == []


def test_a_cancelled_task_gets_nothing(qtbot: QtBot, parent: QObject) -> None:
    got: list[int] = []
    task = run(lambda: 1, got.append, None, parent)
    task.cancel()
    qtbot.waitUntil(lambda: not tasks._running)
    assert got == []


def test_a_task_outlives_a_caller_that_keeps_no_reference(qtbot: QtBot, parent: QObject) -> None:
    got: list[int] = []
    for number in range(50):
        run(lambda number=number: number, got.append, None, parent)  # type: ignore[misc]
    gc.collect()
    qtbot.waitUntil(lambda: len(got) == 50)
    assert sorted(got) == list(range(50))
    assert tasks.end_all(PATIENCE_MS)


def test_at_the_end_nothing_begins_and_nothing_is_delivered(
    qtbot: QtBot, parent: QObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_running", set())
    release, begun = threading.Event(), threading.Semaphore(0)
    got: list[int] = []
    worked: list[int] = []

    def work(number: int) -> int:
        worked.append(number)
        begun.release()
        release.wait(PATIENCE_S)
        return number

    threads = tasks._pool().maxThreadCount()
    for number in range(threads + 3):
        run(lambda number=number: work(number), got.append, None, parent)  # type: ignore[misc]
    for _ in range(threads):
        assert begun.acquire(timeout=PATIENCE_S)
    assert not tasks.end_all(10)  # what runs can't be ended by force
    release.set()
    assert tasks.end_all(PATIENCE_MS)
    assert sorted(worked) == list(range(threads))
    assert not tasks._running
    QCoreApplication.processEvents()
    assert got == []


def test_work_that_outlives_the_program_says_nothing(
    qtbot: QtBot,
    parent: QObject,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its task is gone with the program: there is nobody to tell, and nothing to complain of."""
    monkeypatch.setattr(tasks, "_running", set())
    complaints: list[object] = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    release, ended = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(PATIENCE_S)
        ended.set()

    task = run(work, lambda _none: pytest.fail("delivered"), None, parent)
    shiboken6.delete(task)
    release.set()
    assert ended.wait(PATIENCE_S)
    assert QThreadPool.globalInstance().waitForDone(PATIENCE_MS)
    assert complaints == []
    assert capfd.readouterr().err == ""


def test_the_first_call_goes_through_and_the_last_of_the_others(qtbot: QtBot) -> None:
    calls: list[int] = []
    throttle: Throttle[[int]] = Throttle(20, calls.append)
    for number in range(5):
        throttle.call(number)
    assert calls == [0]
    assert throttle.is_waiting
    qtbot.waitUntil(lambda: calls == [0, 4])


def test_calls_stay_apart_while_they_keep_coming(qtbot: QtBot) -> None:
    calls: list[int] = []
    throttle: Throttle[[int]] = Throttle(10_000, calls.append)
    throttle.call(1)
    throttle.call(2)
    throttle._timer.timeout.emit()
    throttle.call(3)
    assert calls == [1, 2]  # the interval began anew with the joined call
    throttle.flush()
    assert calls == [1, 2, 3]


def test_no_timer_runs_when_idle(qtbot: QtBot) -> None:
    calls: list[int] = []
    throttle: Throttle[[int]] = Throttle(5, calls.append)
    throttle.call(1)
    qtbot.waitUntil(lambda: not throttle._timer.isActive())
    assert calls == [1]
    assert not throttle.is_waiting


def test_a_cancelled_call_is_forgotten(qtbot: QtBot) -> None:
    calls: list[int] = []
    throttle: Throttle[[int]] = Throttle(10_000, calls.append)
    throttle.call(1)
    throttle.call(2)
    throttle.cancel()
    throttle.call(3)
    assert calls == [1, 3]
    throttle.cancel()


def test_a_throttle_dies_with_its_parent(qtbot: QtBot) -> None:
    parent = QObject()
    calls: list[int] = []
    throttle: Throttle[[int]] = Throttle(5, calls.append, parent)
    throttle.call(1)
    throttle.call(2)
    parent.deleteLater()
    del parent
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    ended: list[bool] = []
    QTimer.singleShot(20, lambda: ended.append(True))
    qtbot.waitUntil(lambda: bool(ended))
    assert calls == [1]


def test_long_tasks_leave_room_for_a_short_one(qtbot: QtBot, parent: QObject) -> None:
    """Two cores would have two threads, and two long tasks would keep all others waiting."""
    release = threading.Event()
    done: list[str] = []
    ended: list[bool] = []
    for _ in range(3):
        run(lambda: release.wait(PATIENCE_S), ended.append, None, parent)
    run(lambda: "short", done.append, None, parent)
    qtbot.waitUntil(lambda: done == ["short"])
    assert not ended
    release.set()
    qtbot.waitUntil(lambda: len(ended) == 3)
