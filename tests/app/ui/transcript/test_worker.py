from __future__ import annotations

import threading

from pytestqt.qtbot import QtBot

from app.ui.transcript.worker import Worker
from tests.helpers.patience import PATIENCE_S


def test_results_arrive_in_order_on_the_windows_thread(qtbot: QtBot) -> None:
    worker = Worker("test")
    found: list[tuple[object, object, bool]] = []
    here = threading.get_ident()
    worker.finished.connect(
        lambda key, result: found.append((key, result != here, threading.get_ident() == here))
    )
    for number in range(20):
        worker.submit(number, threading.get_ident)
    qtbot.waitUntil(lambda: len(found) == 20)
    worker.close()
    assert found == [(number, True, True) for number in range(20)]


def test_closed_worker_takes_and_tells_nothing(qtbot: QtBot) -> None:
    worker = Worker("test")
    found: list[object] = []
    worker.finished.connect(lambda key, _result: found.append(key))
    started, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        go_on.wait(PATIENCE_S)

    worker.submit("running", wait)
    worker.submit("queued", threading.get_ident)
    assert started.wait(PATIENCE_S)
    go_on.set()
    worker.close()
    worker.submit("late", threading.get_ident)
    before = {thread.name for thread in threading.enumerate()}
    assert not any(name.startswith("test") for name in before)
    assert "queued" not in found
    assert "late" not in found
