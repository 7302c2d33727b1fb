"""What textbooks and reports give as figures: ceilings, what breaks first, memory of others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.memory import memory_plan, score_matrix_bytes
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings, refusal
from gguf_tools.units import GIB, MIB
from tests.helpers.families import FAMILIES
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.work import within_calls

GB = 10**9


def _kv(facts: ModelFacts, context: int, **load: Any) -> int:
    return memory_plan(facts, LoadSettings(context=context, **load), cpu_only()).kv_bytes


def _machine(free: float, total: float = 24 * GIB, **figures: Any) -> Machine:
    gpu = Device(
        name="GPU0",
        kind="gpu",
        backend="CUDA",
        total_bytes=int(total),
        free_bytes=int(free),
        **figures,
    )
    return Machine(name="test", cpu=cpu_only(64 * GIB, 60 * GIB).cpu, accelerators=(gpu,))


# --- A16 to A20


def test_quantised_v_needs_flash_attention(facts_of: Any) -> None:
    shape = facts_of(ShapeModel()).shape
    for flash, refused in (("off", True), ("auto", False), ("on", False)):
        load = LoadSettings(type_k="q8_0", type_v="q8_0", flash_attention=flash)  # type: ignore[arg-type]
        assert (refusal(shape, load) is not None) == refused
    load = LoadSettings(type_v="q8_0", flash_attention="off")
    found = refusal(shape, load)
    assert found is not None
    assert found.fix == "flash_on"


def test_refused_pair_is_planned_with_its_repair(facts_of: Any) -> None:
    load = LoadSettings(type_k="q8_0", type_v="q8_0", flash_attention="off")
    plan = make_plan(facts_of(ShapeModel()), load, cpu_only(64 * GIB, 60 * GIB))
    assert plan.refusal is not None
    assert plan.findings[0].id == "refused"
    assert plan.memory.kv_bytes == 4096 * 32 * 8 * 128 * 2 * 34 // 32


def test_compute_buffer_grows_with_what_it_depends_on(facts_of: Any) -> None:
    facts = facts_of(ShapeModel(vocabulary=262144))

    def compute(**load: Any) -> int:
        plan = memory_plan(facts, LoadSettings(context=32768, batch=2048, **load), cpu_only())
        return plan.devices[0].compute_bytes

    base = compute()
    assert compute(ubatch=2048) > 3 * base
    assert compute(flash_attention="off") - base > 4 * 512 * 32768 * 32 * 0.9
    assert compute(outputs=0) - base > 4 * 262144 * 350


def test_mapping_changes_no_figure(facts_of: Any) -> None:
    facts = facts_of(ShapeModel(layers=4))
    machine = _machine(20 * GIB)
    for layers in (0, 2, -1):
        mapped = memory_plan(facts, LoadSettings(gpu_layers=layers, mmap=True), machine)
        read = memory_plan(facts, LoadSettings(gpu_layers=layers, mmap=False), machine)
        total = sum(item.weights_bytes for item in mapped.devices)
        assert [a.weights_bytes for a in mapped.devices] == [b.weights_bytes for b in read.devices]
        assert (
            facts.weights_bytes <= total + mapped.weights.copied_bytes <= facts.weights_bytes * 1.2
        )


def test_tied_table_is_copied_to_the_device(facts_of: Any) -> None:
    tied = facts_of(ShapeModel(layers=4, tied=True))
    table = tied.header.tensors["token_embd.weight"].size_bytes
    plan = memory_plan(tied, LoadSettings(gpu_layers=-1), _machine(20 * GIB))
    host, device = (item.weights_bytes for item in plan.devices)
    assert host == table
    assert device == pytest.approx(tied.weights_bytes, rel=1e-4)  # all but the table, and a copy
    assert plan.weights.copied_bytes == pytest.approx(table, rel=1e-4)
    untied = facts_of(ShapeModel(layers=4))
    plan = memory_plan(untied, LoadSettings(gpu_layers=-1), _machine(20 * GIB))
    assert plan.weights.copied_bytes == 0
    assert plan.devices[0].weights_bytes == table


def _eight(facts_of: Any) -> ModelFacts:
    facts: ModelFacts = facts_of(ShapeModel())
    return facts


def test_memory_that_others_hold(facts_of: Any) -> None:
    facts = _eight(facts_of)
    busy = _machine(3 * GIB)
    plan = make_plan(facts, LoadSettings(context=4096), busy)
    assert plan.fits is False
    assert busy.accelerators[0].used_by_others_bytes == 21 * GIB
    lacking = next(item for item in plan.findings if item.id == "does_not_fit")
    assert lacking.cost
    assert lacking.fixes
    swapped = make_plan(facts, LoadSettings(context=4096), busy, freed_bytes={"GPU0": 14 * GIB})
    assert swapped.fits is True
    blind = make_plan(
        facts,
        LoadSettings(context=4096),
        Machine(
            name="blind",
            cpu=cpu_only(64 * GIB, 60 * GIB).cpu,
            accelerators=(Device(name="GPU0", kind="gpu", backend="CUDA"),),
        ),
    )
    assert blind.fits is None
    assert blind.max_context is None
    assert "memory_unknown" in {item.id for item in blind.findings}


# --- the lesson


def test_bytes_a_token(facts_of: Any) -> None:
    assert facts_of(ShapeModel()).kv_bytes_per_token == 131_072
    assert facts_of(ShapeModel(kv_heads=32)).kv_bytes_per_token == 524_288
    assert _kv(facts_of(ShapeModel()), 32768) == 4 * GIB
    qwen = facts_of(
        ShapeModel(architecture="qwen2", layers=28, embedding=3584, heads=28, kv_heads=4)
    )
    assert qwen.kv_bytes_per_token == 57_344
    assert _kv(qwen, 16384) == 0.875 * GIB


def test_about_thirty_conversations() -> None:
    # 90 % of 24 GB; 4.5 GB of weights (8B at 4.5 bits) and 2 GB of overhead; 8,192 tokens of
    # 57,344 bytes (Qwen2.5-7B) each. With 131,072 bytes a token (Llama 3 8B) it is 14.
    room = 0.9 * 24 * GB - 4.5 * GB - 2 * GB
    assert int(room / (8192 * 57_344)) == 32
    assert int(room / (8192 * 131_072)) == 14


def test_conversations_by_the_planner(facts_of: Any) -> None:
    qwen = facts_of(
        ShapeModel(
            architecture="qwen2",
            layers=28,
            embedding=3584,
            heads=28,
            kv_heads=4,
            feed_forward=18944,
            vocabulary=152064,
        )
    )
    # Nothing else on the card: the load line keeps 10 % of it free.
    machine = _machine(24 * GB, 24 * GB, overhead_bytes=2 * GB)
    plan = make_plan(qwen, LoadSettings(context=8192), machine)
    assert plan.max_sequences is not None
    assert 28 <= plan.max_sequences <= 34


@pytest.mark.parametrize(
    ("tokens", "size"),
    [(2048, 8 * MIB), (8192, 128 * MIB), (32768, 2 * GIB), (131072, 32 * GIB)],
)
def test_score_matrix(tokens: int, size: int) -> None:
    assert score_matrix_bytes(tokens) == size


@pytest.mark.parametrize(
    ("size", "bandwidth", "rate"),
    [
        (4.5e9, 1e12, 222),
        (4.5e9, 120e9, 27),
        (16e9, 120e9, 7.5),
        (40e9, 3.35e12, 84),
    ],
)
def test_ceilings(size: float, bandwidth: float, rate: float) -> None:
    from gguf_tools.rates import TokenBytes, decode_ceiling

    machine = cpu_only(bandwidth_bytes_per_s=bandwidth)
    ceiling = decode_ceiling((TokenBytes(size, 0.0, 0.0),), machine)
    assert ceiling == pytest.approx(rate, rel=0.015)


def test_ceiling_falls_with_the_cache_and_adds_up_over_devices(facts_of: Any) -> None:
    facts = _eight(facts_of)
    fast = _machine(23 * GIB, bandwidth_bytes_per_s=1e12)
    machine = Machine(name="two", cpu=fast.cpu.with_bandwidth(50e9), accelerators=fast.accelerators)

    def plan(layers: int, depth: int = 0) -> Plan:
        return make_plan(
            facts, LoadSettings(context=32768, gpu_layers=layers), machine, depth=depth
        )

    whole, half, none = plan(-1), plan(16), plan(0)
    ceilings = [item.decode.ceiling for item in (whole, half, none)]
    assert all(ceilings)
    assert ceilings == sorted(ceilings, reverse=True)  # type: ignore[type-var]
    seconds = sum(
        reads.total / device.bandwidth_bytes_per_s
        for reads, device in zip(half.decode.reads, machine.devices, strict=True)
        if device.bandwidth_bytes_per_s
    )
    assert half.decode.ceiling == pytest.approx(1 / seconds)
    deep = plan(-1, 30000).decode
    assert deep.bytes_per_token - whole.decode.bytes_per_token == pytest.approx(
        131_072 * (30208 - 256), rel=1e-3
    )
    for item in (whole, half, none):
        assert item.decode.expected_high is not None
        assert item.decode.ceiling is not None
        assert item.decode.expected_high <= item.decode.ceiling
    assert "offload" in {item.id for item in half.findings}


def test_three_bars(facts_of: Any) -> None:
    eight = _eight(facts_of)
    fourteen = facts_of(
        ShapeModel(
            architecture="qwen3",
            layers=40,
            embedding=5120,
            heads=40,
            kv_heads=8,
            head=128,
            feed_forward=17408,
            vocabulary=151936,
        )
    )
    card = _machine(8 * GIB, 8 * GIB)
    first = make_plan(eight, LoadSettings(context=8192), card)
    second = make_plan(fourteen, LoadSettings(context=8192), card)
    third = make_plan(eight, LoadSettings(context=131072), card)
    assert (first.fits, second.fits, third.fits) == (True, False, False)
    gpu = [plan.memory.devices[1] for plan in (first, second, third)]
    # The second breaks by its weights, the third by its cache.
    assert gpu[1].weights_bytes + 2 * GIB > 8 * GIB * 0.9
    assert gpu[1].kv_bytes < 2 * GIB
    assert gpu[2].kv_bytes == 16 * GIB
    assert gpu[2].weights_bytes < 5 * GIB
    assert third.max_context is not None
    assert 8192 < third.max_context < 32768
    again = make_plan(eight, LoadSettings(context=third.max_context), card)
    assert again.fits is True
    over = make_plan(eight, LoadSettings(context=third.max_context + 1024), card)
    assert over.fits is False


def test_planning_is_quick(facts_of: Any) -> None:
    facts = _eight(facts_of)
    machine = _machine(20 * GIB, bandwidth_bytes_per_s=1e12)
    make_plan(facts, LoadSettings(), machine)
    for context in range(512, 512 + 20 * 1024, 1024):
        for layers in range(0, 30, 3):
            settings = LoadSettings(context=context, gpu_layers=layers)
            within_calls(20_000, partial(make_plan, facts, settings, machine))


def test_experts_are_read_as_far_as_they_are_used(tmp_path: Path) -> None:
    model = ShapeModel(
        architecture="qwen3moe", layers=2, embedding=2048, heads=32, kv_heads=4, head=128
    )
    builder = model.builder()
    builder.u32("qwen3moe.expert_count", 128).u32("qwen3moe.expert_used_count", 8)
    builder.u32("qwen3moe.expert_feed_forward_length", 768)
    builder.tensors = [item for item in builder.tensors if ".ffn_" not in item.name]
    for layer in range(2):
        builder.tensor(f"blk.{layer}.ffn_norm.weight", (2048,))
        builder.tensor(f"blk.{layer}.ffn_gate_inp.weight", (2048, 128))
        for part, shape in (
            ("gate", (2048, 768, 128)),
            ("up", (2048, 768, 128)),
            ("down", (768, 2048, 128)),
        ):
            builder.tensor(f"blk.{layer}.ffn_{part}_exps.weight", shape, "Q4_K")
    facts = read_facts(builder.write(tmp_path / "moe.gguf"))
    experts = sum(item.size_bytes for name, item in facts.header.tensors.items() if "_exps" in name)
    table = facts.header.tensors["token_embd.weight"]
    dense = facts.weights_bytes - experts - table.size_bytes
    assert facts.bytes_read_per_token == pytest.approx(
        dense + experts * 8 / 128 + table.type.row_bytes(2048), rel=1e-5
    )
    assert facts.parameters_active is not None
    assert facts.parameters_active < facts.parameters
    on_cpu = memory_plan(facts, LoadSettings(experts_on_cpu=True), _machine(20 * GIB))
    assert on_cpu.devices[0].weights_bytes >= experts


def test_a_card_that_holds_no_cache_and_is_too_small(facts_of: Any) -> None:
    facts = _eight(facts_of)
    # The output matrix alone: no context is short enough, and no number of chats small enough.
    plan = make_plan(facts, LoadSettings(context=4096, gpu_layers=1), _machine(1 << 20))
    assert plan.memory.devices[1].kv_bytes == 0
    assert (plan.fits, plan.max_context, plan.max_sequences) == (False, 0, 0)
    assert [item.device.name for item in plan.devices] == ["CPU", "GPU0"]


def test_old_files_with_latent_attention_are_told(facts_of: Any) -> None:
    model = ShapeModel(architecture="deepseek2", layers=2, kv_heads=32, head=128)
    facts = facts_of(model, attention__kv_lora_rank=512)
    plan = make_plan(facts, LoadSettings(context=4096), cpu_only(64 * GIB, 60 * GIB))
    assert "old_mla" in {item.id for item in plan.findings}


def test_what_keeps_nothing_has_no_number_of_chats(tmp_path: Path) -> None:
    facts = read_facts(FAMILIES["encoder"].builder().write(tmp_path / "m.gguf"))
    plan = make_plan(facts, LoadSettings(context=512), cpu_only(64 * GIB, 60 * GIB))
    assert plan.memory.kv_bytes == plan.memory.state_bytes == 0
    assert plan.max_sequences is None


def test_what_others_hold_counts_towards_the_load_line(facts_of: Any) -> None:
    facts = _eight(facts_of)
    for free, over in ((24 * GIB, False), (6 * GIB, True)):
        plan = make_plan(facts, LoadSettings(context=4096), _machine(free))
        card = next(pool for pool in plan.pools if pool.name == "GPU0")
        assert card.others_bytes == 24 * GIB - free
        assert card.over_load_line is over
