from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.ui.give_way import giving_way


def test_long_work_elsewhere_gives_way_and_work_here_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gave: list[int] = []
    clock = iter(range(100))  # each look at it finds a second gone
    monkeypatch.setattr("app.ui.give_way.time.perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr("app.ui.give_way.time.sleep", lambda _s: gave.append(threading.get_ident()))
    assert list(giving_way("abc")) == ["a", "b", "c"]
    assert gave == []
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(threading.get_ident).result()
        assert pool.submit(lambda: list(giving_way("abc"))).result() == ["a", "b", "c"]
    assert gave == [there] * 3


def test_quick_work_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    gave: list[float] = []
    monkeypatch.setattr("app.ui.give_way.time.perf_counter", lambda: 0.0)
    monkeypatch.setattr("app.ui.give_way.time.sleep", gave.append)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: list(giving_way(range(1000)))).result() == list(range(1000))
    assert gave == []
