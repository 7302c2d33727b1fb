"""Bytes and operations of a mixture's layers, each figure worked out from the tensors' sizes.

A layer of the family "experts" holds 331,776 weights of attention in Q8_0 (34 bytes for 32), a
router of 3,168 and norms of 704 in F32, and 11 experts of 82,944 weights in Q8_0, of which a token
uses 5: 414,720 weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.prefill import prefill_flops, prefill_seconds
from gguf_tools.rates import LayerReads, TokenBytes, layer_reads, token_bytes
from gguf_tools.settings import LoadSettings
from tests.helpers.families import FAMILIES

GIB = 1 << 30
ATTENTION, ROUTER, NORMS, USED = 331_776, 3_168, 704, 414_720
DENSE_BYTES = ATTENTION * 34 // 32 + 4 * (ROUTER + NORMS)
EXPERT_BYTES = 11 * 82_944 * 34 // 32
TABLE = 288 * 1999
# What kernels reach, in decoding and in reading a prompt: Q8_0, and F32 for the router.
Q8_DECODE, Q8_PREFILL, F32_DECODE, F32_PREFILL = 0.26, 0.86, 0.40, 0.65


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_facts(FAMILIES["experts"].builder().write(tmp_path / "experts.gguf"))


def _machine(flops_per_s: float = 1e12, link_bytes_per_s: float | None = 2.5e10) -> Machine:
    card = Device(
        name="GPU0",
        kind="gpu",
        total_bytes=24 * GIB,
        free_bytes=24 * GIB,
        bandwidth_bytes_per_s=1e12,
        flops_per_s=1e14,
        link_bytes_per_s=link_bytes_per_s,
    )
    host = cpu_only(32 * GIB, 32 * GIB, 5e10, flops_per_s).cpu
    return Machine(name="m", cpu=host, accelerators=(card,))


def about(value: float) -> Any:
    """Return what stands for a float of that size in a record."""
    return pytest.approx(value)


def test_what_a_token_reads_and_computes_in_each_layer(facts: ModelFacts) -> None:
    assert facts.shape is not None
    reads = layer_reads(facts.header, facts.shape)
    assert reads == LayerReads(
        dense=(DENSE_BYTES,) * 5,
        experts=(EXPERT_BYTES,) * 5,
        output=TABLE * 34 // 32 + 4 * 288,  # the shared table and the last norm
        input_rows=288 * 34 // 32,
        head_parameters=TABLE,
        parameters=(about(ATTENTION + ROUTER + NORMS + USED),) * 5,
        dense_work=(about(2 * ATTENTION / Q8_DECODE + 2 * ROUTER / F32_DECODE),) * 5,
        expert_work=(about(2 * USED / Q8_DECODE),) * 5,
        prompt_work=(about(2 * (ATTENTION + USED) / Q8_PREFILL + 2 * ROUTER / F32_PREFILL),) * 5,
        output_work=about(2 * TABLE / Q8_DECODE),
        expert_parameters=(about(USED),) * 5,
        expert_prompt_work=(about(2 * USED / Q8_PREFILL),) * 5,
    )


@pytest.mark.parametrize("sequences", [1, 3])
@pytest.mark.parametrize("on_cpu", [True, False])
def test_what_a_step_reads_on_each_device(
    facts: ModelFacts, sequences: int, *, on_cpu: bool
) -> None:
    shape = facts.shape
    assert shape is not None
    memory = memory_plan(facts, LoadSettings(context=4096, experts_on_cpu=on_cpu), _machine())
    host, card = token_bytes(
        facts.header,
        shape,
        memory.settings,
        memory.placement,
        memory.caches,
        memory.states,
        devices=2,
        depth=300,
        sequences=sequences,
        experts_on_cpu=on_cpu,
    )
    experts = 5 * EXPERT_BYTES * (1 - (6 / 11) ** sequences)
    row = 288 * 34 // 32
    output = TABLE * 34 // 32 + 4 * 288
    dense_work = 5 * (2 * ATTENTION / Q8_DECODE + 2 * ROUTER / F32_DECODE) * sequences
    expert_work = 5 * 2 * USED / Q8_DECODE * sequences
    output_work = 2 * TABLE / Q8_DECODE * sequences
    assert host == TokenBytes(
        weights=about(row * sequences + (experts if on_cpu else 0)),
        kv=0,
        state=0,
        moved=host.moved,
        trips=host.trips,
        work=about(expert_work if on_cpu else 0),
        attention=0,
    )
    assert card == TokenBytes(
        weights=about(5 * DENSE_BYTES + output + (0 if on_cpu else experts)),
        # 301 cells are read in steps of 256; K and V of 3 heads of 64 values in 2 bytes each
        kv=5 * 512 * 2 * 3 * 64 * 2 * sequences,
        state=0,
        moved=card.moved,
        trips=card.trips,
        work=about(dense_work + output_work + (0 if on_cpu else expert_work)),
        # 6 query heads: two operations for each of 64 values of K and of V
        attention=5 * 301 * 2 * 6 * (64 + 64) * sequences,
        kernels=6 * 15,
        stretches=1,
    )
    assert card.total == card.weights + card.kv


def test_a_token_beyond_the_window_is_not_seen(tmp_path: Path) -> None:
    facts = read_facts(FAMILIES["sliding"].builder().write(tmp_path / "sliding.gguf"))
    shape = facts.shape
    assert shape is not None
    memory = memory_plan(facts, LoadSettings(context=4096), cpu_only())

    def attention(depth: int) -> float:
        (read,) = token_bytes(
            facts.header,
            shape,
            memory.settings,
            memory.placement,
            memory.caches,
            memory.states,
            devices=1,
            depth=depth,
        )
        return read.attention

    terms = [2.0 * shape.heads[n] * (shape.head_k(n) + shape.head_v(n)) for n in range(8)]
    whole = sum(term for n, term in enumerate(terms) if not shape.sliding[n])
    near = sum(term for n, term in enumerate(terms) if shape.sliding[n])
    assert whole
    assert near
    for depth in (0, shape.window - 2, shape.window - 1, shape.window, 3000):
        seen = min(depth + 1, shape.window)
        assert attention(depth) == whole * (depth + 1) + near * seen


PAIRS = 512 * 513 / 2
LAYER_LAUNCH_S = 15 * 4e-6  # kernels of a layer or of the output, one micro-batch
LAYER_ATTENTION = 2 * 6 * (64 + 64) * PAIRS


def test_operations_of_a_prompt(facts: ModelFacts) -> None:
    assert facts.shape is not None
    reads = layer_reads(facts.header, facts.shape)
    one = prefill_flops(reads, facts.shape, 512)
    layers = 5 * 2 * (ATTENTION + ROUTER + NORMS + USED) * 512
    assert one == pytest.approx(layers + 2 * TABLE + 5 * LAYER_ATTENTION)
    assert prefill_flops(reads, facts.shape, 512, 4) == pytest.approx(one + 3 * 2 * TABLE)


def _prompt_s(facts: ModelFacts, machine: Machine, ubatch: int = 512, **load: object) -> float:
    settings = LoadSettings(context=4096, ubatch=ubatch, **load)  # type: ignore[arg-type]
    memory = memory_plan(facts, settings, machine)
    assert facts.shape is not None
    seconds = prefill_seconds(
        facts.header,
        facts.shape,
        memory.placement,
        machine,
        512,
        ubatch,
        experts_on_cpu=settings.experts_on_cpu,
    )
    assert seconds is not None
    return seconds


def test_a_prompt_with_experts_in_main_memory(facts: ModelFacts) -> None:
    # The card reaches 0.4 of its rate, copies 0.6 of theirs; its kernels take longer to launch.
    dense = 5 * (2 * (ATTENTION + ROUTER + NORMS) * 512 + LAYER_ATTENTION) + 2 * TABLE
    launched = 6 * LAYER_LAUNCH_S + 30e-6
    assert dense / (1e14 * 0.4) < launched
    experts = 5 * EXPERT_BYTES / (2.5e10 * 0.6) + 5 * 2 * USED * 512 / (1e14 * 0.4)
    found = _prompt_s(facts, _machine(), experts_on_cpu=True)
    rows = 512 * (288 * 34 // 32) / 5e10  # of the embedding table, in main memory
    assert found == pytest.approx(launched + experts + rows)


@pytest.mark.parametrize(
    ("flops_per_s", "link_bytes_per_s", "ubatch", "by"),
    [
        (1e12, 2.5e10, 512, "link"),
        (1e14, 2.5e9, 512, "processor"),
        (1e12, 2.5e10, 16, "processor"),  # 32 copies
        (1e12, None, 512, "processor"),
    ],
)
def test_layers_in_main_memory_are_computed_where_that_is_faster(
    facts: ModelFacts, flops_per_s: float, link_bytes_per_s: float | None, ubatch: int, by: str
) -> None:
    whole = 2 * (ATTENTION + ROUTER + NORMS + USED) * 512 + LAYER_ATTENTION
    card = 512 / ubatch * (3 * LAYER_LAUNCH_S + 30e-6)
    assert (2 * whole + 2 * TABLE) / (1e14 * 0.4) < card
    kernels = 2 * (ATTENTION + USED) / Q8_PREFILL + 2 * ROUTER / F32_PREFILL
    here = 3 * (kernels * 512 + LAYER_ATTENTION / 0.5) / flops_per_s
    chosen = 1 - (1 - 5 / 11) ** ubatch
    layers = 3 * (DENSE_BYTES + EXPERT_BYTES * chosen) * 512 / ubatch
    here = max(here, (layers + 512 * (288 * 34 // 32)) / 5e10)  # it is read, too
    copies = 3 * (DENSE_BYTES + EXPERT_BYTES) * 512 / ubatch
    sent = 3 * whole / (1e14 * 0.4) + copies / (link_bytes_per_s or 1)
    assert (sent < here) is (by == "link")
    found = _prompt_s(facts, _machine(flops_per_s, link_bytes_per_s), ubatch, gpu_layers=3)
    assert found == pytest.approx(card + (sent if by == "link" else here))


def test_a_card_keeps_room_for_the_largest_matrix_that_it_is_sent(tmp_path: Path) -> None:
    facts = read_facts(FAMILIES["dense"].builder().write(tmp_path / "dense.gguf"))
    other = {
        ubatch: memory_plan(
            facts, LoadSettings(context=512, ubatch=ubatch, gpu_layers=3), _machine()
        )
        .devices[1]
        .other_bytes
        for ubatch in (31, 32)
    }
    assert other[32] - other[31] == 608 * 288 * 34 // 32
