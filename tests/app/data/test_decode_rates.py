"""Rates of runs that other programs disturbed, and a bandwidth that is known better afterwards."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from app.data.decode_rates import DecodeRates
from app.data.state import StateFile
from gguf_tools.facts import read_facts
from gguf_tools.machine import DecodeFit, Machine
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from inspector.measured import DecodeSample, likely_parts
from tests.helpers.shape_gguf import ShapeModel
from tests.inspector.conftest import cpu, machine

DEPTHS = (20, 200, 400)


@pytest.fixture
def rates() -> DecodeRates:
    return DecodeRates(StateFile(None), cpu="a cpu", engine="b1", threads=2)


def plan_at(folder: Path, bandwidth: float = 40e9, layers: int = 8) -> Plan:
    path = folder / f"{layers}.gguf"
    if not path.exists():
        ShapeModel(layers=layers, context=8192).builder().write(path)
    host: Machine = machine(host=cpu(bandwidth_bytes_per_s=bandwidth))
    return make_plan(read_facts(path), LoadSettings(context=4096), host)


def run_of(plan: Plan, times: float, depths: tuple[int, ...] = DEPTHS) -> list[DecodeSample]:
    """Return rates of a run that took so many times what is likely."""
    found = []
    for depth in depths:
        parts = likely_parts(plan, depth)
        assert parts is not None
        found.append(DecodeSample(depth, sum(parts) * times))
    return found


def fit_of(rates: DecodeRates, plan: Plan, model: str = "file") -> DecodeFit:
    fit = rates.fitted(plan, model).machine.fit
    assert fit is not None
    return fit


def test_a_faster_run_takes_the_place_of_slower_ones(rates: DecodeRates, tmp_path: Path) -> None:
    """Nobody noticed what slowed the first two down."""
    plan = plan_at(tmp_path)
    for _ in range(2):
        assert rates.learn(plan, "file", run_of(plan, 2.2, (20, 100, 200, 300, 400)))
    assert rates.learn(plan, "file", run_of(plan, 1.0))
    fit = fit_of(rates, plan)
    assert (fit.runs, fit.count, fit.busy) == (1, 3, False)
    assert fit.weights == pytest.approx(1.0, rel=0.01)


def test_a_slower_run_changes_nothing(rates: DecodeRates, tmp_path: Path) -> None:
    plan = plan_at(tmp_path)
    rates.learn(plan, "file", run_of(plan, 1.0))
    before = fit_of(rates, plan)
    assert not rates.learn(plan, "file", run_of(plan, 1.5))
    assert fit_of(rates, plan) == before


def test_runs_that_agree_count_together(rates: DecodeRates, tmp_path: Path) -> None:
    plan = plan_at(tmp_path)
    for times in (1.0, 1.1, 0.95):
        assert rates.learn(plan, "file", run_of(plan, times))
    fit = fit_of(rates, plan)
    assert (fit.runs, fit.count) == (3, 9)
    assert fit.weights == pytest.approx(1.0, rel=0.01)


def test_busy_runs_are_marked_until_a_quiet_one_is_known(
    rates: DecodeRates, tmp_path: Path
) -> None:
    plan = plan_at(tmp_path)
    assert not rates.learn(plan, "file", run_of(plan, 1.1), busy=True)
    assert rates.is_empty
    assert rates.learn(plan, "file", run_of(plan, 1.1), busy=True, even_busy=True)
    assert fit_of(rates, plan).busy
    assert fit_of(rates, plan, "another").busy
    assert rates.learn(plan, "file", run_of(plan, 1.2))
    quiet = fit_of(rates, plan)
    assert (quiet.busy, quiet.runs, quiet.count) == (False, 1, 3)
    assert quiet.weights == pytest.approx(1.2, rel=0.01)
    for even_busy in (False, True):
        assert not rates.learn(plan, "file", run_of(plan, 1.1), busy=True, even_busy=even_busy)
    assert fit_of(rates, plan) == quiet


def test_a_busy_run_that_is_faster_counts_and_stays_marked(
    rates: DecodeRates, tmp_path: Path
) -> None:
    plan = plan_at(tmp_path)
    rates.learn(plan, "file", run_of(plan, 2.0))
    assert rates.learn(plan, "file", run_of(plan, 1.2), busy=True)
    fit = fit_of(rates, plan)
    assert (fit.busy, fit.runs) == (True, 1)
    assert fit.weights == pytest.approx(1.2, rel=0.01)


def test_rates_at_other_depths_stay(rates: DecodeRates, tmp_path: Path) -> None:
    """A cache that costs more than is likely makes a long chat slow; nothing disturbed it."""
    plan = plan_at(tmp_path)
    rates.learn(plan, "file", run_of(plan, 1.0, (1,)))
    assert rates.learn(plan, "file", run_of(plan, 3.0, (4000,)))
    assert fit_of(rates, plan).count == 2


def test_of_other_models_a_quiet_one_counts_before_a_busy_one(
    rates: DecodeRates, tmp_path: Path
) -> None:
    plan, other = plan_at(tmp_path), plan_at(tmp_path, layers=16)
    rates.learn(other, "other", run_of(other, 1.3))
    rates.learn(plan, "file", run_of(plan, 2.5), busy=True, even_busy=True)
    fit = fit_of(rates, plan_at(tmp_path, layers=7), "third")
    assert (fit.busy, fit.own) == (False, False)
    assert fit.weights == pytest.approx(1.3, rel=0.01)


@pytest.mark.parametrize("model", ["file", "another"])
def test_a_higher_bandwidth_never_lowers_what_is_realistic(
    rates: DecodeRates, tmp_path: Path, model: str
) -> None:
    """Arithmetic holds the model back from some bandwidth on, which tells nothing of the run."""
    learnt = plan_at(tmp_path, 3.4e9)
    rates.learn(learnt, "file", run_of(learnt, 1.4))
    found = []
    for bandwidth in (1e9, 2e9, 3.4e9, 5e9, 12.2e9, 40e9, 400e9):
        plan = rates.fitted(plan_at(tmp_path, bandwidth), model)
        assert plan.decode.expected_low is not None
        assert plan.decode.expected_high is not None
        assert plan.decode.ceiling is not None
        assert plan.decode.expected_high <= plan.decode.ceiling
        found.append((plan.decode.expected_low, plan.decode.expected_high))
    for (low, high), (next_low, next_high) in pairwise(found):
        assert next_low >= low * 0.999
        assert next_high >= high * 0.999
    # Above the bandwidth of then the run's seconds count, as they were measured.
    then, far = found[2], found[-1]
    assert far[0] == pytest.approx(then[0], rel=0.03)


def test_a_small_model_s_arithmetic_does_not_slow_a_larger_one_that_waits_for_memory(
    tmp_path: Path,
) -> None:
    """The small one is read from a cache; with its bandwidth measured anew its share is small."""
    large = plan_at(tmp_path, 12.2e9, layers=16)
    seconds = run_of(plan_at(tmp_path, 12.2e9), 1.1)
    found = []
    for bandwidth in (12.2e9, 20e9, 60e9, 200e9):
        rates = DecodeRates(StateFile(None), cpu="c", engine="e", threads=1)
        assert rates.learn(plan_at(tmp_path, bandwidth), "small", seconds)
        fit = fit_of(rates, large, "large")
        assert fit.weights >= 1.0  # no better than likely
        decode = rates.fitted(large, "large").decode
        assert decode.expected_low is not None
        assert decode.expected_high is not None
        found.append((decode.expected_low, decode.expected_high))
    for low, high in found[1:]:
        assert low == pytest.approx(found[0][0], rel=0.02)
        assert high == pytest.approx(found[0][1], rel=0.02)


def test_a_cache_makes_no_larger_model_faster_than_likely(tmp_path: Path) -> None:
    small, large = plan_at(tmp_path, 60e9), plan_at(tmp_path, 12.2e9, layers=16)
    rates = DecodeRates(StateFile(None), cpu="c", engine="e", threads=1)
    rates.learn(small, "small", run_of(small, 1.2))
    assert 1.0 <= fit_of(rates, large, "large").weights <= 1.2


def test_what_an_earlier_version_kept_is_read(rates: DecodeRates, tmp_path: Path) -> None:
    plan = plan_at(tmp_path)
    state = StateFile(None)
    old = DecodeRates(state, cpu="c", engine="e", threads=1)
    old.learn(plan, "file", run_of(plan, 1.2))
    (name,) = state.blobs("decode ")
    kept = state.blob(name)
    assert kept is not None
    (group,) = msgspec.json.decode(kept)
    group["samples"] = [sample[:2] for sample in group["samples"]]
    del group["bandwidth_bytes_per_s"], group["reading"]
    plain = msgspec.json.encode([group])
    state.set_blob(name, plain)
    faster = plan_at(tmp_path, 80e9)
    assert fit_of(old, plan) == replace(fit_of(old, plan), busy=False)
    assert fit_of(old, faster, "other").weights == pytest.approx(1.2, rel=0.01)
