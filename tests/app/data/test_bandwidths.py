"""One figure for the bandwidth of main memory: which of the measurements counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.data.bandwidths import (
    bandwidths_stamp,
    disturbed_probes,
    keep_bandwidth,
    keep_decoded,
    kept_bandwidth,
    kept_probe,
    lift,
)
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES, MOST_BYTES
from app.machine import bandwidth_for
from app.paths import Paths
from gguf_tools.facts import read_facts
from gguf_tools.machine import Device, cpu_only
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from inspector.measured import DecodeSample
from inspector.records import BandwidthRecord
from tests.helpers.shape_gguf import ShapeModel

MIB = 1 << 20


def probe(
    rate: float,
    size: int = 100 * MIB,
    *,
    large: float | None = None,
    waited: bool = False,
    spread: float = 0.0,
) -> BandwidthRecord:
    samples = (rate * (1 - 2 * spread),) * 2 + (rate * (1 - spread),) * 2 + (rate,) * 5
    return BandwidthRecord(
        at_ms=1,
        threads=2,
        buffer_bytes=size,
        samples=samples,
        large_bytes_per_s=large,
        waited=waited,
    )


@pytest.fixture
def state() -> StateFile:
    return StateFile(None)


def rate(state: StateFile, size: int) -> float | None:
    found = kept_bandwidth(state, "cpu", 2, size)
    return None if found is None else found.bytes_per_s


def test_a_probe_is_kept_by_processor_threads_and_size(paths: Paths) -> None:
    state = StateFile(paths.state)
    assert kept_bandwidth(state, "cpu", 2, 100 * MIB) is None
    keep_bandwidth(state, "cpu", probe(20e9))
    again = StateFile(paths.state)
    assert kept_bandwidth(again, "cpu", 2, 100 * MIB) == probe(20e9)
    assert kept_probe(again, "cpu", 2, 110 * MIB) == probe(20e9)
    assert kept_probe(again, "cpu", 2, 200 * MIB) is None
    assert kept_bandwidth(again, "cpu", 1, 100 * MIB) is None
    assert kept_bandwidth(again, "other", 2, 100 * MIB) is None


@pytest.mark.parametrize(
    "kept", [b"", b"{", b"[]", b'{"at_ms":1,"threads":1,"buffer_bytes":1,"samples":[]}']
)
def test_a_damaged_probe_counts_as_none(kept: bytes, paths: Paths) -> None:
    state = StateFile(paths.state)
    for kind in range(32):
        state.set_blob(f"bandwidth cpu | 2 threads | 2^{kind}", kept)
        state.set_blob(f"decoded cpu | 2 threads | 2^{kind}", kept)
    assert kept_bandwidth(StateFile(paths.state), "cpu", 2, 100) is None


def test_all_that_no_cache_holds_has_one_figure(state: StateFile) -> None:
    keep_bandwidth(state, "cpu", probe(20e9, LARGE_BYTES))
    assert rate(state, MOST_BYTES) == rate(state, LARGE_BYTES) == rate(state, 40 << 30) == 20e9
    # Smaller ones are read at least as fast; without a probe of their own that is what is known.
    assert rate(state, 10 * MIB) == 20e9
    # The large buffer beside a small probe measures main memory too.
    keep_bandwidth(state, "cpu", probe(90e9, 10 * MIB, large=21e9))
    assert rate(state, MOST_BYTES) == 21e9
    assert rate(state, 10 * MIB) == 90e9


def test_a_small_buffer_is_never_slower_than_a_large_one(state: StateFile) -> None:
    keep_bandwidth(state, "cpu", probe(12e9, 100 * MIB, waited=True))
    keep_bandwidth(state, "cpu", probe(20e9, LARGE_BYTES))
    found = kept_bandwidth(state, "cpu", 2, 100 * MIB)
    assert found is not None
    assert found.bytes_per_s == 20e9
    assert found.steady  # what made the small probe slow doesn't matter any more
    assert found.probed_bytes_per_s == 12e9


def test_of_probes_that_disagree_the_best_counts(state: StateFile) -> None:
    keep_bandwidth(state, "cpu", probe(20e9, spread=0.2))
    keep_bandwidth(state, "cpu", probe(15e9, spread=0.2))
    assert rate(state, 100 * MIB) == 20e9
    # A quiet one that is slower settles it, and what was read faster stays true.
    keep_bandwidth(state, "cpu", probe(18e9))
    found = kept_bandwidth(state, "cpu", 2, 100 * MIB)
    assert found is not None
    assert (found.bytes_per_s, found.steady) == (20e9, True)


def test_who_asks_for_a_new_measurement_gets_it(state: StateFile) -> None:
    keep_bandwidth(state, "cpu", probe(20e9))
    keep_bandwidth(state, "cpu", probe(9e9, waited=True), anew=True)
    assert rate(state, 100 * MIB) == 20e9  # disturbed: no reason to forget the better one
    keep_bandwidth(state, "cpu", probe(18e9), anew=True)
    assert rate(state, 100 * MIB) == 18e9


def test_a_reply_lifts_what_memory_is_known_to_give(state: StateFile, paths: Paths) -> None:
    keep_bandwidth(state, "cpu", probe(10e9, waited=True))
    assert not keep_decoded(state, "cpu", 2, 100 * MIB, 9e9)
    assert keep_decoded(state, "cpu", 2, 100 * MIB, 12e9)
    found = kept_bandwidth(state, "cpu", 2, 100 * MIB)
    assert found is not None
    assert (found.bytes_per_s, found.steady) == (12e9, True)
    # A larger model is not in a cache that may have held this one.
    assert rate(state, MOST_BYTES) is None
    assert rate(state, 10 * MIB) == 12e9
    assert not keep_decoded(state, "cpu", 2, 100 * MIB, 11e9)
    # Without any probe a reply alone is something to go by.
    bare = StateFile(paths.state)
    assert keep_decoded(bare, "cpu", 2, 100 * MIB, 8e9)
    assert rate(StateFile(paths.state), 100 * MIB) == 8e9


def test_a_decode_above_the_ceiling_lifts_it(state: StateFile, tmp_path: Path) -> None:
    facts = read_facts(ShapeModel(layers=4).builder().write(tmp_path / "m.gguf"))
    size = facts.bytes_read_per_token or 0

    def plan(rate: float, *, gpu: bool = False) -> Plan:
        machine = cpu_only(64 << 30, 60 << 30, rate, 1e12)
        if gpu:
            card = Device(name="GPU0", kind="gpu", bandwidth_bytes_per_s=1e12)
            machine = replace(machine, accelerators=(card,))
        return make_plan(facts, LoadSettings(context=4096), machine)

    keep_bandwidth(state, "cpu", probe(10e9, size, waited=True))
    bare = plan(10e9)
    ceiling = bare.decode.ceiling
    assert ceiling is not None
    slow, fast = (DecodeSample(0, 1 / (share * ceiling)) for share in (0.8, 1.5))
    assert not lift(state, "cpu", 2, bare, (slow,))
    assert not lift(state, "cpu", 2, plan(10e9, gpu=True), (fast,))  # read by a card
    assert lift(state, "cpu", 2, bare, (slow, fast))
    known = rate(state, size)
    assert known is not None
    assert plan(known).decode.ceiling == pytest.approx(1.5 * ceiling, rel=0.01)


def test_a_disturbed_probe_is_made_again_and_a_quiet_one_kept(state: StateFile) -> None:
    busy = BandwidthRecord(at_ms=1, threads=1, buffer_bytes=MIB, samples=(3e6, 9e6, 5e6, 2e6))
    keep_bandwidth(state, "cpu", busy)
    again = bandwidth_for(state, "cpu", 1, MIB)
    assert again.bytes_per_s > 1e8  # measured, and no computer is as slow as the kept one
    assert kept_bandwidth(state, "cpu", 1, MIB) == again
    quiet = BandwidthRecord(at_ms=2, threads=1, buffer_bytes=MIB, samples=(9e14,) * 4)
    keep_bandwidth(state, "cpu", quiet)
    assert bandwidth_for(state, "cpu", 1, MIB) == quiet


def test_what_was_disturbed_below_main_memory_is_found(state: StateFile) -> None:
    keep_bandwidth(state, "cpu", probe(20e9, 100 * MIB))
    keep_bandwidth(state, "cpu", probe(20e9, 10 * MIB, waited=True))
    keep_bandwidth(state, "cpu", probe(9e9, LARGE_BYTES, waited=True))
    keep_bandwidth(state, "another cpu", probe(20e9, 20 * MIB, waited=True))
    state.set_blob("bandwidth cpu | no threads | 2^20", b"{")
    assert disturbed_probes(state, "cpu") == [(2, 10 * MIB)]
    keep_bandwidth(state, "cpu", probe(21e9, 10 * MIB))
    assert disturbed_probes(state, "cpu") == []


def test_main_memory_is_not_read_again_beside_each_size(state: StateFile) -> None:
    beside = bandwidth_for(state, "cpu", 1, MIB)
    assert beside.large_bytes_per_s is not None
    keep_bandwidth(state, "cpu", replace_threads(probe(20e9, LARGE_BYTES), 1))
    alone = bandwidth_for(state, "cpu", 1, 4 * MIB)
    kept = kept_probe(state, "cpu", 1, 4 * MIB)
    assert kept is not None
    assert kept.large_bytes_per_s is None
    assert alone.large_bytes_per_s is not None  # as the other pages have it


def replace_threads(record: BandwidthRecord, threads: int) -> BandwidthRecord:
    return msgspec.structs.replace(record, threads=threads)


def test_an_open_window_follows_what_another_process_measured(paths: Paths) -> None:
    window, terminal = StateFile(paths.state), StateFile(paths.state)
    keep_bandwidth(window, "cpu", probe(9.5e9, waited=True))
    assert rate(window, 100 * MIB) == 9.5e9
    before = bandwidths_stamp(window)
    assert bandwidths_stamp(window) == before
    keep_bandwidth(terminal, "cpu", probe(34e9))
    assert rate(window, 100 * MIB) == rate(terminal, 100 * MIB) == 34e9
    assert bandwidths_stamp(window) != before
    assert kept_probe(window, "cpu", 2, 100 * MIB) == kept_probe(terminal, "cpu", 2, 100 * MIB)


def test_without_a_file_or_with_a_lost_one_what_was_measured_stays(paths: Paths) -> None:
    state = StateFile(paths.state)
    keep_bandwidth(state, "cpu", probe(20e9))
    paths.state.unlink()
    assert rate(state, 100 * MIB) == 20e9
    paths.state.write_text("[")
    assert rate(state, 100 * MIB) == 20e9


def test_a_small_model_s_figure_names_main_memory_s_as_other_pages_do(state: StateFile) -> None:
    keep_bandwidth(state, "cpu", probe(34e9, 100 * MIB, large=9.5e9))
    keep_bandwidth(state, "cpu", probe(15.2e9, LARGE_BYTES))
    found = kept_bandwidth(state, "cpu", 2, 100 * MIB)
    assert found is not None
    assert (found.bytes_per_s, found.large_bytes_per_s, found.cached) == (34e9, 15.2e9, True)
    assert rate(state, MOST_BYTES) == 15.2e9
    main = kept_bandwidth(state, "cpu", 2, MOST_BYTES)
    assert main is not None
    assert not main.cached
