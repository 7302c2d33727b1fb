"""Memory against context, and rates against conversations."""

from __future__ import annotations

import msgspec
import pytest

from app.machine import hardware_table
from gguf_tools.machine import cpu_only
from gguf_tools.typed import typed_facts
from inspector.planner_curves import batching_curve, growth_curve
from inspector.planner_examples import model_named
from inspector.planner_setup import MachineSpec, PlannerSettings, machine_of
from inspector.planning import RowPlan, finish, plan_row

GIB = 1 << 30
RTX4090 = MachineSpec("table", "NVIDIA GeForce RTX 4090")
RTX4060 = MachineSpec("table", "NVIDIA GeForce RTX 4060")


def planned(
    spec: MachineSpec, name: str = "8B, plain Q4", **settings: object
) -> tuple[RowPlan, PlannerSettings]:
    machine = machine_of(spec, hardware_table(), cpu_only(16 * GIB, 12 * GIB))
    assert machine is not None
    wanted = msgspec.structs.replace(PlannerSettings(), **settings)
    return finish(plan_row(typed_facts(model_named(name)), wanted, machine)), wanted


def test_the_curve_breaks_where_the_row_says() -> None:
    row, settings = planned(RTX4060, context=32_768)
    curve = finish(growth_curve(row, settings))
    assert curve.pool == "NVIDIA GeForce RTX 4060"
    assert curve.room_bytes == 8 * GIB
    assert curve.line_bytes == int(0.9 * 8 * GIB)
    assert curve.breaks_tokens == pytest.approx(row.memory_ends, abs=512)
    assert curve.cause == "cache"
    assert curve.now_tokens == 32_768 <= curve.last_tokens


def test_points_are_what_plans_of_those_contexts_take() -> None:
    row, settings = planned(RTX4090, context=16_384)
    curve = finish(growth_curve(row, settings))
    now = next(point for point in curve.points if point.tokens == 16_384)
    assert now.total_bytes == row.bars[0].used_bytes
    weights = {point.weights_bytes for point in curve.points}
    assert len(weights) == 1
    totals = [point.total_bytes for point in curve.points]
    assert totals == sorted(totals)
    assert curve.points[0].tokens == curve.points[0].cache_bytes == 0
    assert curve.breaks_tokens is None


def test_the_memory_that_ends_first_is_drawn() -> None:
    card = MachineSpec(
        "table", "NVIDIA GeForce RTX 4060 Ti", memory_bytes=16 * GIB, host_bytes=64 * GIB
    )
    row, settings = planned(card, "Qwen3 30B-A3B", context=8192, experts_on_cpu=True)
    assert finish(growth_curve(row, settings)).pool == "NVIDIA GeForce RTX 4060 Ti"
    small = msgspec.structs.replace(card, host_bytes=12 * GIB)
    row, settings = planned(small, "Qwen3 30B-A3B", context=8192, experts_on_cpu=True)
    curve = finish(growth_curve(row, settings))
    assert curve.pool == "main memory"
    assert curve.breaks_tokens == 0


def test_more_conversations_give_more_until_the_memory_is_full() -> None:
    row, _ = planned(RTX4090, context=8192)
    curve = finish(batching_curve(row))
    assert curve.fit == row.users == 17
    assert curve.points[0].conversations == 1
    assert curve.fit in {point.conversations for point in curve.points}
    assert curve.last_conversations == 32
    ceilings = [point.ceiling for point in curve.points if point.ceiling is not None]
    assert ceilings == sorted(ceilings)
    assert len(ceilings) == len(curve.points)
    # Each also reads its own cache, so sixteen give less than sixteen times one.
    assert ceilings[0] * 3 < ceilings[-1] < ceilings[0] * 32


def test_arithmetic_is_marked_where_it_takes_over() -> None:
    row, _ = planned(MachineSpec("table", "Apple M4 Max (40-core GPU)"), context=512)
    curve = finish(batching_curve(row))
    assert curve.balance is not None
    assert row.balance.conversations is not None
    assert curve.balance >= row.balance.conversations // 2
    after = [point for point in curve.points if point.conversations >= curve.balance]
    assert all(point.arithmetic for point in after)
    assert after[-1].ceiling == pytest.approx(after[0].ceiling, rel=0.05)


def test_a_memory_of_unknown_size_has_no_end() -> None:
    wanted = msgspec.structs.replace(PlannerSettings(), context=4096)
    row = finish(plan_row(typed_facts(model_named("8B, plain Q4")), wanted, cpu_only()))
    curve = finish(growth_curve(row, wanted))
    assert (curve.room_bytes, curve.breaks_tokens) == (None, None)


def test_the_load_line_leaves_out_what_others_hold() -> None:
    wanted = msgspec.structs.replace(PlannerSettings(), context=4096)
    host = cpu_only(16 * GIB, 12 * GIB)
    row = finish(plan_row(typed_facts(model_named("8B, plain Q4")), wanted, host))
    curve = finish(growth_curve(row, wanted))
    assert curve.line_bytes == int(0.9 * 16 * GIB) - 4 * GIB
    assert curve.room_bytes == 12 * GIB
    # The break at 12 GiB lies far behind: the axis is a power of two that shows it.
    assert curve.last_tokens == max(point.tokens for point in curve.points)
    assert curve.breaks_tokens is not None
    assert curve.last_tokens // 2 < curve.breaks_tokens * 3 // 2 <= curve.last_tokens
    (bar,) = row.bars
    weights = next(item for item in bar.segments if item.kind == "weights")
    assert weights.formula.startswith("8.03 billion parameters × 4.50 bits ÷ 8 = ")
    assert "of it here" not in weights.formula


def test_conversations_come_in_steps_of_a_fifth_with_what_fits_among_them() -> None:
    row, _ = planned(RTX4090, context=8192)
    counts = [point.conversations for point in finish(batching_curve(row)).points]
    assert counts == [1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 15, 17, 18, 21, 26, 31, 32]


def test_the_axis_shows_half_as_much_again() -> None:
    # A context of 12,288 and one and a half times as much: the next power of two.
    row, settings = planned(RTX4090, "Qwen3 30B-A3B", context=12_288)
    curve = finish(growth_curve(row, settings))
    wanted = max(12_288 * 3 // 2, min(row.memory_ends or 0, 131_072) * 3 // 2)
    trained = row.plan.facts.context_length
    assert trained is not None
    assert curve.last_tokens == min(1 << (wanted - 1).bit_length(), max(trained, 12_288))
    small, settings = planned(RTX4060, context=1024)
    assert finish(growth_curve(small, settings)).points[1].tokens == 256
