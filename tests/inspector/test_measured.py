from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.data.decode_rates import DecodeRates
from app.data.state import StateFile
from gguf_tools.expected import decode_key
from gguf_tools.machine import DecodeFit
from gguf_tools.plan import Plan
from inspector.measured import (
    DecodeSample,
    fit_decode,
    fit_words,
    likely_parts,
    read_rate,
    samples_of,
    token_reads,
    undisturbed,
)
from inspector.planned import step_point
from tests.inspector.conftest import card, machine, stats

PlanOf = Callable[..., Plan]
BIG = {"head_length": 64, "embedding": 512, "heads": 8, "kv_heads": 8, "context": 8192}


def at(plan: Plan, depth: int, weights: float, cache: float) -> DecodeSample:
    """Return a rate of a machine whose parts take so many times what is likely."""
    parts = likely_parts(plan, depth)
    assert parts is not None
    return DecodeSample(depth, parts[0] * weights + parts[1] * cache)


def key_of(plan: Plan) -> str:
    return decode_key(plan.memory.settings, plan.memory.placement)


def test_both_parts_are_found_where_depths_tell_them_apart(plan_of: PlanOf) -> None:
    plan = plan_of(model=BIG, n_ctx=8192)
    samples = [at(plan, depth, 1.7, 0.6) for depth in (0, 1000, 4000, 8000)]
    slow = at(plan, 2000, 5.0, 5.0)  # while another program ran
    fit = fit_decode(plan, [*samples, slow], key_of(plan))
    assert fit is not None
    assert fit.weights == pytest.approx(1.7, rel=0.01)
    assert fit.cache == pytest.approx(0.6, rel=0.01)
    assert (fit.count, fit.deepest) == (5, 8000)


def test_one_depth_scales_both_alike(plan_of: PlanOf) -> None:
    plan = plan_of(model=BIG, n_ctx=8192)
    fit = fit_decode(plan, [at(plan, 500, 2.0, 2.0), at(plan, 520, 2.0, 2.0)], key_of(plan))
    assert fit is not None
    assert fit.weights == pytest.approx(fit.cache)
    assert fit.weights == pytest.approx(2.0, rel=0.01)
    assert fit_decode(plan, [], key_of(plan)) is None


def test_what_was_measured_narrows_the_prediction(plan_of: PlanOf) -> None:
    plan = plan_of(model=BIG, n_ctx=8192)
    before = step_point(plan, 3000)
    assert before.low is not None
    assert before.high is not None
    assert before.high / before.low > 1.5
    rates = DecodeRates(StateFile(None), cpu="a cpu", engine="b1", threads=2)
    assert rates.fitted(plan, "file") is plan
    learnt = [at(plan, depth, 1.4, 0.9) for depth in (10, 2000, 6000)]
    assert rates.learn(plan, "file", learnt)
    fitted = rates.fitted(plan, "file")
    point = step_point(fitted, 3000)
    truth = 1.0 / at(plan, 3000, 1.4, 0.9).seconds
    assert point.low is not None
    assert point.high is not None
    assert point.low < truth < point.high
    assert (point.low + point.high) / 2 == pytest.approx(truth, rel=0.02)
    assert point.high / point.low < 1.2
    assert point.ceiling == before.ceiling


def test_other_settings_and_other_models_are_less_certain(plan_of: PlanOf) -> None:
    state = StateFile(None)
    rates = DecodeRates(state, cpu="a cpu", engine="b1", threads=2)
    plan = plan_of(model=BIG, n_ctx=8192)
    rates.learn(plan, "file", [at(plan, depth, 1.4, 0.9) for depth in (10, 2000, 6000)])
    other = rates.fitted(plan, "another file")
    assert other.machine.fit is not None
    assert not other.machine.fit.own
    point = step_point(other, 3000)
    assert point.low is not None
    assert point.high is not None
    assert 1.4 < point.high / point.low < 1.8
    quantised = plan_of(model=BIG, n_ctx=8192, type_k="q8_0", type_v="q8_0")
    assert rates.fitted(quantised, "file").machine.fit is not None
    more = DecodeRates(state, cpu="a cpu", engine="b1", threads=4)
    assert more.fitted(plan, "file") is plan  # threads change everything
    assert DecodeRates(state, cpu="a cpu", engine="b2", threads=2).fitted(plan, "file") is plan


