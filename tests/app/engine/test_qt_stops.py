"""What is told of an engine that was told to stop, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from pytestqt.qtbot import QtBot

from app.engine.qt_stops import StopWatch


@dataclass
class _Told:
    watch: StopWatch
    seconds: list[float] = field(default_factory=list)


@pytest.fixture
def told(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> _Told:
    monkeypatch.setattr("app.engine.qt_stops._SIGN_MS", 1)
    monkeypatch.setattr("app.engine.qt_stops._AGAIN_MS", 60)
    found = _Told(StopWatch())
    found.watch.overdue.connect(found.seconds.append)
    return found


def test_who_waits_is_told_again_after_a_while(qtbot: QtBot, told: _Told) -> None:
    told.watch.wait()  # nothing was told to stop: nobody waits for anything
    told.watch.asked(1)
    qtbot.waitUntil(lambda: len(told.seconds) == 1)
    qtbot.wait(100)
    assert len(told.seconds) == 1  # once, unless somebody waits
    told.watch.wait()
    qtbot.waitUntil(lambda: len(told.seconds) == 2)
    assert told.seconds[1] - told.seconds[0] > 0.06  # counted from the order
    told.watch.heard(1, final=True)
    assert told.seconds[2:] == [0.0]
    told.watch.wait()
    qtbot.wait(100)
    assert len(told.seconds) == 3


def test_another_request_is_no_sign(qtbot: QtBot, told: _Told) -> None:
    told.watch.asked(1)
    told.watch.heard(2, final=True)
    qtbot.waitUntil(lambda: len(told.seconds) == 1)
    told.watch.heard(1, final=False)  # it still works on it: told anew if that was the last sign
    assert told.seconds[1:] == [0.0]
    qtbot.waitUntil(lambda: len(told.seconds) == 3)
    told.watch.clear()
    assert told.seconds[3:] == [0.0]
