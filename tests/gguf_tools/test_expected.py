"""What is likely of decoding on a processor, by its causes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.paths import starter_model
from gguf_tools.expected import CPU_SPREAD
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.kernels import attention_share, kernel_of
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from inspector.planned import step_point
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30


@pytest.fixture(scope="module")
def starter() -> ModelFacts:
    path = starter_model()
    if path is None:
        pytest.skip("the starter model is not installed")
    return read_facts(Path(path))


def middle(facts: ModelFacts, machine: Machine, depth: int = 0, **load: Any) -> float:
    plan = make_plan(facts, LoadSettings(context=8192, outputs=1, **load), machine)
    point = step_point(plan, depth)
    assert point.low is not None
    assert point.high is not None
    return math.sqrt(point.low * point.high)


def machine(bandwidth: float = 20e9, threads: int = 1) -> Machine:
    return cpu_only(8 * GIB, 6 * GIB, bandwidth, threads * 96e9)


def test_a_small_model_is_bound_by_arithmetic_and_follows_the_threads(starter: ModelFacts) -> None:
    one = middle(starter, machine())
    assert middle(starter, machine(80e9)) == pytest.approx(one, rel=0.05)
    assert middle(starter, machine(200e9, threads=4)) == pytest.approx(4 * one, rel=0.05)


def test_slow_memory_is_what_counts_where_it_is_slow(starter: ModelFacts) -> None:
    assert middle(starter, machine(2e9)) == pytest.approx(
        middle(starter, machine(4e9)) / 2, rel=0.05
    )


def test_figures_of_the_kernels_source(starter: ModelFacts) -> None:
    # One thread of an AMD EPYC 9004: 11.1 ms at depth 0, 34.2 at 4,096 with flash attention, 31.7
    # without; the table must give back what it was made from.
    assert 1e3 / middle(starter, machine()) == pytest.approx(11.1, rel=0.1)
    assert 1e3 / middle(starter, machine(), 4096) == pytest.approx(34.2, rel=0.1)
    plain = middle(starter, machine(), 4096, flash_attention="off")
    assert 1e3 / plain == pytest.approx(31.7, rel=0.1)


def test_the_range_is_wide_before_any_measurement_and_below_the_ceiling(
    starter: ModelFacts,
) -> None:
    plan = make_plan(starter, LoadSettings(context=8192, outputs=1), machine())
    point = step_point(plan, 1000)
    assert point.low is not None
    assert point.high is not None
    assert point.high / point.low == pytest.approx(CPU_SPREAD**2, rel=0.01)
    assert point.ceiling is not None
    assert point.high <= point.ceiling
    tight = step_point(replace(plan, machine=machine(5e9)), 1000)
    assert tight.high is not None
    assert tight.ceiling is not None
    assert tight.high <= tight.ceiling


@pytest.mark.parametrize(("bandwidth_bytes_per_s", "held"), [(2e10, False), (1e12, True)])
def test_a_card_is_bound_by_its_bandwidth_or_a_small_model_by_launches(
    starter: ModelFacts, bandwidth_bytes_per_s: float, *, held: bool
) -> None:
    card = Device(
        name="CUDA0",
        kind="gpu",
        backend="CUDA",
        total_bytes=24 * GIB,
        free_bytes=23 * GIB,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
    )
    whole = Machine(name="m", cpu=machine().cpu, accelerators=(card,))
    plan = make_plan(starter, LoadSettings(context=8192, outputs=1), whole)
    point = step_point(plan, 0)
    assert point.ceiling is not None
    assert point.low is not None
    assert point.high is not None
    if held:  # thirty layers and the output, 15 kernels each of 3 to 5 us, and one wait of 30 us
        assert point.high == pytest.approx(1 / (31 * 15 * 3e-6 + 30e-6), rel=0.02)
        assert point.low == pytest.approx(1 / (31 * 15 * 5e-6 + 30e-6), rel=0.02)
        assert point.high < 0.1 * point.ceiling
    else:
        assert point.high == pytest.approx(0.75 * point.ceiling, rel=0.02)


def test_types_differ_in_arithmetic_not_in_bytes() -> None:
    assert kernel_of("Q4_0").decode == pytest.approx(kernel_of("q8_0").decode, rel=0.1)
    plain, repacked = (kernel_of("Q4_0").shares(repacked=flag) for flag in (False, True))
    assert repacked[0] > 2 * plain[0]
    assert kernel_of("Q4_1").shares(repacked=True) == kernel_of("Q4_1").shares(repacked=False)
    assert kernel_of("Q4_1").prefill < kernel_of("Q4_0").prefill
    assert kernel_of("a type of next year").decode > 0
    assert attention_share("f16", flash_attention=True) < attention_share(
        "f16", flash_attention=False
    )
    assert attention_share("q8_0", flash_attention=True) < attention_share(
        "f16", flash_attention=True
    )


def test_prompts_are_read_at_the_rate_of_the_threads(starter: ModelFacts) -> None:
    load = LoadSettings(context=8192, outputs=1)
    one = make_plan(starter, load, machine()).prefill.expected
    two = make_plan(starter, load, machine(threads=2)).prefill.expected
    assert one is not None
    assert two == pytest.approx(2 * one, rel=0.01)
    assert one == pytest.approx(162, rel=0.15)  # measured with the kernels' source


def test_repacked_matrices_decode_faster_where_the_build_has_kernels(tmp_path: Path) -> None:
    facts = read_facts(ShapeModel(kind="Q4_0", layers=4).builder().write(tmp_path / "m.gguf"))
    host = machine(200e9)
    able = replace(host, cpu=replace(host.cpu, features=frozenset({"avx2"})))
    slow = middle(facts, host)
    assert middle(facts, able) > 1.5 * slow
    assert middle(facts, able, extra_buffers=False) == pytest.approx(slow)
    load = LoadSettings(context=8192, outputs=1)
    plain, fast = (make_plan(facts, load, item).prefill.expected for item in (host, able))
    assert plain is not None
    assert fast is not None
    assert fast > plain