def test_rates_survive_a_start_and_stay_few(plan_of: PlanOf, tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "state.json"
    plan = plan_of(model=BIG, n_ctx=8192)
    rates = DecodeRates(StateFile(path), cpu="c", engine="e", threads=1)
    for _ in range(60):
        rates.learn(plan, "file", [at(plan, 100, 3.0, 3.0)])
    again = DecodeRates(StateFile(path), cpu="c", engine="e", threads=1)
    fit = again.fitted(plan, "file").machine.fit
    assert fit is not None
    assert fit.count == 48
    assert not rates.learn(plan, "", [at(plan, 100, 3.0, 3.0)])


def test_a_plan_with_a_fit_learns_as_one_without(plan_of: PlanOf) -> None:
    rates = DecodeRates(StateFile(None), cpu="c", engine="e", threads=1)
    plan = plan_of(model=BIG, n_ctx=8192)
    samples = [at(plan, depth, 2.0, 1.0) for depth in (10, 4000, 8000)]
    rates.learn(plan, "file", samples)
    fitted = rates.fitted(plan, "file")
    rates.learn(fitted, "file", samples)
    fit = rates.fitted(plan, "file").machine.fit
    assert fit is not None
    assert fit.weights == pytest.approx(2.0, rel=0.01)


def test_only_plain_replies_of_some_length_are_measurements() -> None:
    assert samples_of(stats(prompt_tokens=100)) == (DecodeSample(150, 0.02),)
    assert samples_of(stats(reply_tokens=8)) == ()
    assert samples_of(stats(replies_at_once=2)) == ()
    assert samples_of(stats(drafted_tokens=30)) == ()


def test_without_a_bandwidth_nothing_is_fitted(plan_of: PlanOf) -> None:
    plan = plan_of(model=BIG, n_ctx=8192)
    host = replace(plan.machine.cpu, bandwidth_bytes_per_s=None)
    blind = replace(plan, machine=replace(plan.machine, cpu=host))
    assert likely_parts(blind, 100) is None
    assert fit_decode(blind, [DecodeSample(10, 0.01)], "key") is None


def test_rates_of_one_device_say_nothing_about_another(plan_of: PlanOf) -> None:
    rates = DecodeRates(StateFile(None), cpu="c", engine="e", threads=1)
    first = plan_of(machine(card(description="Card A")), model=BIG, n_ctx=8192)
    rates.learn(first, "file", [at(first, depth, 1.4, 0.9) for depth in (10, 2000, 6000)])
    assert rates.fitted(first, "file").machine.fit is not None
    other = plan_of(machine(card(description="Card B")), model=BIG, n_ctx=8192)
    assert rates.fitted(other, "file") is other
    plain = plan_of(model=BIG, n_ctx=8192)
    assert rates.fitted(plain, "file") is plain


def test_what_the_processor_read_alone(plan_of: PlanOf) -> None:
    plan = plan_of(model=BIG, n_ctx=8192)
    reads = token_reads(plan, 100)
    assert reads is not None
    total = sum(item.total for item in reads)
    found = read_rate(plan, DecodeSample(100, 0.5))
    assert found is not None
    assert found[0] == round(total)
    assert found[1] == pytest.approx(total / 0.5)
    assert read_rate(plan, DecodeSample(100, 0.0)) is None
    elsewhere = plan_of(machine(card()), model=BIG, n_ctx=8192)
    assert read_rate(elsewhere, DecodeSample(100, 0.5)) is None
    unknown = replace(plan, facts=replace(plan.facts, shape=None))
    assert token_reads(unknown, 100) is None


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (None, "from the memory's bandwidth"),
        (DecodeFit(weights=1, cache=1, spread=0.1, key="k"), "from 1 measured run of this model"),
        (
            DecodeFit(weights=1, cache=1, spread=0.1, key="k", runs=3, own=False),
            "from 3 measured runs of another model",
        ),
        (
            DecodeFit(weights=1, cache=1, spread=0.1, key="k", own=False, other_settings=True),
            "from 1 measured run of this model with other settings",
        ),
        (
            DecodeFit(weights=1, cache=1, spread=0.1, key="k", busy=True),
            "from 1 measured run of this model, measured while busy",
        ),
    ],
)
def test_on_what_a_prediction_rests(fit: DecodeFit | None, words: str) -> None:
    assert fit_words(fit) == words


def test_a_rate_too_slow_to_tell_the_parts_apart(plan_of: PlanOf) -> None:
    # A computer that slept during the only long reply: its time says nothing of the cache.
    plan = plan_of(model=BIG, n_ctx=8192)
    short = [at(plan, 0, 1.3, 1.3), at(plan, 0, 1.3, 1.3)]
    fit = fit_decode(plan, [*short, DecodeSample(8000, 10_000.0)], key_of(plan))
    assert fit is not None
    assert fit.weights == fit.cache == pytest.approx(1.3)


def test_a_rate_below_one_token_a_second_is_a_measurement() -> None:
    slow = stats(reply_tokens=101, decode_s=200.0)
    assert samples_of(slow) == (DecodeSample(150, 2.0),)


def test_rates_much_slower_than_others_at_like_depths_are_left_out(plan_of: PlanOf) -> None:
    plan = plan_of(model=BIG, n_ctx=8192)
    disturbed = [at(plan, depth, 2.0, 2.0) for depth in (500, 520)]
    fresh = [at(plan, depth, 1.0, 1.0) for depth in (490, 510, 530)]
    assert undisturbed(plan, disturbed, fresh) == ((), tuple(fresh))
    assert undisturbed(plan, fresh, disturbed) == (tuple(fresh), ())
    near = [at(plan, depth, 1.1, 1.1) for depth in (500, 520)]  # within what quiet runs differ by
    assert undisturbed(plan, near, fresh) == (tuple(near), tuple(fresh))
    deep = [at(plan, 8000, 2.0, 2.0)]  # of another depth: nothing is known about it
    assert undisturbed(plan, deep, fresh) == (tuple(deep), tuple(fresh))
