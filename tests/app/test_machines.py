"""This computer for models of many sizes: which probe of memory counts for which."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from app.data.bandwidths import keep_bandwidth, keep_decoded, kept_bandwidth, kept_probe
from app.data.state import StateFile
from app.data.tunings import KeptTuning, Tunings, model_shape
from app.engine.bandwidth import MOST_BYTES
from app.engine.protocol import Hello, LoadOptions
from app.engine.recording import fingerprint
from app.engine.threads import clamp_threads, cpu_name
from app.machine import machine_for
from app.machines import Machines, decode_rates
from app.tuned import key_of
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import OF_LARGER, Machine
from gguf_tools.plan import kernel_features, make_plan
from inspector.measured import DecodeSample
from inspector.planned import load_settings
from inspector.records import BandwidthRecord
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30


@pytest.fixture
def state() -> StateFile:
    return StateFile(None)


def hello() -> Hello:
    return Hello(protocol=1, pid=1, engine="test", devices=(), system_info="", cpu=cpu_name())


def amx() -> Hello:
    info = "CPU : AVX2 = 1 | AMX_INT8 = 1 | REPACK = 1 | "
    return Hello(protocol=1, pid=1, engine="test", devices=(), system_info=info, cpu=cpu_name())


def keep(state: StateFile, size: int, rate: float) -> None:
    record = BandwidthRecord(
        at_ms=1, threads=clamp_threads(None), buffer_bytes=size, samples=(rate,)
    )
    keep_bandwidth(state, cpu_name(), record)


def rate(machines: Machines, bytes_per_token: int) -> float | None:
    return machines.of(bytes_per_token).cpu.bandwidth_bytes_per_s


def test_a_prompt_is_predicted_by_the_threads_that_read_it(
    state: StateFile, tmp_path: Path
) -> None:
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    facts = read_facts(ShapeModel().builder().write(tmp_path / "m.gguf"))

    def prefill(options: LoadOptions) -> float:
        load = load_settings(msgspec.to_builtins(options), facts)
        expected = make_plan(facts, load, machines.of(8 * GIB, options)).prefill.expected
        assert expected is not None
        return expected

    cores = clamp_threads(64)  # as many as there are
    one, many = LoadOptions(threads=1), LoadOptions(threads=1, threads_batch=64)
    assert prefill(many) == pytest.approx(cores * prefill(one), rel=0.01)
    assert prefill(LoadOptions(threads=64)) == pytest.approx(cores * prefill(one), rel=0.01)
    # Decoding is not told to be faster by them.
    assert machines.of(8 * GIB, many).cpu.flops_per_s == machines.of(8 * GIB, one).cpu.flops_per_s


def test_each_size_has_its_own_probe(state: StateFile) -> None:
    keep(state, 64 << 20, 90e9)
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    assert rate(machines, 64 << 20) == 90e9
    assert rate(machines, 8 * GIB) == 20e9
    # A size that was never probed gets main memory's figure: it is no slower.
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


def test_each_size_is_measured_where_figures_must_be_as_those_of_one_model(
    state: StateFile,
) -> None:
    keep(state, MOST_BYTES, 1e6)  # slower than any computer
    size, threads = 4 << 20, clamp_threads(None)
    assert rate(Machines(state, hello(), may_measure=True), size) == 1e6
    assert kept_probe(state, cpu_name(), threads, size) is None
    measured = rate(Machines(state, hello(), may_measure=True, each_size=True), size)
    assert measured is not None
    assert measured > 1e8
    assert kept_probe(state, cpu_name(), threads, size) is not None
    # Whoever asks from now on gets that figure: the Models page, the panel.
    known = kept_bandwidth(state, cpu_name(), threads, size)
    assert known is not None
    assert rate(Machines(state, hello(), may_measure=False), size) == known.bytes_per_s


# --- how a model would be loaded, and its rates


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_facts(ShapeModel(layers=8).builder().write(tmp_path / "m.gguf"))


def test_rates_follow_what_was_measured_here(state: StateFile, facts: ModelFacts) -> None:
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    bare = machines.plan(facts, {})
    assert bare.machine.fit is None
    assert machines.fit(facts, {}).decode_words == "from the memory's bandwidth"
    assert bare.decode.expected_high is not None
    slow = tuple(DecodeSample(depth, 4.0 / bare.decode.expected_high) for depth in (10, 900, 4000))
    options = machines.options(facts, {})
    rates = decode_rates(state, hello(), options)
    assert rates.learn(bare, fingerprint(facts.path), slow)
    assert rates.learn(bare, fingerprint(facts.path), slow)
    fitted = machines.plan(facts, {})
    assert fitted.decode.expected_high is not None
    assert fitted.decode.expected_high < bare.decode.expected_high / 3
    assert fitted.decode.ceiling == bare.decode.ceiling
    assert fitted.memory == bare.memory
    assert machines.fit(facts, {}).decode_words == "from 2 measured runs of this model"
    # Other threads were not measured.
    assert machines.plan(facts, {"threads": 1 + clamp_threads(None) % 2}).machine.fit is None


def test_another_model_s_measurements_are_said_to_be_that(
    state: StateFile, facts: ModelFacts, tmp_path: Path
) -> None:
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    other = read_facts(ShapeModel(layers=6).builder().write(tmp_path / "other.gguf"))
    plan = machines.plan(facts, {})
    rates = decode_rates(state, hello(), machines.options(facts, {}))
    assert rates.learn(plan, fingerprint(facts.path), (DecodeSample(10, 0.5),))
    words = machines.fit(other, {}).decode_words
    assert words == "from 1 measured run of another model"
    # The same model with other settings says more than another one with these.
    own = machines.fit(facts, {"type_k": "q8_0"}).decode_words
    assert own == "from 1 measured run of this model with other settings"
    # A variant that is only planned is not the file that was measured.
    assert machines.plan(facts, {}).machine.fit.own  # type: ignore[union-attr]
    made_of = machines.plan(facts, {}, is_made=False).machine.fit
    assert made_of is not None
    assert not made_of.own
    assert not made_of.other_settings


def test_of_other_models_the_nearest_in_size_counts(state: StateFile, tmp_path: Path) -> None:
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    models = [
        read_facts(ShapeModel(layers=layers).builder().write(tmp_path / f"{layers}.gguf"))
        for layers in (2, 7, 16)
    ]
    small, middle, large = models
    for facts, factor in ((large, 4.0), (small, 2.0)):  # the smaller one was measured last
        plan = machines.plan(facts, {}, is_made=False)
        bare = machines.plan(facts, {}) if plan.machine.fit is None else plan
        likely = make_plan(facts, bare.load, machines.of(facts.bytes_read_per_token or 0))
        assert likely.decode.expected_high is not None
        rates = decode_rates(state, hello(), machines.options(facts, {}))
        slow = DecodeSample(10, factor / likely.decode.expected_high)
        assert rates.learn(likely, fingerprint(facts.path), (slow,))

    def weights(facts: ModelFacts) -> float:
        fit = machines.plan(facts, {}, is_made=False).machine.fit
        assert fit is not None
        return fit.weights

    assert weights(middle) == weights(large)
    assert weights(small) < weights(large) / 1.5


def test_a_size_that_was_never_read_says_that_it_may_be_faster(state: StateFile) -> None:
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    assert machines.of(100 << 20).cpu.bandwidth_note == OF_LARGER
    assert machines.of(8 * GIB).cpu.bandwidth_note == ""
    # A buffer of nearly this size, in the class below, counts as its own.
    keep(state, 120 << 20, 60e9)
    near = Machines(state, hello(), may_measure=False).of(140 << 20).cpu
    assert (near.bandwidth_bytes_per_s, OF_LARGER in near.bandwidth_note) == (60e9, False)
    far = Machines(state, hello(), may_measure=False).of(250 << 20).cpu
    assert (far.bandwidth_bytes_per_s, OF_LARGER in far.bandwidth_note) == (20e9, True)


def test_a_smaller_buffer_read_no_faster_leaves_no_doubt(state: StateFile) -> None:
    keep(state, MOST_BYTES, 20e9)
    keep(state, 40 << 20, 21e9)
    machines = Machines(state, hello(), may_measure=False)
    assert machines.of(200 << 20).cpu.bandwidth_note == ""


def test_what_was_decoded_at_a_size_is_a_measurement_of_it(state: StateFile) -> None:
    keep(state, MOST_BYTES, 20e9)
    assert keep_decoded(state, cpu_name(), clamp_threads(None), 100 << 20, 33e9)
    cpu = Machines(state, hello(), may_measure=False).of(100 << 20).cpu
    assert (cpu.bandwidth_bytes_per_s, OF_LARGER in cpu.bandwidth_note) == (33e9, False)


def test_nothing_is_measured_while_something_computes(state: StateFile) -> None:
    keep(state, MOST_BYTES, 1e6)  # slower than any computer
    size, threads = 4 << 20, clamp_threads(None)
    for is_quiet in (False, True):
        machines = Machines(
            state, hello(), may_measure=True, each_size=True, quiet=partial(bool, is_quiet)
        )
        assert ((rate(machines, size) or 0) > 1e8) == is_quiet
        assert (kept_probe(state, cpu_name(), threads, size) is not None) == is_quiet


def test_a_model_is_planned_as_it_would_be_loaded(state: StateFile, facts: ModelFacts) -> None:
    machines = Machines(state, hello(), may_measure=False)
    asked = machines.options(facts, {})
    tunings = Tunings(state, cpu=cpu_name(), engine="test")
    kept = KeptTuning(outcome="kept", threads=1, flash_attention="off", n_ubatch=256)
    tunings.keep(key_of(model_shape(facts), asked), kept)
    tuned = machines.options(facts, {})
    assert (tuned.threads, tuned.flash_attention) == (1, "off")
    assert not machines.plan(facts, {}).memory.settings.flash_attention
    untuned = Machines(state, hello(), may_measure=False, tuned=False)
    assert untuned.options(facts, {}) == asked
    assert untuned.plan(facts, {}).memory.settings.flash_attention


def test_compatibility_mode_is_planned_with_the_kernels_it_keeps(
    state: StateFile, facts: ModelFacts
) -> None:
    state.set_compatibility(cpu_name(), "test", True)
    machines = Machines(state, amx(), may_measure=False)
    options = machines.options(facts, {})
    assert (options.compatibility, options.repack) == (True, True)
    plan = machines.plan(facts, {})
    assert kernel_features(plan.load, plan.machine) == {"avx2", "by_name"}
    state.set_repack_fails(cpu_name(), "test")
    plan = machines.plan(facts, {})
    assert kernel_features(plan.load, plan.machine) == frozenset()
    # Who chose the mode by hand gets it whole.
    by_hand = Machines(StateFile(None), amx(), may_measure=False)
    assert not by_hand.options(facts, {"compatibility": True}).repack


def test_settings_that_can_not_be_planned_are_said(state: StateFile, facts: ModelFacts) -> None:
    machines = Machines(state, hello(), may_measure=False)
    fit = machines.fit(facts, {"type_k": "q9_9"})
    assert fit.verdict == "unknown"
    assert "q9_9" in fit.note


def test_models_are_planned_with_memory_free_at_one_moment(
    state: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other programs take between two rows makes neither of them differ."""
    free = iter(range(20 * GIB, 0, -GIB))
    real = machine_for

    def shrinking(*values: object) -> Machine:
        machine = real(*values)  # type: ignore[arg-type]
        return replace(machine, cpu=machine.cpu.with_free(next(free)))

    monkeypatch.setattr("app.machines.machine_for", shrinking)
    machines = Machines(state, hello(), may_measure=False)
    sizes = (50 << 20, 93 << 20, 97 << 20, 4 * GIB)
    assert {machines.of(size).cpu.free_bytes for size in sizes} == {20 * GIB}


@pytest.mark.parametrize("order", [(70, 120), (120, 70)])
def test_what_counts_for_a_size_does_not_follow_the_order(
    state: StateFile, order: tuple[int, int]
) -> None:
    """Both sizes are of one class, and a probe of 60 MiB is near to one of them alone."""
    keep(state, 60 << 20, 90e9)
    keep(state, MOST_BYTES, 20e9)
    machines = Machines(state, hello(), may_measure=False)
    found = {size: rate(machines, size << 20) for size in order}
    assert found == {70: 90e9, 120: 20e9}
