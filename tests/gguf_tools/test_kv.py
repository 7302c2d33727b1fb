"""Caches of known sizes: what textbooks, reports and llama.cpp give for each kind of attention."""

from __future__ import annotations

from typing import Any

import pytest

from gguf_tools.facts import ModelFacts
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.units import GIB, MIB
from tests.helpers.shape_gguf import ShapeModel


def _kv(facts: ModelFacts, context: int, **load: Any) -> int:
    return memory_plan(facts, LoadSettings(context=context, **load), cpu_only()).kv_bytes


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
