"""Rates of several conversations: the memory's bound, and that of arithmetic where it is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.typed import typed_facts
from inspector.planned import step_point
from inspector.planner_examples import model_named
from inspector.planner_rates import rates_at
from tests.inspector.conftest import card, machine


def test_without_a_known_rate_of_arithmetic_only_the_memory_bounds() -> None:
    facts = typed_facts(model_named("8B, plain Q4"))
    load = LoadSettings(context=256)
    known = make_plan(facts, load, machine(card(flops_per_s=1e12, bandwidth_bytes_per_s=1e12)))
    bounded = rates_at(known, 255, 256)
    assert bounded.arithmetic
    assert bounded.ceiling is not None
    # Two operations a weight and token, and some for attention.
    assert bounded.ceiling == pytest.approx(1e12 / (2 * 8e9), rel=0.1)
    unknown = make_plan(
        facts, load, machine(replace(known.machine.accelerators[0], flops_per_s=None))
    )
    free = rates_at(unknown, 255, 256)
    assert not free.arithmetic
    assert free.ceiling == step_point(unknown, 255, 256).ceiling
    assert free.ceiling is not None
    assert free.ceiling > 10 * bounded.ceiling
