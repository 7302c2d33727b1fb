"""Shapes of typed models beside those that were published; where each tensor lies and its type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gguf_tools.facts import ModelFacts
from gguf_tools.typed import TypedModel, TypedModelError, typed_basis, typed_facts
from gguf_tools.typed.shape import TypedShape, solve

LLAMA_8B = TypedModel(parameters=8_030_261_248, layers=32, kv_heads=8, head_length=128)
LLAMA_70B = TypedModel(parameters=70_553_706_496, layers=80, kv_heads=8, head_length=128)
SMOLLM2_1_7B = TypedModel(parameters=1_711_376_384, layers=24, kv_heads=32, head_length=64)
LLAMA_1B = TypedModel(
    parameters=1_235_814_400, layers=16, kv_heads=8, head_length=64, vocabulary=128_256
)
QWEN3_30B = TypedModel(
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
MIXTRAL = TypedModel(
    parameters=46_702_792_704,
    layers=32,
    kv_heads=8,
    head_length=128,
    heads=32,
    vocabulary=32_000,
    experts=8,
    experts_used=2,
    parameters_active=12_879_925_248,
)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        # config.json of each repository
        (LLAMA_8B, TypedShape(4096, 32, 128_256, False, (14_336,) * 32, 0)),
        (LLAMA_70B, TypedShape(8192, 64, 128_256, False, (28_672,) * 80, 0)),
        (LLAMA_1B, TypedShape(2048, 32, 128_256, True, (8192,) * 16, 0)),
        (SMOLLM2_1_7B, TypedShape(2048, 32, 49_152, True, (8192,) * 24, 0)),
        (QWEN3_30B, TypedShape(2048, 32, 151_936, False, (0,) * 48, 768)),
        (MIXTRAL, TypedShape(4096, 32, 32_000, False, (0,) * 32, 14_336)),
    ],
    ids=["Llama 3.1 8B", "Llama 3.1 70B", "Llama 3.2 1B", "SmolLM2 1.7B", "Qwen3 30B", "Mixtral"],
)
def test_shapes_are_the_published_ones(model: TypedModel, shape: TypedShape) -> None:
    assert solve(model) == shape


def test_a_small_model_comes_in_steps_of_64() -> None:
    model = TypedModel(parameters=134_515_008, layers=30, kv_heads=3, head_length=64)
    shape = solve(model)
    # The root of 30 · 12.5 E² + (30 · 2 · 192 + 49,152) E = 134.5 million is 523.7.
    assert (shape.embedding, shape.heads) == (512, 9)  # 512 / 64 heads, in whole threes
    # (134,515,008 - 25,165,824 - 31,232 - 23,592,960) / (3 · 512 · 30) is 1,860 for each layer,
    # 872 steps in all.
    assert shape.feed_forward == (1920,) * 2 + (1856,) * 28
    assert sum(shape.feed_forward) == 872 * 64


@pytest.mark.parametrize(
    ("parameters", "vocabulary"), [(1_999_999_999, 49_152), (2 * 10**9, 128_256)]
)
def test_from_two_thousand_million_on_tables_are_two_and_large(
    parameters: int, vocabulary: int
) -> None:
    shape = solve(TypedModel(parameters=parameters, layers=24, kv_heads=8, head_length=64))
    assert shape.vocabulary == vocabulary
    assert shape.tied == (parameters < 2 * 10**9)


def test_where_a_token_uses_all_experts_one_in_twenty_is_dense() -> None:
    model = TypedModel(
        parameters=1_000_000_000,
        layers=16,
        kv_heads=8,
        head_length=64,
        heads=16,
        vocabulary=32_000,
        experts=4,
        experts_used=4,
        parameters_active=1_000_000_000,
    )
    shape = solve(model)
    # 50 million in layers of 2 E · 1,024 + 2 E · 512 + 4 E and a table of 32,000 E: E is 616.
    assert shape.embedding == 640
    # 950 million / (3 · 16 · 4 · 640) is 7,731, in steps of 256.
    assert shape.expert_feed_forward == 7680


_MIXTURE = {"experts": 8, "experts_used": 2, "parameters_active": 2_000_000_000}


@pytest.mark.parametrize(
    ("key", "low", "high", "says"),
    [
        ("parameters", 1_000_000, 10_000_000_000_000, "parameters"),
        ("layers", 1, 512, "layers"),
        ("kv_heads", 1, 1024, "KV heads"),
        ("head_length", 8, 1024, "head size"),
        ("context_length", 256, 100_000_000, "trained context"),
        ("vocabulary", 256, 4_000_000, "vocabulary"),
        ("heads", 8, 4096, "heads"),
    ],
)
def test_both_ends_of_each_range_count(key: str, low: int, high: int, says: str) -> None:
    for value, is_in in ((low - 1, False), (low, True), (high, True), (high + 1, False)):
        try:
            typed_facts(replace(LLAMA_8B, **{key: value}))  # type: ignore[arg-type]
            refused = ""
        except TypedModelError as error:
            refused = str(error)
        of_range = f"Number of {says}: {value:,} is not from {low:,} to {high:,}."
        assert (refused == of_range) is not is_in, (value, refused)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"experts": 4097}, "Number of experts: 4,097 is not from 0 to 4,096."),
        ({"experts": -1}, "Number of experts: -1 is not from 0 to 4,096."),
        ({"experts_used": 0}, "A token uses from 1 to all 8 experts, not 0."),
        ({"experts_used": 9}, "A token uses from 1 to all 8 experts, not 9."),
        ({"parameters_active": 0}, "Type how many parameters a token uses: more than 0"),
        ({"parameters_active": 8_030_261_249}, "and no more than there are."),
    ],
)
def test_experts_that_are_none_are_named(changes: dict[str, int], says: str) -> None:
    with pytest.raises(TypedModelError, match=says.replace(".", r"\.")):
        typed_facts(replace(LLAMA_8B, **(_MIXTURE | changes)))  # type: ignore[arg-type]


def test_one_expert_of_one_and_all_parameters_are_a_mixture() -> None:
    facts = typed_facts(
        replace(LLAMA_8B, experts=1, experts_used=1, parameters_active=LLAMA_8B.parameters)
    )
    assert (facts.experts, facts.experts_used) == (1, 1)


def _types(facts: ModelFacts, role: str) -> list[str]:
    tensors = facts.header.tensors
    return [tensors[f"blk.{layer}.{role}.weight"].type.name for layer in range(facts.layers or 0)]


@pytest.mark.parametrize(
    ("quantization", "role", "first", "others"),
    [
        # llama_tensor_get_type: in 32 layers the first eighth or sixteenth
        ("Q4_K_S", "attn_v", ["Q5_K"] * 4, {"Q4_K"}),
        ("Q4_K_S", "ffn_down", ["Q5_K"] * 4, {"Q4_K"}),
        ("IQ4_XS", "attn_v", ["Q5_K"] * 4, {"Q5_K"}),
        ("IQ4_XS", "ffn_down", ["Q5_K"] * 4, {"IQ4_XS"}),
        ("Q3_K_M", "attn_v", ["Q5_K"] * 2, {"Q4_K"}),
        ("Q3_K_M", "ffn_down", ["Q5_K"] * 2, {"Q4_K"}),
        ("Q3_K_M", "attn_output", ["Q4_K"] * 2, {"Q4_K"}),
        ("Q2_K", "attn_output", ["Q3_K"] * 2, {"Q3_K"}),
        ("Q2_K", "attn_q", ["Q2_K"] * 2, {"Q2_K"}),
        ("Q8_0", "ffn_down", ["Q8_0"] * 2, {"Q8_0"}),
    ],
)
def test_first_layers_have_the_types_that_the_quantiser_gives(
    quantization: str, role: str, first: list[str], others: set[str]
) -> None:
    types = _types(typed_facts(replace(LLAMA_8B, quantization=quantization)), role)
    assert types[: len(first)] == first
    assert set(types[len(first) :]) == others


def test_the_layers_with_more_bits_are_the_quantisers() -> None:
    # use_more_bits: the first and the last eighth, and every third between
    better = [*range(4), *range(6, 28, 3), *range(28, 32)]
    for role in ("attn_v", "ffn_down"):
        types = _types(typed_facts(LLAMA_8B), role)
        assert [layer for layer, name in enumerate(types) if name == "Q6_K"] == better
        assert set(types) == {"Q4_K", "Q6_K"}


def test_a_shared_table_has_the_type_of_the_output() -> None:
    shared = typed_facts(LLAMA_1B).header.tensors
    assert shared["token_embd.weight"].type.name == "Q6_K"
    assert "output.weight" not in shared
    own = typed_facts(LLAMA_8B).header.tensors
    assert own["token_embd.weight"].type.name == "Q4_K"
    assert own["output.weight"].type.name == "Q6_K"


@pytest.mark.parametrize("model", [LLAMA_1B, QWEN3_30B])
def test_tensors_lie_one_after_another(model: TypedModel) -> None:
    header = typed_facts(model).header
    end = 0
    for tensor in header.tensors.values():
        assert tensor.offset == end
        end = (tensor.offset + tensor.size_bytes + 31) // 32 * 32
    assert header.file_bytes == end


def test_each_figure_says_whether_it_was_typed() -> None:
    typed = dict.fromkeys(
        ("parameters", "layers", "kv_heads", "key_length", "value_length", "quantization",
         "context_length"),
        "typed",
    )  # fmt: skip
    assumed = dict.fromkeys(("embedding_length", "feed_forward", "architecture"), "assumed")
    open_ones = {"heads": "assumed", "vocab_size": "assumed"}
    assert typed_basis(LLAMA_8B) == typed | assumed | open_ones
    assert typed_facts(LLAMA_8B).assumed == (*assumed, "heads", "vocab_size")
    mixture = dict.fromkeys(
        ("heads", "vocab_size", "experts", "experts_used", "parameters_active"), "typed"
    )
    assert typed_basis(MIXTRAL) == typed | assumed | mixture


def test_the_header_says_what_a_file_would() -> None:
    header = typed_facts(LLAMA_1B).header
    assert header.version == 3
    assert header.integer("llama.vocab_size") == 128_256
    assert header.value("llama.feed_forward_length") == [8192] * 16
    assert header.number("llama.attention.layer_norm_rms_epsilon") == pytest.approx(1e-5, rel=1e-6)
    assert header.text("general.name") == "1.24B"
