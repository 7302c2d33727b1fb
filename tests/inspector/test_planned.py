from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.findings import Finding, Fix
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.typed import typed_facts
from inspector.effects import effect_of, planned_again
from inspector.plan_record import GrowthLine, PlanRecord, changes_of_key
from inspector.planned import (
    load_settings,
    plan_record,
    prefill_point,
    step_point,
)
from inspector.planner_examples import model_named
from tests.helpers.families import FAMILIES
from tests.inspector.conftest import card, cpu, machine

PlanOf = Callable[..., Plan]


def test_a_plan_survives_json(plan_of: PlanOf) -> None:
    record = plan_record(plan_of(machine(card()), gpu_layers=1))
    assert msgspec.json.decode(msgspec.json.encode(record), type=PlanRecord) == record
    assert record.layers_total == 3
    assert record.layers_offloaded == 1
    assert [layer.name for layer in record.layers] == ["blk.0", "blk.1", "output"]
    assert [layer.device for layer in record.layers] == ["CPU", "CPU", "CUDA0"]


def test_formula_has_its_values_and_gives_the_cache(plan_of: PlanOf) -> None:
    record = plan_record(plan_of(n_ctx=1024))
    # 2 layers of 2 KV heads of 16 values, K and V in 2 bytes each
    assert record.kv_bytes_per_token == 2 * 2 * 2 * 16 * 2
    assert "2 layers × 2 KV heads × 16 values × 2 B (f16)" in record.kv_formula
    line = record.growth[0]
    assert line.at(1024) == record.devices[0].kv_bytes == 1024 * 256
    assert line.at(512) == 512 * 256
    assert line.tokens_at(512 * 256) == 512
    assert line.tokens_at(10**12) is None


def test_growth_of_a_sliding_window_bends_where_it_is_full(plan_of: PlanOf) -> None:
    record = plan_record(plan_of(model={"architecture": "gemma3", "layers": 6}, n_ctx=2048))
    (bend,) = [tokens for tokens, _ in record.growth[0].points[1:-1]]
    assert bend == 768  # a window of 128 and a micro-batch of 512, rounded up to 256
    line = record.growth[0]
    before, after = line.at(bend) - line.at(bend - 100), line.at(bend + 100) - line.at(bend)
    assert 0 < after < before
    assert "stop growing at 768 tokens" in record.kv_formula
    assert line.at(2048) == record.devices[0].kv_bytes


def test_growth_counts_a_recurrent_state_from_the_start(plan_of: PlanOf) -> None:
    record = plan_record(plan_of(model={"architecture": "lfm2"}))
    assert record.state_bytes > 0
    assert record.growth[0].at(0) == record.state_bytes


def test_the_ceiling_falls_as_the_cache_fills(plan_of: PlanOf) -> None:
    record = plan_record(plan_of(n_ctx=2048))
    ceilings = [point.ceiling for point in record.curve]
    assert all(ceiling is not None for ceiling in ceilings)
    assert ceilings == sorted(ceilings, reverse=True)  # type: ignore[type-var]
    start, middle, end = record.rate_at(0), record.rate_at(1000), record.rate_at(10**6)
    assert start is not None
    assert middle is not None
    assert end is not None
    assert start.ceiling and middle.ceiling and end.ceiling  # noqa: PT018
    assert start.ceiling > middle.ceiling > end.ceiling
    assert middle.bytes_per_token / 40e9 == pytest.approx(1 / middle.ceiling, rel=0.01)


def test_without_a_bandwidth_no_rate_is_made_up(plan_of: PlanOf) -> None:
    record = plan_record(plan_of(machine(host=cpu(bandwidth_bytes_per_s=None))))
    point = record.rate_at(0)
    assert point is not None
    assert point.ceiling is None
    assert point.low is None
    assert point.bytes_per_token > 0


