"""What textbooks and reports give as figures: caches, states, ceilings, what breaks first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.memory import memory_plan, score_matrix_bytes
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings, refusal
from gguf_tools.units import GIB, MIB
from tests.helpers.shape_gguf import ShapeModel

GB = 10**9


@pytest.fixture
def facts_of(tmp_path: Path) -> Any:
    def make(model: ShapeModel, *drop: str, **keys: Any) -> ModelFacts:
        builder = model.builder().drop(*drop)
        for name, value in keys.items():
            full = f"{model.architecture}.{name.replace('__', '.')}"
            builder.drop(full)
            if isinstance(value, list):
                kind = "[bool]" if isinstance(value[0], bool) else "[i32]"
                builder.key(full, kind, value)
            else:
                builder.u32(full, value)
        return read_facts(builder.write(tmp_path / f"{model.architecture}.gguf"))

    return make


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


# --- the KV table


@pytest.mark.parametrize(
    ("kind", "size"), [("f16", 1_073_741_824), ("q8_0", 570_425_344), ("q4_0", 301_989_888)]
)
def test_k1_grouped_heads(facts_of: Any, kind: str, size: int) -> None:
    assert _kv(facts_of(ShapeModel()), 8192, type_k=kind, type_v=kind) == size


def test_k1_one_kv_head_for_each(facts_of: Any) -> None:
    assert _kv(facts_of(ShapeModel(kv_heads=32)), 8192) == 4 * GIB
    assert _kv(facts_of(ShapeModel(kv_heads=None)), 8192) == 4 * GIB


def test_k3_head_length_is_not_embedding_by_heads(facts_of: Any) -> None:
    model = ShapeModel(layers=28, embedding=1024, heads=16, head=128, architecture="qwen3")
    assert _kv(facts_of(model), 40960) == 4.375 * GIB


def test_k_and_v_of_different_lengths(facts_of: Any) -> None:
    facts = facts_of(ShapeModel(head=128), attention__key_length=192)
    assert facts.key_length == 192
    assert facts.value_length == 128
    assert _kv(facts, 4096) == 32 * 8 * (192 + 128) * 2 * 4096


_K4 = ShapeModel(
    architecture="gemma3",
    kind="Q8_0",
    layers=6,
    embedding=1152,
    heads=4,
    kv_heads=4,
    head=256,
    window=1024,
)


def test_k4_sliding_five_to_one(facts_of: Any) -> None:
    for facts in (
        facts_of(_K4),
        facts_of(_K4, attention__sliding_window_pattern=6),
        facts_of(_K4, attention__sliding_window_pattern=[True] * 5 + [False]),
    ):
        assert facts.sliding_layers == 5
        assert _kv(facts, 32768, ubatch=512, swa_full=False) == (128 + 30) * MIB
        assert _kv(facts, 32768, ubatch=512, swa_full=True) == 768 * MIB


def test_k5_sliding_one_to_one(facts_of: Any) -> None:
    model = ShapeModel(
        architecture="gpt-oss",
        kind="Q8_0",
        layers=24,
        embedding=2880,
        heads=64,
        kv_heads=8,
        head=64,
        window=128,
    )
    facts = facts_of(model)
    assert _kv(facts, 131072, ubatch=512, swa_full=False) == (3072 + 18) * MIB
    assert _kv(facts, 131072, ubatch=512, swa_full=True) == 6144 * MIB


def test_sliding_part_stops_growing(facts_of: Any) -> None:
    facts = facts_of(_K4)
    full_layer = 2 * 4 * 256 * 2
    assert _kv(facts, 65536) - _kv(facts, 32768) == 32768 * full_layer
    plan = make_plan(facts, LoadSettings(context=8192), cpu_only(8 * GIB, 7 * GIB))
    assert plan.memory.kv_bytes_per_token == full_layer


_K6 = ShapeModel(
    architecture="qwen3next", layers=64, embedding=2048, heads=16, kv_heads=2, head=256
)
_STATE = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 4096,
    "ssm__state_size": 128,
    "ssm__time_step_rank": 32,
    "ssm__group_count": 16,
}


@pytest.mark.parametrize(
    "extra",
    [
        {"full_attention_interval": 4},
        {"attention__recurrent_layers": [(layer + 1) % 4 != 0 for layer in range(64)]},
        {
            "attention__recurrent_layers": [(layer + 1) % 4 != 0 for layer in range(64)],
            "full_attention_interval": 2,
        },
        {},
    ],
)
def test_k6_hybrid(facts_of: Any, extra: dict[str, Any]) -> None:
    facts = facts_of(_K6, attention__head_count_kv=4, **_STATE, **extra)
    plan = memory_plan(facts, LoadSettings(context=262144), cpu_only())
    assert plan.kv_bytes == 16 * GIB
    assert 0 < plan.state_bytes < 256 * MIB
    short = memory_plan(facts, LoadSettings(context=4096), cpu_only())
    assert short.state_bytes == plan.state_bytes


_K7 = ShapeModel(
    architecture="deepseek2", layers=61, embedding=7168, heads=128, kv_heads=1, context=163840
)


def test_k7_latent_attention_new_and_old(facts_of: Any) -> None:
    common = {"attention__kv_lora_rank": 512, "rope__dimension_count": 64}
    new = facts_of(
        _K7,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
        **common,
    )
    assert _kv(new, 163840) / GIB == pytest.approx(10.72, abs=0.005)
    old = facts_of(
        _K7,
        attention__head_count_kv=128,
        attention__key_length=192,
        attention__value_length=128,
        **common,
    )
    assert _kv(old, 163840) / GIB == pytest.approx(762.5, abs=0.05)
    plan = make_plan(old, LoadSettings(context=4096), cpu_only(64 * GIB, 60 * GIB))
    assert "old_mla" in {finding.id for finding in plan.findings}


def test_k10_mixed_heads(facts_of: Any) -> None:
    full = [layer % 6 == 5 for layer in range(48)]
    model = ShapeModel(
        architecture="gemma4",
        layers=48,
        embedding=2816,
        heads=16,
        kv_heads=[1 if one else 8 for one in full],
        head=512,
        window=1024,
    )
    facts = facts_of(
        model,
        attention__key_length_swa=256,
        attention__value_length_swa=256,
        attention__sliding_window_pattern=[not one for one in full],
    )
    assert _kv(facts, 131072, ubatch=512) == 2528 * MIB


def test_layers_that_predict_further_tokens_have_no_cache(facts_of: Any) -> None:
    model = ShapeModel(architecture="qwen3next", layers=65, embedding=2048, heads=16, head=256)
    facts = facts_of(
        model,
        attention__head_count_kv=4,
        full_attention_interval=4,
        nextn_predict_layers=1,
        **_STATE,
    )
    assert _kv(facts, 262144) == 16 * GIB


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
    machine = _machine(0.9 * 24 * GB, 24 * GB, overhead_bytes=2 * GB)
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
    import time

    facts = _eight(facts_of)
    machine = _machine(20 * GIB, bandwidth_bytes_per_s=1e12)
    make_plan(facts, LoadSettings(), machine)
    times = []
    for context in range(512, 512 + 20 * 1024, 1024):
        for layers in range(0, 30, 3):
            started = time.perf_counter()
            make_plan(facts, LoadSettings(context=context, gpu_layers=layers), machine)
            times.append(time.perf_counter() - started)
    times.sort()
    assert times[len(times) // 2] < 0.004  # about 1 ms on a quiet machine


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
