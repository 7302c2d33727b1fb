"""Typed models: sizes beside those of published files, and figures that don't make a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gguf_tools.facts import facts_of
from gguf_tools.machine import cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.typed import (
    QUANTIZATIONS,
    TypedModel,
    TypedModelError,
    typed_basis,
    typed_facts,
)

LLAMA_8B = TypedModel(parameters=8_030_261_248, layers=32, kv_heads=8, head_length=128)
QWEN_30B = TypedModel(
    parameters=30_532_122_624,
    layers=48,
    kv_heads=4,
    head_length=128,
    heads=32,
    vocabulary=151_936,
    experts=128,
    experts_used=8,
    parameters_active=3_345_000_000,
)


@pytest.mark.parametrize(
    ("quantization", "file_gb"),
    [
        # Llama-3.1-8B-Instruct as published in GGUF; headers with vocabularies take about 8 MB.
        ("Q2_K", 3.18),
        ("Q3_K_M", 4.02),
        ("IQ4_XS", 4.45),
        ("Q4_K_S", 4.69),
        ("Q4_K_M", 4.92),
        ("Q5_K_M", 5.73),
        ("Q6_K", 6.60),
        ("Q8_0", 8.54),
        ("F16", 16.07),
    ],
)
def test_sizes_are_those_of_published_files(quantization: str, file_gb: float) -> None:
    facts = typed_facts(replace(LLAMA_8B, quantization=quantization))
    assert facts.parameters == 8_030_261_248
    assert facts.weights_bytes / 1e9 == pytest.approx(file_gb, rel=0.01)


def test_plain_q4_is_four_and_a_half_bits() -> None:
    facts = typed_facts(replace(LLAMA_8B, quantization="Q4"))
    assert facts.bits_per_weight == pytest.approx(4.5, abs=0.005)
    assert facts.weights_bytes / 1e9 == pytest.approx(4.5, rel=0.01)  # the lesson's figure


def test_proportions_are_llama_3s() -> None:
    small, large = (
        typed_facts(LLAMA_8B),
        typed_facts(TypedModel(parameters=70_553_706_496, layers=80, kv_heads=8, head_length=128)),
    )
    assert (small.embedding_length, small.heads) == (4096, 32)
    assert small.shape is not None
    assert set(small.shape.feed_forward) == {14_336}
    assert (large.embedding_length, large.heads) == (8192, 64)
    assert large.weights_bytes / 1e9 == pytest.approx(42.5, rel=0.01)  # Q4_K_M as published


def test_cache_is_the_lessons() -> None:
    assert typed_facts(LLAMA_8B).kv_bytes_per_token == 131_072
    assert typed_facts(replace(LLAMA_8B, kv_heads=32)).kv_bytes_per_token == 524_288


def test_mixture_of_experts_reads_what_is_active() -> None:
    facts = typed_facts(QWEN_30B)
    assert facts.parameters == 30_532_122_624
    assert facts.weights_bytes / 1e9 == pytest.approx(18.56, rel=0.01)  # Q4_K_M as published
    assert facts.parameters_active == pytest.approx(3.345e9, rel=0.01)
    assert facts.experts == 128
    assert facts.experts_used == 8
    assert facts.bytes_read_per_token is not None
    assert facts.bytes_read_per_token < facts.weights_bytes / 5


def test_mixture_without_heads_still_adds_up() -> None:
    facts = typed_facts(replace(QWEN_30B, heads=0, vocabulary=0))
    assert facts.parameters == pytest.approx(30.53e9, rel=0.02)


def test_what_was_not_typed_is_assumed() -> None:
    facts = typed_facts(LLAMA_8B)
    assert "heads" in facts.assumed
    assert "embedding_length" in facts.assumed
    assert "parameters" not in facts.assumed
    assert typed_basis(replace(LLAMA_8B, heads=32))["heads"] == "typed"


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_every_quantisation_can_be_planned(quantization: str) -> None:
    facts = typed_facts(replace(LLAMA_8B, quantization=quantization))
    plan = make_plan(facts, LoadSettings(), cpu_only(64 << 30, 64 << 30, 80e9, 7e11))
    assert plan.fits
    assert plan.memory.compute_trust == "exact"
    assert facts.complete
    assert facts.loadable


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layers": 0}, "layers"),
        ({"layers": 513}, "513"),
        ({"parameters": 0}, "parameters"),
        ({"kv_heads": 0}, "KV heads"),
        ({"quantization": "Q9"}, "Q9"),
        ({"heads": 4}, "heads"),
        ({"vocabulary": 3_999_999, "parameters": 2_000_000}, "no room"),
        ({"experts": 8, "experts_used": 9, "parameters_active": 1}, "8 experts"),
        ({"experts": 8, "experts_used": 2}, "how many parameters"),
        ({"experts": 8, "experts_used": 2, "parameters_active": 1_000_000_000}, "active"),
    ],
)
def test_figures_that_make_no_model_are_refused_in_a_sentence(
    changes: dict[str, int | str], says: str
) -> None:
    with pytest.raises(TypedModelError) as caught:
        typed_facts(replace(LLAMA_8B, **changes))  # type: ignore[arg-type]
    text = str(caught.value)
    assert says in text
    assert text.endswith(".")
    assert "\n" not in text


@settings(max_examples=60, deadline=None)
@given(
    parameters=st.integers(1_000_000, 2_000_000_000_000),
    layers=st.integers(1, 200),
    kv_heads=st.integers(1, 64),
    head_length=st.sampled_from((64, 80, 96, 128, 192, 256)),
    quantization=st.sampled_from(QUANTIZATIONS),
)
def test_any_figures_make_a_model_or_a_sentence(
    parameters: int, layers: int, kv_heads: int, head_length: int, quantization: str
) -> None:
    model = TypedModel(
        parameters=parameters,
        layers=layers,
        kv_heads=kv_heads,
        head_length=head_length,
        quantization=quantization,
    )
    try:
        facts = typed_facts(model)
    except TypedModelError:
        return
    assert facts.layers == layers
    assert facts.shape is not None
    assert facts.kv_bytes_per_token == 2 * 2 * layers * kv_heads * head_length
    assert facts.parameters == pytest.approx(parameters, rel=0.1)
    assert facts_of(facts.header).weights_bytes == facts.weights_bytes


def test_experts_for_which_nothing_is_left() -> None:
    few = TypedModel(
        parameters=1_000_000,
        layers=1,
        kv_heads=1,
        head_length=64,
        vocabulary=256,
        experts=8,
        experts_used=1,
        parameters_active=900_000,
    )
    with pytest.raises(TypedModelError, match="no room"):
        typed_facts(few)


def test_layers_are_made_of_the_same_blocks_wherever_they_go() -> None:
    facts = typed_facts(replace(LLAMA_8B, parameters=8_100_000_000))
    widths = [facts.header.tensors[f"blk.{n}.ffn_up.weight"].extent(1) for n in range(32)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] - widths[-1] in {0, 256}
    held = sum(tensor.elements for tensor in facts.header.tensors.values())
    assert held == pytest.approx(8_100_000_000, rel=0.0005)