def test_effect_of_a_change_is_told_before_it_is_made(plan_of: PlanOf) -> None:
    plan = plan_of(
        machine(card()), {"head_length": 32, "embedding": 128}, n_ctx=65536, gpu_layers=0
    )
    assert "frees" in effect_of(plan, {"type_k": "q8_0", "type_v": "q8_0"})
    assert "tok/s" in effect_of(plan, {"gpu_layers": -1})
    assert effect_of(plan, {"threads": 4}) == ""
    assert effect_of(plan, {"type_k": "no such type"}) == ""
    assert "refuse" in effect_of(plan, {"type_v": "q8_0", "flash_attention": "off"})
    again = planned_again(plan, {"n_ctx": 512})
    assert again is not None
    assert again.memory.settings.context == 512


def test_settings_are_planned_as_the_engine_takes_them(
    facts_of: Callable[..., ModelFacts],
) -> None:
    facts = facts_of(context=100_000)
    assert load_settings({"n_ctx": None}, facts).context == 8192
    assert load_settings({"n_ctx": 1000}, facts).context == 1024
    several = load_settings({"sequences": 4, "compatibility": True}, facts)
    assert several.unified
    assert several.outputs == 4
    assert not several.extra_buffers


def test_sequences_share_one_reading_of_the_weights(plan_of: PlanOf) -> None:
    plan = plan_of()
    one, four = step_point(plan, 0), step_point(plan, 0, 4)
    assert one.ceiling is not None
    assert four.ceiling is not None
    assert one.ceiling * 2 < four.ceiling < one.ceiling * 4


def test_prefill_behind_a_filled_cache_costs_more(plan_of: PlanOf) -> None:
    plan = plan_of()
    expected, ceiling = prefill_point(plan, 0, 256)
    deeper, deeper_ceiling = prefill_point(plan, 1024, 256)
    assert expected is not None
    assert ceiling is not None
    assert deeper is not None
    assert deeper_ceiling is not None
    assert deeper < expected < ceiling
    assert deeper_ceiling < ceiling


def test_a_fix_is_named_by_what_it_changes() -> None:
    assert changes_of_key('{"n_ctx":4096}') == {"n_ctx": 4096}
    assert changes_of_key("new_chat") == {}


def test_a_line_without_growth_has_no_tokens() -> None:
    flat = GrowthLine(cache_type="f16", points=((0, 5), (10, 5)))
    assert flat.at(3) == 5
    assert flat.tokens_at(6) is None
    assert GrowthLine(cache_type="f16", points=()).at(3) == 0


def test_where_experts_and_tables_lie() -> None:
    plan = make_plan(
        typed_facts(model_named("Qwen3 30B-A3B")),
        LoadSettings(context=4096, experts_on_cpu=True, gpu_layers=40),
        machine(card(), host=cpu(total_bytes=1 << 36, free_bytes=1 << 36)),
    )
    record = plan_record(plan)
    on_card = [layer for layer in record.layers if layer.device == "CUDA0"]
    assert len(on_card) == 40
    # Experts of layers that lie in main memory anyway are no split, and the output has none.
    assert {layer.split_device for layer in record.layers if layer.device == "CPU"} == {None}
    assert [layer.name for layer in on_card if layer.split_device is None] == ["output"]
    header = plan.facts.header
    experts = {
        layer.name: sum(
            tensor.size_bytes
            for name, tensor in header.tensors.items()
            if name.startswith(f"{layer.name}.") and "_exps." in name
        )
        for layer in record.layers
    }
    for layer in record.layers:
        assert layer.split_bytes == (experts[layer.name] if layer.split_device else 0)
    assert experts["blk.47"]
    table = header.tensors["token_embd.weight"].size_bytes
    layers = sum(layer.size_bytes for layer in record.layers)
    weights = sum(tensor.size_bytes for tensor in header.tensors.values())
    # The table is looked up, not multiplied: it belongs to no layer.
    assert layers == weights - table + plan.memory.kv_bytes


def test_settings_that_are_not_given_are_the_planner_s(
    facts_of: Callable[..., ModelFacts],
) -> None:
    facts = facts_of()
    assert load_settings({"n_ctx": 4096}, facts).repack is False
    assert load_settings({"n_ctx": 4096, "repack": True}, facts).repack is True


