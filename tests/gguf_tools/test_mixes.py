"""Rules for variants that no header on record reaches: large models, odd names, odd rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import Tensor
from gguf_tools.hparams import Hyperparameters
from gguf_tools.mixes import Mix, MixError, choose_types, engine_order, fitting_type, more_bits
from gguf_tools.quantize import expect, quant_type
from tests.helpers.gguf_bytes import type_named
from tests.helpers.shape_gguf import ShapeModel


def _tensors(*names: str, row: int = 256, experts: int = 1) -> list[Tensor]:
    shape = (row, 256) if experts == 1 else (row, 256, experts)
    return [Tensor(name, shape, type_named("F16"), 0, 0, 0) for name in names]


@pytest.fixture
def llama(tmp_path: Path) -> Hyperparameters:
    model = ShapeModel(layers=80, embedding=256, heads=64, kv_heads=8, head=4, vocabulary=32)
    shape = read_facts(model.builder().write(tmp_path / "m.gguf")).shape
    assert shape is not None
    return shape


def _chosen(name: str, base: str, shape: Hyperparameters, *names: str, **mix: bool) -> list[str]:
    tensors = _tensors(*names, experts=max(shape.experts, 1))
    found = choose_types(Mix(name, type_named(base), shape, **mix), tensors)
    return [found[item].taken.name for item in names]


def test_values_of_a_70b_get_five_bits(llama: Hyperparameters) -> None:
    names = [f"blk.{layer}.attn_v.weight" for layer in range(80)]
    assert set(_chosen("Q3_K_M", "Q3_K", llama, *names)) == {"Q5_K"}
    smaller = replace(llama, layers_all=32)
    assert _chosen("Q3_K_M", "Q3_K", smaller, *names)[:4] == ["Q5_K", "Q5_K", "Q4_K", "Q4_K"]
    # As many heads as key heads: an older, smaller model with as many layers.
    alike = replace(llama, kv_heads=llama.heads)
    assert _chosen("Q3_K_M", "Q3_K", alike, *names)[2] == "Q4_K"


def test_first_layers_get_more_with_an_importance_matrix(llama: Hyperparameters) -> None:
    names = [f"blk.{layer}.ffn_down.weight" for layer in range(80)]
    with_matrix = _chosen("Q4_0", "Q4_0", llama, *names, imatrix=True)
    assert with_matrix[:10] == ["Q4_1"] * 10  # an eighth of the layers
    assert set(with_matrix[10:]) == {"Q4_0"}
    assert set(_chosen("Q4_0", "Q4_0", llama, *names)) == {"Q4_0"}
    assert _chosen("Q5_0", "Q5_0", llama, *names, imatrix=True)[9:11] == ["Q5_1", "Q5_0"]


def test_an_expert_whose_layer_can_not_be_told(llama: Hyperparameters) -> None:
    mixture = replace(llama, experts=8)
    assert _chosen("Q4_K_M", "Q4_K", mixture, "blk.3.ffn_down_exps.weight") == ["Q6_K"]
    for name in ("ffn_down_exps.weight", "blk.80.ffn_down_exps.weight"):
        with pytest.raises(MixError, match="to which layer"):
            _chosen("Q4_K_M", "Q4_K", mixture, name)


def test_an_architecture_that_keeps_some_at_eight_bits(llama: Hyperparameters) -> None:
    glm = replace(llama, architecture="glm5-next")
    names = ("blk.0.attn_q_a.weight", "blk.0.attn_q_b.weight", "blk.0.ffn_up.weight")
    assert _chosen("Q4_K_M", "Q4_K", glm, *names) == ["Q8_0", "Q8_0", "Q4_K"]
    assert _chosen("Q4_K_M", "Q4_K", llama, *names)[0] != "Q8_0"


@pytest.mark.parametrize(
    ("wanted", "row", "taken"),
    [
        ("Q4_K", 512, "Q4_K"),
        ("Q4_K", 96, "Q5_0"),
        ("Q6_K", 96, "Q8_0"),
        ("Q2_K", 96, "Q4_0"),
        ("Q8_0", 96, "Q8_0"),
        ("Q4_K", 80, "F16"),
        ("Q8_0", 80, "F16"),
    ],
)
def test_rows_that_blocks_do_not_divide(wanted: str, row: int, taken: str) -> None:
    assert fitting_type(type_named(wanted), row, "a").name == taken


def test_layers_with_more_bits_and_the_order_of_the_engine() -> None:
    assert [layer for layer in range(16) if more_bits(layer, 16)] == [0, 1, 4, 7, 10, 13, 14, 15]
    names = ["blk.10.a", "output.weight", "blk.2.b", "blk.2.a", "token_embd.weight"]
    assert sorted(names, key=engine_order) == [
        "output.weight",
        "token_embd.weight",
        "blk.2.a",
        "blk.2.b",
        "blk.10.a",
    ]


def test_bits_of_what_is_expected(tmp_path: Path) -> None:
    model = ShapeModel(layers=2, embedding=256, heads=4, kv_heads=4, feed_forward=256, kind="F16")
    facts = read_facts(model.builder().write(tmp_path / "m.gguf"))
    expected = expect(facts, quant_type("Q8_0"))
    assert expected.bits_per_weight == pytest.approx(8.5, abs=0.01)


def test_the_middle_layers_of_a_small_mix_get_less(llama: Hyperparameters) -> None:
    for role in ("ffn_gate", "ffn_up"):
        names = [f"blk.{layer}.{role}.weight" for layer in range(80)]
        found = _chosen("IQ3_XS", "IQ3_S", llama, *names)
        # All but the first and the last eighth
        assert found == ["IQ3_S"] * 10 + ["IQ3_XXS"] * 60 + ["IQ3_S"] * 10
        assert set(_chosen("IQ3_S", "IQ3_S", llama, *names)) == {"IQ3_S"}


def test_first_and_last_layer_of_experts_are_told_by_name(llama: Hyperparameters) -> None:
    mixture = replace(llama, experts=8)
    names = [f"blk.{layer}.ffn_down_exps.weight" for layer in (79, 40, 0)]
    # A third of the layers between the eighths gets more; 40 is not among them.
    assert _chosen("Q4_K_M", "Q4_K", mixture, *names) == ["Q6_K", "Q4_K", "Q6_K"]


def test_what_one_architecture_keeps_others_quantise(llama: Hyperparameters) -> None:
    glm = replace(llama, architecture="glm5-next")
    names = ("blk.0.attn_k_b.weight", "blk.0.hc_attn.weight", "blk.0.attn_norm.weight")
    assert _chosen("Q4_K_S", "Q4_K", glm, *names) == ["F16", "F16", "F16"]
    assert _chosen("Q4_K_S", "Q4_K", llama, *names) == ["Q4_K", "Q4_K", "F16"]


@pytest.mark.parametrize(
    ("mix", "base", "output"),
    [
        ("Q4_K_M", "Q4_K", "Q6_K"),
        ("Q8_0", "Q8_0", "Q8_0"),
        ("IQ3_XXS", "IQ3_XXS", "Q5_K"),
        ("IQ2_M", "IQ2_S", "Q5_K"),
        ("MXFP4_MOE", "MXFP4", "Q8_0"),
    ],
)
def test_the_output_matrix(llama: Hyperparameters, mix: str, base: str, output: str) -> None:
    names = ("output.weight", "token_embd.weight")
    assert _chosen(mix, base, llama, *names)[0] == output
    # Without one of its own the table is the output.
    assert _chosen(mix, base, llama, "token_embd.weight") == [output]
    falcon = replace(llama, architecture="falcon")
    assert _chosen(mix, base, falcon, *names)[0] == "Q8_0"


@pytest.mark.parametrize(("mix", "base", "better"), [
    ("IQ2_XXS", "IQ2_XXS", "Q2_K"), ("IQ2_M", "IQ2_S", "IQ3_S"), ("IQ1_M", "IQ1_M", "Q2_K"),
])  # fmt: skip
def test_the_first_layers_of_the_smallest_mixes(
    llama: Hyperparameters, mix: str, base: str, better: str
) -> None:
    names = [f"blk.{layer}.ffn_down.weight" for layer in range(80)]
    assert _chosen(mix, base, llama, *names) == [better] * 10 + [base] * 70


def test_eight_experts_get_more_where_other_layers_do(llama: Hyperparameters) -> None:
    names = [f"blk.{layer}.ffn_down_exps.weight" for layer in range(80)]
    more = ["Q4_K" if more_bits(layer, 80) else "IQ3_S" for layer in range(80)]
    assert _chosen("IQ3_M", "IQ3_S", replace(llama, experts=8), *names) == more
    early = ["Q4_K"] * 10 + ["IQ3_S"] * 70
    assert _chosen("IQ3_M", "IQ3_S", replace(llama, experts=9), *names) == early
