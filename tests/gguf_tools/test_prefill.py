"""Seconds of a prompt with experts in main memory: which rates they need, and the sum by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.plan import make_plan
from gguf_tools.prefill import LINK_SHARES, PREFILL_SHARE, prefill_seconds
from gguf_tools.rates import layer_reads
from gguf_tools.settings import LoadSettings
from tests.helpers.families import FAMILIES
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30
GPU = Device(
    name="GPU0",
    kind="gpu",
    total_bytes=24 * GIB,
    free_bytes=24 * GIB,
    bandwidth_bytes_per_s=1e12,
    flops_per_s=1e14,
    link_bytes_per_s=2.5e10,
)
HOST = cpu_only(32 * GIB, 32 * GIB, 5e10, 1e12).cpu


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_facts(FAMILIES["experts"].builder().write(tmp_path / "experts.gguf"))


def seconds(
    facts: ModelFacts, tokens: int, ubatch: int, gpu: Device = GPU, host: Device = HOST
) -> float | None:
    """Return what a prompt takes with all layers on the card and their experts beside them."""
    machine = Machine(name="m", cpu=host, accelerators=(gpu,))
    load = LoadSettings(context=4096, ubatch=ubatch, experts_on_cpu=True)
    memory = memory_plan(facts, load, machine)
    shape = facts.shape
    assert shape is not None
    assert set(memory.placement.layers[: shape.layers]) == {1}
    return prefill_seconds(
        facts.header, shape, memory.placement, machine, tokens, ubatch, experts_on_cpu=True
    )


@pytest.mark.parametrize(
    ("tokens", "ubatch", "missing", "known"),
    [
        (1024, 512, "nothing", True),
        (1024, 512, "card", False),  # it computes the experts it is sent
        (1024, 512, "processor", True),  # all batches are large: it computes nothing
        (1040, 512, "processor", False),  # the last 16 tokens stay with the processor
        (1024, 16, "processor", False),
        (1024, 512, "link", True),  # nothing can be copied: the processor computes
    ],
)
def test_a_rate_that_is_needed_and_unknown_makes_no_figure(
    facts: ModelFacts, tokens: int, ubatch: int, missing: str, known: bool
) -> None:
    gpu = replace(
        GPU,
        flops_per_s=None if missing == "card" else GPU.flops_per_s,
        link_bytes_per_s=None if missing == "link" else GPU.link_bytes_per_s,
    )
    host = replace(HOST, flops_per_s=None) if missing == "processor" else HOST
    assert (seconds(facts, tokens, ubatch, gpu, host) is not None) is known


def test_each_batch_brings_what_it_chose_and_a_short_rest_stays(facts: ModelFacts) -> None:
    shape = facts.shape
    assert shape is not None
    reads = layer_reads(facts.header, shape)
    chosen = 1 - (1 - 5 / 11) ** 512  # five of eleven experts
    bytes_moved = sum(reads.experts) * chosen / (2.5e10 * LINK_SHARES[1])
    computed = 2 * sum(reads.expert_parameters) * 512 / (1e14 * PREFILL_SHARE["gpu"])
    read = sum(reads.experts) * (1 - (1 - 5 / 11) ** 16) / 5e10
    rest = sum(reads.expert_prompt_work) * 16 / 1e12
    assert read > rest  # of so few tokens
    dense = seconds(facts, 528, 512)
    assert dense is not None
    # Experts that cost nothing to bring or to compute leave what the card does itself.
    host = replace(HOST, flops_per_s=1e30, bandwidth_bytes_per_s=1e30)
    free = seconds(facts, 528, 512, replace(GPU, link_bytes_per_s=1e30), host)
    assert free is not None
    rows = reads.input_rows * 528 / 5e10
    assert dense - (free - computed) == pytest.approx(bytes_moved + computed + read + rows)


@pytest.mark.parametrize(
    ("feed_forward", "layers", "bandwidth", "prompt", "held_by"),
    [
        (14336, -1, 1e12, 512, "arithmetic"),
        (14336, -1, 1e9, 512, "reading"),
        (256, -1, 1e12, 16, "launches"),
        (14336, 0, 1e12, 512, "arithmetic"),  # all on the processor
        (14336, 1, 1e12, 512, "link"),  # its layers are brought to the card, which computes faster
    ],
)
def test_what_holds_a_prompt(
    feed_forward: int, layers: int, bandwidth: float, prompt: int, held_by: str, tmp_path: Path
) -> None:
    model = ShapeModel(layers=4, embedding=512 if feed_forward == 256 else 4096)
    model.heads, model.kv_heads, model.vocabulary = 8, 8, 1024
    model.feed_forward = feed_forward
    facts = read_facts(model.builder().write(tmp_path / "m.gguf"))
    card = replace(GPU, bandwidth_bytes_per_s=bandwidth)
    machine = Machine(name="m", cpu=HOST, accelerators=(card,))
    plan = make_plan(facts, LoadSettings(gpu_layers=layers), machine, prompt_tokens=prompt)
    assert plan.prefill.held_by == held_by


def test_experts_in_main_memory_hold_a_prompt(facts: ModelFacts) -> None:
    slow = replace(GPU, link_bytes_per_s=1e6)
    machine = Machine(name="m", cpu=HOST, accelerators=(slow,))
    load = LoadSettings(context=4096, experts_on_cpu=True)
    assert make_plan(facts, load, machine).prefill.held_by == "experts"
