"""The planner's bars: each part's bytes and arithmetic, and what is left."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gguf_tools.machine import Machine, cpu_only
from gguf_tools.typed import typed_facts
from gguf_tools.units import format_bytes
from inspector.planner_bars import Bar
from inspector.planner_examples import model_named
from inspector.planner_setup import PlannerSettings
from inspector.planning import RowPlan, finish, plan_row

GIB = 1 << 30


def _row(machine: Machine, **settings: Any) -> RowPlan:
    wanted = msgspec.structs.replace(PlannerSettings(), **settings)
    return finish(plan_row(typed_facts(model_named("8B, plain Q4")), wanted, machine))


def _sizes(bar: Bar) -> dict[str, int]:
    return {item.kind: item.size_bytes for item in bar.segments}


def test_parts_fill_the_memory_to_its_end() -> None:
    row = _row(cpu_only(16 * GIB, 12 * GIB), context=8192)
    (bar,) = row.bars
    (host,) = row.plan.memory.devices
    sizes = _sizes(bar)
    assert (bar.name, bar.total_bytes) == ("main memory", 16 * GIB)
    assert sizes["weights"] == host.weights_bytes
    assert sizes["kv_used"] == host.kv_bytes == 1 * GIB
    assert sizes["compute"] == host.compute_bytes + host.other_bytes
    assert sizes["other_programs"] == 4 * GIB
    assert sum(sizes.values()) == 16 * GIB
    formulas = {item.kind: item.formula for item in bar.segments}
    assert formulas["free"] == "what is left of 16.0 GiB"
    assert formulas["compute"] == (
        f"{format_bytes(host.compute_bytes)} for a batch of 512 tokens + "
        f"{format_bytes(host.other_bytes)} of output rows, driver and working copies"
    )
    assert formulas["kv_used"].endswith("; × 8,192 tokens = 1.00 GiB")
    assert [item.basis for item in bar.segments] == ["planned"] * 3 + ["read", "planned"]


def test_a_memory_that_is_too_small_has_nothing_left() -> None:
    row = _row(cpu_only(6 * GIB, 5 * GIB), context=65_536)
    (bar,) = row.bars
    sizes = _sizes(bar)
    assert "free" not in sizes
    assert bar.over_bytes == sum(sizes.values()) - 6 * GIB > 0


def test_several_chats_keep_a_cache_each() -> None:
    (bar,) = _row(cpu_only(64 * GIB, 60 * GIB), context=8192, conversations=3).bars
    assert _sizes(bar)["kv_used"] == 3 * GIB
    formulas = {item.kind: item.formula for item in bar.segments}
    assert formulas["kv_used"].endswith("; × 8,192 tokens × 3 chats = 3.00 GiB")


@pytest.mark.parametrize("total", [None, 32 * GIB])
def test_of_a_memory_of_unknown_size_nothing_is_left(total: int | None) -> None:
    (bar,) = _row(cpu_only(total, total), context=8192).bars
    assert ("free" in _sizes(bar)) is (total is not None)
    assert "other_programs" not in _sizes(bar)
