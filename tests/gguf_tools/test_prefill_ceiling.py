"""No prediction lies above its ceiling, and a short prompt reads the weights like any token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import CpuFeature, Device, Machine, cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from inspector.planned import plan_record, prefill_point, step_point
from tests.helpers.families import FAMILIES
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30
FAST: frozenset[CpuFeature] = frozenset({"avx2", "avx512"})
HOST = replace(cpu_only(64 * GIB, 60 * GIB, 3e10, 2e11).cpu, features=FAST)
CARD = Device(
    name="GPU0",
    kind="gpu",
    total_bytes=24 * GIB,
    free_bytes=24 * GIB,
    bandwidth_bytes_per_s=1e12,
    flops_per_s=1e14,
    link_bytes_per_s=2.5e10,
)
MACHINES = {
    "processor": Machine(name="m", cpu=HOST),
    "processor that computes faster than it reads": Machine(
        name="m", cpu=replace(HOST, flops_per_s=2e14)
    ),
    "card": Machine(name="m", cpu=HOST, accelerators=(CARD,)),
    "two cards": Machine(name="m", cpu=HOST, accelerators=(CARD, replace(CARD, name="GPU1"))),
    "card that reads slowly": Machine(
        name="m", cpu=HOST, accelerators=(replace(CARD, bandwidth_bytes_per_s=1e9),)
    ),
}
PROMPTS = (1, 2, 7, 64, 512, 513, 1500)


def _loads() -> Iterator[LoadSettings]:
    for ubatch in (32, 512):
        for layers in (0, 2, 99):
            yield LoadSettings(context=4096, ubatch=ubatch, gpu_layers=layers)
    yield LoadSettings(context=4096, experts_on_cpu=True)


def _model(folder: Path, kind: str) -> ModelFacts:
    """Return facts of a model whose matrices lie in kernels of their own on a processor."""
    shape = ShapeModel(
        layers=3, embedding=512, heads=8, kv_heads=2, feed_forward=1024, vocabulary=2048, kind=kind
    )
    return read_facts(shape.builder().write(folder / f"{kind}.gguf"))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "model", ["Q4_0", "Q8_0", "F16", "experts", "hybrid_layers", "sliding", "latent"]
)
def test_no_prediction_lies_above_its_ceiling(model: str, machine: str, tmp_path: Path) -> None:
    if model in FAMILIES:
        facts = read_facts(FAMILIES[model].builder().write(tmp_path / "m.gguf"))
    else:
        facts = _model(tmp_path, model)
    for load in _loads():
        for prompt in PROMPTS:
            plan = make_plan(facts, load, MACHINES[machine], prompt_tokens=prompt)
            prefill = plan.prefill
            assert prefill.expected is not None
            assert prefill.ceiling is not None
            assert prefill.expected <= prefill.ceiling
            assert (prefill.expected_high or 0.0) <= prefill.ceiling
            record = plan_record(plan)
            assert record.prefill_ceiling == prefill.ceiling
            for depth in (0, 700):
                expected, ceiling = prefill_point(plan, depth, prompt)
                assert expected is not None
                assert ceiling is not None
                assert 0 < expected <= ceiling
        for depth in (0, 1000):
            point = step_point(plan, depth)
            assert point.low is not None
            assert point.high is not None
            assert point.ceiling is not None
            assert point.low <= point.high <= point.ceiling


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["Q4_0", "F16"])
def test_one_token_of_a_prompt_reads_what_a_decoded_one_does(
    kind: str, machine: str, tmp_path: Path
) -> None:
    """Nor may it be faster: it is the same step."""
    facts, on = _model(tmp_path, kind), MACHINES[machine]
    plan = make_plan(facts, LoadSettings(context=4096, gpu_layers=2), on, prompt_tokens=1)
    assert plan.decode.ceiling is not None
    assert plan.prefill.ceiling is not None
    assert plan.prefill.ceiling <= plan.decode.ceiling * (1 + 1e-9)
    # Reading alone is what holds it where arithmetic is fast.
    cpu = replace(on.cpu, flops_per_s=1e18)
    cards = tuple(replace(item, flops_per_s=1e18) for item in on.accelerators)
    quick = replace(on, cpu=cpu, accelerators=cards)
    plan = make_plan(facts, LoadSettings(context=4096, gpu_layers=2), quick, prompt_tokens=1)
    assert plan.prefill.ceiling == pytest.approx(plan.decode.ceiling)


def test_micro_batches_below_a_matrix_kernel_take_the_kernels_of_single_vectors(
    tmp_path: Path,
) -> None:
    facts, on = _model(tmp_path, "Q4_0"), MACHINES["processor that computes faster than it reads"]
    slow = replace(on, cpu=replace(on.cpu, flops_per_s=1e9))
    one, four = (
        make_plan(facts, LoadSettings(context=4096, ubatch=count), slow, prompt_tokens=64)
        for count in (3, 4)
    )
    assert one.prefill.expected is not None
    assert four.prefill.expected is not None
    # Arithmetic is the limit here, so the number of batches changes nothing by itself.
    assert one.prefill.expected < 0.8 * four.prefill.expected
