"""The planner's rows beside the lesson's arithmetic: what breaks first, and how fast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.machine import hardware_table
from gguf_tools.expected import decode_key
from gguf_tools.facts import read_facts
from gguf_tools.machine import DecodeFit, Device, Machine, cpu_only
from gguf_tools.plan import Plan, with_fit
from gguf_tools.roles import is_expert
from gguf_tools.typed import TypedModel, typed_facts
from inspector.planner_examples import EXAMPLES, model_named
from inspector.planner_rates import rates_at
from inspector.planner_reasons import context_phrases, prefill_phrase, realistic_phrases
from inspector.planner_setup import MachineSpec, PlannerSettings, machine_of
from inspector.planner_words import beyond_phrases
from inspector.planning import Engine, RowPlan, finish, load_of, plan_row
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

GIB = 1 << 30
H100 = MachineSpec("table", "NVIDIA H100 SXM")
RTX4090 = MachineSpec("table", "NVIDIA GeForce RTX 4090")
RTX4060 = MachineSpec("table", "NVIDIA GeForce RTX 4060")
CARD16 = MachineSpec("table", "NVIDIA GeForce RTX 4060 Ti", memory_bytes=16 * GIB)
M4 = MachineSpec("table", "Apple M4", "unified", memory_bytes=16 * GIB)
M4_MAX = MachineSpec("table", "Apple M4 Max (40-core GPU)", "unified", memory_bytes=64 * GIB)


def machine(spec: MachineSpec) -> Machine:
    found = machine_of(spec, hardware_table(), None)
    assert found is not None
    return found


def row(name: str | TypedModel, spec: MachineSpec | Machine, **settings: object) -> RowPlan:
    model = model_named(name) if isinstance(name, str) else name
    where = machine(spec) if isinstance(spec, MachineSpec) else spec
    wanted = msgspec.structs.replace(PlannerSettings(), **settings)
    return finish(plan_row(typed_facts(model), wanted, where))


# --- the lesson's worked examples


def test_three_bars_break_by_nothing_by_weights_and_by_the_cache() -> None:
    small = row("8B, plain Q4", RTX4060, context=8192)
    large = row("14B, plain Q4", RTX4060, context=8192)
    long = row("8B, plain Q4", RTX4060, context=131_072)
    assert (small.verdict, large.verdict, long.verdict) == ("fits", "weights_break", "cache_breaks")
    assert (large.cause, long.cause) == ("weights", "cache")
    assert long.plan.memory.kv_bytes == 16 * GIB  # 128 Ki tokens of 128 KiB
    assert small.plan.memory.kv_bytes == 1 * GIB
    weights = sum(item.weights_bytes for item in large.plan.memory.devices)
    assert weights == pytest.approx(14.77e9 * 4.5 / 8, rel=0.01)
    # The same weights hold the cache that the first bar's free memory has room for.
    assert small.context_breaks is not None
    assert small.context_breaks == long.context_breaks


def test_8b_at_32k_on_a_24_gb_card_is_the_lessons_sum() -> None:
    found = row("8B, plain Q4", RTX4090, context=32_768)
    weights = found.plan.facts.weights_bytes
    assert weights == pytest.approx(8.03e9 * 4.5 / 8, rel=0.005)  # about 4.5 GB
    assert found.plan.memory.kv_bytes == 2 * 32 * 8 * 128 * 2 * 32_768 == 4 * GIB
    lesson_most = 4.5e9 + 4 * GIB + 2e9  # with the upper end of its 1 to 2 GB of overhead
    assert lesson_most < 0.9 * 24e9  # fits with its 10 % of headroom
    assert found.verdict == "fits"
    used = found.bars[0].used_bytes
    assert 4.2e9 + 4 * GIB < used < lesson_most
    assert found.free_bytes == 24 * GIB - used
    assert found.context_breaks == found.trained_context == 131_072
    # What is left holds three more caches of 4 GiB.
    assert found.users == 1 + (found.free_bytes or 0) // (4 * GIB)


@pytest.mark.parametrize(
    ("name", "quantization", "spec", "ceiling", "low", "high"),
    [
        ("8B, plain Q4", "Q4", RTX4090, 220, 120, 160),
        ("8B, plain Q4", "Q4", M4, 27, 15, 20),
        ("8B, plain Q4", "F16", msgspec.structs.replace(M4, memory_bytes=32 * GIB), 7.5, 4, 6),
        ("Llama 3.1 70B", "Q4", H100, 84, 50, 65),
    ],
)
def test_ceilings_and_realistic_ranges_are_the_lessons(
    name: str, quantization: str, spec: MachineSpec, ceiling: float, low: float, high: float
) -> None:
    """The lesson reads the whole file; a token leaves the embedding table out, 2 to 12 % of it."""
    found = row(replace(model_named(name), quantization=quantization), spec, context=1024)
    assert found.verdict in {"fits", "tight", "slow"}
    assert found.empty.ceiling == pytest.approx(ceiling, rel=0.13)
    assert found.empty.low is not None
    assert found.empty.high is not None
    assert found.empty.low < high
    assert found.empty.high > low


def test_70b_at_q4_fits_an_h100() -> None:
    found = row("Llama 3.1 70B", H100, context=32_768)
    assert found.verdict == "fits"
    assert found.plan.memory.kv_bytes == 10 * GIB  # 80 layers, 320 KiB a token
    assert found.bars[0].segments[0].size_bytes == pytest.approx(42e9, rel=0.03)
    assert len(found.bars) == 1


def test_30b_mixture_on_a_16_gb_card_needs_its_experts_in_main_memory() -> None:
    whole = row("Qwen3 30B-A3B", CARD16, context=32_768)
    kept = row("Qwen3 30B-A3B", CARD16, context=32_768, experts_on_cpu=True)
    assert whole.verdict == "weights_break"
    assert kept.verdict == "fits"
    card, ram = kept.bars
    assert (card.name, ram.name) == ("NVIDIA GeForce RTX 4060 Ti", "main memory")
    assert card.used_bytes < 5 * GIB
    assert ram.segments[0].size_bytes > 16 * GIB
    # Experts in main memory cost speed, but less than layers there with their cache.
    assert whole.split_rates is not None
    assert kept.rates.high is not None
    assert whole.split_rates.high is not None
    assert whole.split_rates.high < kept.rates.high < (whole.empty.ceiling or 0)


# --- what breaks, and where


@pytest.mark.parametrize("spec", [RTX4060, M4, CARD16, MachineSpec("table", "Apple M1")])
@pytest.mark.parametrize("context", [2048, 32_768, 131_072])
@pytest.mark.parametrize("chats", [1, 3])
def test_the_longest_context_keeps_below_the_load_line_as_the_verdict_does(
    spec: MachineSpec, context: int, chats: int
) -> None:
    def at(tokens: int) -> RowPlan:
        return row("Llama 3.1 8B", spec, context=tokens, conversations=chats)

    found = at(context)
    longest, ends = found.context_breaks, found.memory_ends
    assert longest is not None
    assert ends is not None
    assert longest < ends
    if 0 < longest < 131_072:
        assert at(longest).verdict == "fits"
        assert at(longest + 512).verdict == "tight"
    else:
        assert longest in {0, 131_072}
    # What memory holds to its very end is another figure: there the verdict says what breaks.
    assert at(ends).verdict == "tight"
    assert at(ends + 512).verdict == "cache_breaks"


def test_users_are_as_many_as_keep_below_the_load_line() -> None:
    found = row("Llama 3.1 8B", RTX4090, context=16_384)
    assert found.users is not None

    def verdict_of(chats: int) -> str:
        return row("Llama 3.1 8B", RTX4090, context=16_384, conversations=chats).verdict

    assert verdict_of(found.users) == "fits"
    assert verdict_of(found.users + 1) == "tight"


def test_scores_break_it_without_flash_attention() -> None:
    found = row("Llama 3.1 8B", RTX4060, context=131_072, flash_attention="off", batch=2048)
    assert found.cause == "compute"
    assert found.verdict == "compute_breaks"


def test_a_split_fits_where_all_layers_do_not() -> None:
    found = row("Llama 3.1 8B", RTX4060, context=65_536)
    assert found.split is not None
    assert found.split.fits
    layers = found.split.layers_offloaded
    one_more = row("Llama 3.1 8B", RTX4060, context=65_536, gpu_layers=layers + 1)
    assert one_more.plan.fits is False
    assert found.split_rates is not None
    assert found.split_rates.ceiling is not None
    assert found.split_rates.ceiling < (found.rates.ceiling or 0)
    assert found.working_rates == found.split_rates


def test_shared_memory_has_no_split() -> None:
    found = row("Llama 3.1 70B", M4, context=8192)
    assert found.verdict == "weights_break"
    assert found.split is None
    assert found.working_rates is None
    assert found.lacks_bytes == found.bars[0].over_bytes > 0


def test_unknown_memory_and_bandwidth_stay_unknown() -> None:
    nothing = Machine(name="?", cpu=Device(name="CPU", kind="cpu", backend="CPU"))
    found = row("Llama 3.1 8B", nothing)
    assert found.verdict == "unknown"
    assert found.fits is None
    assert found.context_breaks is None
    assert found.users is None
    assert found.rates.ceiling is None
    assert found.balance.machine is None
    assert found.bars[0].total_bytes is None


def test_a_refused_load_says_so() -> None:
    found = row("Llama 3.1 8B", RTX4090, cache_type="q8_0", flash_attention="off")
    assert found.verdict == "refused"


def test_slow_is_slower_than_reading() -> None:
    weak = MachineSpec("typed", "Old", "cpu", memory_bytes=32 * GIB, bandwidth_bytes_per_s=10e9)
    found = row("Llama 3.1 8B", weak, context=4096)
    assert found.verdict == "slow"
    assert found.rates.high is not None
    assert found.rates.high < 5


def test_several_cards_share_the_layers() -> None:
    found = row("Llama 3.1 70B", msgspec.structs.replace(RTX4090, cards=2), context=4096)
    assert found.verdict == "fits"
    assert [bar.name for bar in found.bars] == [
        "NVIDIA GeForce RTX 4090 1",
        "NVIDIA GeForce RTX 4090 2",
    ]
    many = row("Llama 3.1 70B", msgspec.structs.replace(RTX4090, cards=4), context=4096)
    assert [(bar.name, bar.cards) for bar in many.bars] == [("4 cards", 4)]
    assert many.bars[0].total_bytes == 4 * 24 * GIB


# --- operations per byte


def test_balance_is_operations_over_bytes() -> None:
    balance = row("8B, plain Q4", RTX4090, context=4096).balance
    assert balance.machine == pytest.approx(165e12 / 1008e9, rel=0.01)
    # Two operations a weight of 4.5 bits.
    assert balance.decode == pytest.approx(2 / (4.5 / 8), rel=0.01)
    assert balance.prefill == pytest.approx(512 * balance.decode, rel=0.001)
    assert balance.conversations == pytest.approx((balance.machine or 0) / balance.decode, abs=1)


def test_more_conversations_read_the_weights_once() -> None:
    found = row("8B, plain Q4", H100, context=1024)
    one, many = rates_at(found.plan, 1023, 1), rates_at(found.plan, 1023, 16)
    cache = found.plan.memory.kv_bytes
    assert many.bytes_per_step - one.bytes_per_step == pytest.approx(15 * cache, rel=0.01)
    assert one.ceiling is not None
    assert many.ceiling is not None
    assert 10 * one.ceiling < many.ceiling < 16 * one.ceiling


def test_arithmetic_ends_what_batching_gives() -> None:
    found = row("8B, plain Q4", H100, context=256)
    few, most = rates_at(found.plan, 255, 16), rates_at(found.plan, 255, 256)
    assert not few.arithmetic
    assert most.arithmetic
    assert most.ceiling == pytest.approx(989e12 / (2 * 7.5e9), rel=0.06)


# --- steps


def test_settings_are_of_one_conversation() -> None:
    load = load_of(PlannerSettings(context=1000, conversations=3))
    assert load.context == 3 * 1024
    assert load.sequences == 3
    assert not load.unified


def test_rows_hand_control_back_between_plans() -> None:
    facts = typed_facts(model_named("Llama 3.1 8B"))
    steps = plan_row(facts, PlannerSettings(context=131_072), machine(RTX4060))
    assert sum(1 for _ in steps) >= 5  # a search over the layers takes several plans


def test_examples_are_planned_whole() -> None:
    for example in EXAMPLES:
        assert example.setup.chosen_row is not None
        for item in example.setup.rows:
            scenario = example.setup.scenario(item)
            assert scenario.model.typed is not None
            found = row(
                scenario.model.typed, item.machine, **msgspec.structs.asdict(scenario.settings)
            )
            assert found.rates.ceiling is not None
            assert found.bars


# --- what is known of the engine


def test_a_row_follows_what_was_measured_there() -> None:
    def fitted(plan: Plan) -> Plan:
        key = decode_key(plan.memory.settings, plan.memory.placement)
        return with_fit(plan, DecodeFit(weights=2.0, cache=2.0, spread=0.1, key=key, runs=3))

    facts, where = typed_facts(model_named("8B, plain Q4")), machine(RTX4060)
    settings = PlannerSettings(context=8192)
    bare = finish(plan_row(facts, settings, where))
    known = finish(plan_row(facts, settings, where, Engine(fitted=fitted)))
    assert bare.rates.high is not None
    assert known.rates.high is not None
    assert known.rates.high < 0.7 * bare.rates.high
    assert known.rates.ceiling == bare.rates.ceiling
    assert "from 3 measured runs of this model" in " ".join(map(str, realistic_phrases(known)))
    # A split that fits is predicted in the same way.
    split = finish(plan_row(facts, PlannerSettings(), where, Engine(fitted=fitted))).split
    assert split is not None
    assert split.machine.fit is not None
    assert split.machine.fit.key == decode_key(split.memory.settings, split.memory.placement)


def test_an_engine_without_its_extra_buffers_is_planned_without_them() -> None:
    facts = typed_facts(model_named("8B, plain Q4"))
    cpu = replace(cpu_only(64 * GIB, 60 * GIB, 50e9, 1e11).cpu, features=frozenset({"avx2"}))
    where = Machine(name="CPU", cpu=cpu)
    rates = [
        finish(plan_row(facts, PlannerSettings(), where, engine)).balance.prefill_per_s or 0
        for engine in (
            Engine(),
            Engine(extra_buffers=False, repack=True),
            Engine(extra_buffers=False),
        )
    ]
    assert rates[0] == rates[1] > rates[2] > 0


# --- longer than trained


def test_a_context_beyond_the_trained_one_is_said() -> None:
    within = row("Llama 3.1 8B", RTX4090, context=131_072)
    beyond = row("Llama 3.1 8B", RTX4090, context=262_144)
    assert not any("RoPE" in str(phrase) for phrase in context_phrases(within))
    said = " ".join(map(str, context_phrases(beyond)))
    assert "262,144 tokens are asked for" in said
    assert "trained for 131,072" in said
    assert beyond_phrases(None, 1 << 20) == []
    assert beyond_phrases(1000, 1024) == []  # the first step that holds all of it


# --- experts in main memory


def test_a_prompt_brings_the_experts_over_the_bus_once_a_batch() -> None:
    kept = row("Qwen3 30B-A3B", RTX4090, context=8192, experts_on_cpu=True)
    plan = kept.plan
    link = plan.machine.accelerators[0].link_bytes_per_s
    assert link is not None
    experts = sum(
        tensor.size_bytes for tensor in plan.facts.header.tensors.values() if is_expert(tensor.name)
    )
    prefill = plan.prefill
    assert prefill.expected_low is not None
    assert prefill.expected is not None
    assert prefill.expected_high is not None
    assert prefill.expected_low < prefill.expected < prefill.expected_high
    # 512 tokens choose nearly all of 128 experts, so that no batch is read faster than they cross.
    assert prefill.expected_high < 512 * link / experts
    assert prefill.expected_low > 0.2 * 512 * link / experts
    whole = row("Qwen3 30B-A3B", RTX4090, context=8192).plan.prefill
    assert whole.expected_low is None
    assert whole.expected is not None
    assert whole.expected > 3 * prefill.expected
    assert "roughly" in str(prefill_phrase(kept))


def test_larger_batches_read_faster_and_small_ones_stay_with_the_processor() -> None:
    rates = {
        batch: row(
            "Qwen3 30B-A3B", RTX4090, context=8192, experts_on_cpu=True, batch=batch
        ).plan.prefill
        for batch in (16, 128, 512, 2048)
    }
    expected = [rates[batch].expected or 0 for batch in (128, 512, 2048)]
    assert expected == sorted(expected)
    small = rates[16]
    assert small.expected_low == small.expected == small.expected_high  # no bus is crossed


def test_experts_that_share_the_memory_with_the_device_cross_no_bus() -> None:
    shared = row("Qwen3 30B-A3B", M4_MAX, context=8192, experts_on_cpu=True).plan
    assert shared.machine.accelerators[0].link_bytes_per_s is None
    assert shared.prefill.expected is not None


def test_formulas_of_a_split_and_of_a_state(tmp_path: Path) -> None:
    split = row("8B, plain Q4", RTX4090, context=8192, gpu_layers=20)
    cache = next(item for item in split.bars[0].segments if item.kind.startswith("kv"))
    assert "of it here" in cache.formula
    facts = read_facts(write_tiny_model(tmp_path / "m.gguf", TinyModel(architecture="lfm2")))
    wanted = msgspec.structs.replace(PlannerSettings(), context=2048)
    hybrid = finish(plan_row(facts, wanted, machine(RTX4090)))
    texts = [item.formula for bar in hybrid.bars for item in bar.segments]
    assert any("recurrent state" in text for text in texts)


def test_memory_of_others_makes_the_weights_too_much() -> None:
    def cause(free_gib: float) -> str:
        host = cpu_only(16 * GIB, int(free_gib * GIB), 50e9, 1e11)
        return row("8B, plain Q4", host, context=65_536).cause

    # 4.2 GiB of weights below the load line of 14.4: others may hold 10.2 before it is their fault.
    assert cause(6.5) == "cache"
    assert cause(5.0) == "weights"
