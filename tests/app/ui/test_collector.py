from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.ui.collector import Collector


@pytest.fixture
def collector(qtbot: QtBot) -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


class _Knot:
    """An object that holds itself."""

    def __init__(self) -> None:
        self.me = self


def test_the_interpreter_does_not_collect_by_itself_meanwhile(collector: Collector) -> None:
    before = gc.get_stats()
    knots = [[_Knot()] for _ in range(5000)]  # many times what starts a collection
    assert gc.get_stats() == before
    assert not gc.isenabled()
    del knots


def test_cycles_are_collected_between_events(collector: Collector, qtbot: QtBot) -> None:
    watched = weakref.ref(_Knot())
    assert watched() is not None
    kept = [[] for _ in range(5000)]  # type: ignore[var-annotated]
    qtbot.waitUntil(lambda: watched() is None)
    del kept


def test_a_burst_of_data_is_not_looked_at(collector: Collector, qtbot: QtBot) -> None:
    gc.collect()
    looked: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            looked.append(len(gc.get_objects(generation=0)))

    data = [[number] for number in range(100_000)]
    gc.callbacks.append(note)
    try:
        qtbot.waitUntil(lambda: bool(looked))
    finally:
        gc.callbacks.remove(note)
    assert looked[0] < 10_000
    assert gc.get_freeze_count() > 100_000
    del data


def test_data_that_came_in_parts_is_not_looked_at_either(
    collector: Collector, qtbot: QtBot
) -> None:
    gc.collect()
    whole: list[list[list[int]]] = []
    for _ in range(12):  # each survives a look at what is young
        whole.append([[number] for number in range(5000)])
        gc.collect(0)
    assert len(gc.get_objects(generation=1)) > 50_000
    looked: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"]:
            looked.append(len(gc.get_objects(generation=1)))

    gc.callbacks.append(note)
    try:
        qtbot.waitUntil(lambda: gc.get_freeze_count() > 50_000)
    finally:
        gc.callbacks.remove(note)
    assert looked == []
    del whole


def test_what_is_kept_is_not_looked_at_again(collector: Collector) -> None:
    gc.collect()
    collector.keep()
    assert gc.get_freeze_count() > 1000
    assert len(gc.get_objects()) < 1000


def test_everything_is_given_back(qtbot: QtBot) -> None:
    turn_s, frozen = sys.getswitchinterval(), gc.get_freeze_count()
    gc.enable()
    collector = Collector()
    assert sys.getswitchinterval() < turn_s
    collector.keep()
    collector.close()
    collector.close()
    assert gc.isenabled()
    assert gc.get_freeze_count() <= frozen
    assert sys.getswitchinterval() == pytest.approx(turn_s)


def test_an_interpreter_that_did_not_collect_before_does_not_after(qtbot: QtBot) -> None:
    gc.disable()
    Collector().close()
    assert not gc.isenabled()
