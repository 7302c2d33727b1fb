"""Compute buffers where the graph can't be built: the largest parts summed, and labelled so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.compute.buffers import MARGINS, trust_of
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from tests.helpers.families import FAMILIES


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    """A mixture whose file has lost one matrix of its experts."""
    builder = FAMILIES["experts"].builder()
    builder.tensors = [item for item in builder.tensors if "ffn_down_exps" not in item.name]
    return read_facts(builder.write(tmp_path / "m.gguf"))


@pytest.mark.parametrize(
    ("flash", "mask", "scores"),
    [("on", 2, 0), ("off", 4, 4 * 6)],  # bytes a cell and token; scores are f32 of six heads
)
def test_the_largest_parts(facts: ModelFacts, flash: str, mask: int, scores: int) -> None:
    load = LoadSettings(context=1024, ubatch=512, flash_attention=flash, outputs=1)  # type: ignore[arg-type]
    plan = memory_plan(facts, load, cpu_only())
    assert plan.compute_trust == "rough"
    assert plan.compute_margin == MARGINS["rough"]
    logits = 4 * 1999
    layer = 4 * 512 * (4 * 288 + 3 * 608)
    assert plan.devices[0].compute_bytes == logits + 1024 * 512 * (mask + scores) + layer
    told = {item.id for item in make_plan(facts, load, cpu_only(1 << 36, 1 << 36)).findings}
    assert "rough_compute" in told


def test_unknown_architectures_are_rough(facts: ModelFacts) -> None:
    assert facts.shape is not None
    assert trust_of(facts.shape) == "exact"
    assert trust_of(replace(facts.shape, known=False)) == "rough"
