"""The planner's report in Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec

from app.machine import hardware_table
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.typed import typed_facts
from gguf_tools.units import format_figure
from inspector.planner_curves import batching_curve, growth_curve
from inspector.planner_examples import EXAMPLES, model_named
from inspector.planner_reasons import balance_phrases, prefill_phrase
from inspector.planner_report import ReportRow, planner_json, planner_markdown
from inspector.planner_setup import PlannerSettings, machine_of
from inspector.planner_words import short_name, tokens
from inspector.planning import finish, plan_row


def example_rows(key: str) -> list[ReportRow]:
    setup = next(item.setup for item in EXAMPLES if item.key == key)
    rows = []
    for item in setup.rows:
        scenario = setup.scenario(item)
        assert scenario.model.typed is not None
        machine = machine_of(item.machine, hardware_table(), None)
        assert machine is not None
        row = finish(plan_row(typed_facts(scenario.model.typed), scenario.settings, machine))
        growth = finish(growth_curve(row, scenario.settings))
        batching = finish(batching_curve(row))
        rows.append(ReportRow(machine.name, scenario.settings, row, "", growth, batching))
    return rows


def test_markdown_has_a_line_for_each_row_and_its_reasons() -> None:
    text = planner_markdown(example_rows("three_bars"))
    table = [line for line in text.splitlines() if line.startswith("| RTX 4060")]
    assert len(table) == 3
    assert "Fits" in table[0]
    assert "Weights don't fit" in table[1]
    assert "KV breaks it at 28K" in table[2]
    columns = {line.count(" | ") for line in text.splitlines() if line.startswith("| ")}
    assert len(columns) == 1
    assert "32 layers × 8 KV heads × 128 values" in text
    assert "Assumed of the model" in text
    assert text.endswith("\n")


def test_what_is_kept_in_main_memory_tells_rows_apart() -> None:
    rows = planner_markdown(example_rows("mixture")).splitlines()
    table = [line for line in rows if line.startswith("| RTX")]
    placements = [line.split(" | ")[3] for line in table]
    assert placements[0] == placements[2] == "all layers on the card"
    assert placements[1] == "all layers on the card, experts in RAM"
    assert len(set(table)) == 3
    assert "predicted from the memory's bandwidth" in "\n".join(rows)


def test_json_has_bytes_and_rates_as_numbers() -> None:
    data = json.loads(planner_json(example_rows("mixture")))
    whole, kept, _ = data["rows"]
    assert whole["verdict"] == "weights_break"
    assert whole["fits"] is False
    assert whole["breaks_first"] == "weights"
    assert whole["layers_on_cards_that_fit"] > 0
    assert kept["experts_on_cpu"] is True
    assert kept["fits"] is True
    assert kept["decode_split"] is None
    assert isinstance(kept["kv_bytes"], int)
    assert [memory["name"] for memory in kept["memories"]][-1] == "main memory"
    assert kept["memory_by_context"][0]["tokens"] == 0
    assert kept["decode_by_conversations"][0]["conversations"] == 1
    for memory in kept["memories"]:
        assert sum(memory["segments"].values()) == memory["total_bytes"]


def test_a_row_that_could_not_be_planned_says_why() -> None:
    row = ReportRow("Box | two", PlannerSettings(), None, "Choose a model.")
    assert "Choose a model." in planner_markdown([row])
    assert "Box \\| two" in planner_markdown([row])
    assert json.loads(planner_json([row]))["rows"][0]["problem"] == "Choose a model."


def test_names_and_tokens_are_short() -> None:
    assert short_name("NVIDIA GeForce RTX 4090") == "RTX 4090"
    assert short_name("4 × NVIDIA H100 SXM") == "4 × H100 SXM"
    assert short_name("AMD Ryzen 9000") == "AMD Ryzen 9000"
    assert short_name("Apple M4") == "Apple M4"
    assert tokens(131_072) == "128K"
    assert tokens(5_300) == "5.2K"
    assert tokens(512) == "512"
    assert tokens(1 << 20) == "1M"


def test_several_conversations_are_counted() -> None:
    settings = PlannerSettings(context=8192, conversations=4)
    text = planner_markdown([ReportRow("Box", settings, None, "Choose a model.")])
    assert "4 × 8K" in text
    one = planner_markdown([ReportRow("Box", PlannerSettings(context=8192), None, "No.")])
    assert "1 ×" not in one


def test_figures_that_are_unknown_and_rows_that_do_not_fit() -> None:
    facts = typed_facts(model_named("8B, plain Q4"))
    settings = PlannerSettings(context=8192)

    def cells(machine: Machine, **changes: Any) -> str:
        wanted = msgspec.structs.replace(settings, **changes)
        row = finish(plan_row(facts, wanted, machine))
        text = planner_markdown([ReportRow(machine.name, wanted, row)])
        return next(line for line in text.splitlines() if line.startswith(f"| {machine.name} |"))

    unknown = cells(cpu_only())
    assert unknown.endswith("| unknown | unknown | unknown | unknown |")
    assert "| CPU |" in unknown
    small = replace(cpu_only(4 << 30, 4 << 30), name="small")
    assert cells(small).endswith("| – |")
    card = Device(
        name="GPU0", kind="gpu", total_bytes=24 << 30, free_bytes=24 << 30, flops_per_s=1e14,
        bandwidth_bytes_per_s=1e12,
    )  # fmt: skip
    host = Device(
        name="CPU", kind="cpu", total_bytes=64 << 30, free_bytes=64 << 30,
        bandwidth_bytes_per_s=5e10, flops_per_s=1e12, pool="main memory",
    )  # fmt: skip
    box = Machine(name="box", cpu=host, accelerators=(card,))
    assert "| all layers on the card |" in cells(box)
    assert "| 10 of 33 layers on the card |" in cells(box, gpu_layers=10)


def test_reasons_are_those_of_the_planner_in_its_order() -> None:
    (item, *_) = example_rows("three_bars")
    assert item.row is not None
    said = [*balance_phrases(item.row), prefill_phrase(item.row)]
    text = planner_markdown([item])
    assert "\n".join(f"- {phrase}" for phrase in said) in text
    assert item.growth is not None
    assert item.growth.breaks_tokens is not None
    assert f"- {item.growth.pool} is full at {item.growth.breaks_tokens:,} tokens.\n" in text


def test_a_split_has_its_ceiling_behind_that_of_all_layers() -> None:
    rows = example_rows("three_bars")
    for item in rows:
        row = item.row
        assert row is not None
        assert row.rates.ceiling is not None
        (line,) = [
            line for line in planner_markdown([item]).splitlines() if line.startswith("| RTX 4060")
        ]
        ceiling = f"{format_figure(row.rates.ceiling)}"
        if row.split_rates is not None and row.split_rates.ceiling is not None:
            ceiling += f" → {format_figure(row.split_rates.ceiling)}"
        assert f"| {ceiling} tok/s |" in line
    assert any(item.row and item.row.split_rates is not None for item in rows)
    assert any(item.row and item.row.split_rates is None for item in rows)
