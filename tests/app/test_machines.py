"""This computer for models of many sizes: which probe of memory counts for which."""

from __future__ import annotations

import pytest

from app.data.probe import keep_bandwidth
from app.data.state import StateFile
from app.engine.bandwidth import MOST_BYTES
from app.engine.protocol import Hello
from app.engine.threads import clamp_threads, cpu_name
from app.machines import Machines
from inspector.records import BandwidthRecord

GIB = 1 << 30


@pytest.fixture
def state() -> StateFile:
    return StateFile(None)


def hello() -> Hello:
    return Hello(protocol=1, pid=1, engine="test", devices=(), system_info="", cpu=cpu_name())


def keep(state: StateFile, size: int, rate: float) -> None:
    record = BandwidthRecord(
        at_ms=1, threads=clamp_threads(None), buffer_bytes=size, samples=(rate,)
    )
    keep_bandwidth(state, cpu_name(), record)


def rate(machines: Machines, bytes_per_token: int) -> float | None:
    return machines.of(bytes_per_token).cpu.bandwidth_bytes_per_s


def test_each_size_has_its_own_probe(state: StateFile) -> None:
    keep(state, 64 << 20, 90e9)
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    assert rate(machines, 64 << 20) == 90e9
    assert rate(machines, 8 * GIB) == 20e9
    # A size that was never probed gets main memory's figure.
    assert rate(machines, 200 << 20) == 20e9
    assert machines.of(8 * GIB).cpu.bandwidth_basis == "measured"


def test_without_a_probe_nothing_is_invented(state: StateFile) -> None:
    machines = Machines(state, hello(), may_measure=False)
    bare = machines.of(GIB).cpu
    assert bare.bandwidth_basis != "measured"


def test_a_probe_is_made_once_and_kept(state: StateFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.machines.LARGE_BYTES", 8 << 20)  # a probe of half a GiB takes a while
    machines = Machines(state, hello(), may_measure=True)
    measured = rate(machines, GIB)
    assert measured is not None
    assert measured > 1e8
    assert rate(machines, 8 << 20) == measured
    again = Machines(state, hello(), may_measure=False)
    assert rate(again, 8 << 20) == measured