@pytest.mark.parametrize(("sequences", "shared"), [(1, False), (2, True), (4, True)])
def test_several_chats_share_one_cache(
    facts_of: Callable[..., ModelFacts], sequences: int, shared: bool
) -> None:
    load = load_settings({"n_ctx": 4096, "sequences": sequences}, facts_of())
    assert (load.context, load.sequences, load.unified) == (4096, sequences, shared)


def test_a_table_that_is_both_counts_as_the_output(facts_of: Callable[..., ModelFacts]) -> None:
    facts = facts_of(tied=True)
    record = plan_record(make_plan(facts, load_settings({"n_ctx": 512}, facts), machine()))
    table = facts.header.tensors["token_embd.weight"].size_bytes
    norm = facts.header.tensors["output_norm.weight"].size_bytes
    assert record.layers[-1].size_bytes == table + norm


def test_a_type_for_both_is_that_of_the_keys(tmp_path: Path) -> None:
    # Latent attention keeps one row for K and V.
    facts = read_facts(FAMILIES["latent"].builder().write(tmp_path / "latent.gguf"))
    load = LoadSettings(context=512, type_k="q8_0", type_v="f16")
    (refused,) = [
        item
        for item in plan_record(make_plan(facts, load, machine())).findings
        if any("one type for K and V" in fix.text for fix in item.fixes)
    ]
    assert refused.fixes[0].changes == {"type_v": "q8_0"}
    assert make_plan(facts, replace(load, type_v="q8_0"), machine()).refusal is None


def test_the_curve_has_a_point_at_each_step_of_the_cache(plan_of: PlanOf) -> None:
    short = plan_record(plan_of(n_ctx=2048)).curve
    assert [point.depth for point in short] == [*range(0, 2048, 256), 2047]
    model = {"context": 1 << 17}
    long = [point.depth for point in plan_record(plan_of(model=model, n_ctx=1 << 17)).curve]
    # A step is whole cells of 256, and there are no more than about fifty.
    step = long[1]
    assert step % 256 == 0
    assert long == [*range(0, 1 << 17, step), (1 << 17) - 1]
    assert 30 <= len(long) <= 70


@pytest.mark.parametrize(
    ("setting", "value", "changes"),
    [
        ("context", 4096, {"n_ctx": 4096}),
        ("cache_type", "q8_0", {"type_k": "q8_0", "type_v": "q8_0"}),
        ("type_k", "f16", {"type_k": "f16", "type_v": "f16"}),
        ("type_k", "q8_0", {"type_k": "q8_0"}),
        ("type_v", "same", {"type_v": "q5_0"}),
        ("type_v", "f16", {"type_v": "f16"}),
        ("gpu_layers", -1, {"gpu_layers": -1}),
    ],
)
def test_a_fix_changes_this_programs_settings(
    plan_of: PlanOf, setting: str, value: str | int, changes: dict[str, object]
) -> None:
    said = Finding("x", "note", "Something.", "2 tok/s", (Fix("Do it", setting, value),))
    plan = replace(plan_of(type_k="q5_0", type_v="f16"), findings=(said,))
    (finding,) = plan_record(plan).findings
    (fix,) = finding.fixes
    assert (finding.id, finding.severity, finding.text, finding.cost) == (
        "x", "note", "Something.", "2 tok/s"
    )  # fmt: skip
    assert (fix.text, fix.changes) == ("Do it", changes)


@pytest.mark.parametrize(
    ("types", "formula"),
    [
        ({}, "2 (K and V) × 2 layers × 2 KV heads × 32 values × 2 B (f16) = 512 B a token"),
        (
            {"type_k": "q8_0", "type_v": "f16"},
            "2 layers × (68 B of K + 128 B of V) = 392 B a token",
        ),
    ],
)
def test_the_arithmetic_of_a_token_in_the_cache(
    plan_of: PlanOf, types: dict[str, str], formula: str
) -> None:
    model = {"head_length": 32, "embedding": 128}
    assert plan_record(plan_of(model=model, n_ctx=1024, **types)).kv_formula == formula
