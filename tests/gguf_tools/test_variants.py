"""What is known of a variant before it is made: what changes, from what, and how large it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.quantize import expect, quant_type, refusal_of, requantize_warning
from tests.helpers.shape_gguf import ShapeModel


def _facts(folder: Path, kind: str) -> ModelFacts:
    model = ShapeModel(
        layers=2, embedding=256, heads=4, kv_heads=4, feed_forward=512, vocabulary=64, kind=kind
    )
    return read_facts(model.builder().write(folder / "m.gguf"))


@pytest.mark.parametrize(
    ("source", "target", "changed", "from_types", "bits"),
    [
        # Two tables and seven matrices in each of two layers; norms stay.
        ("F16", "Q8_0", 16, (), 8.5),
        ("Q8_0", "Q8_0", 0, (), 8.5),
        ("Q8_0", "F16", 16, ("Q8_0",), 16.0),
        # The table of tokens and the matrices in Q4_0, the output in Q6_K
        ("Q8_0", "Q4_0", 16, ("Q8_0",), (4.5 * (1_310_720 + 16_384) + 6.5625 * 16_384) / 1_343_488),
    ],
)
def test_what_changes_and_from_which_types(
    tmp_path: Path,
    source: str,
    target: str,
    changed: int,
    from_types: tuple[str, ...],
    bits: float,
) -> None:
    facts = _facts(tmp_path, source)
    expected = expect(facts, quant_type(target))
    assert (expected.changed_tensors, expected.source_types) == (changed, from_types)
    assert expected.needs_imatrix == ()
    assert expected.fallbacks == ()
    norms = 5 * 256  # in F32
    matrices = sum(tensor.elements for tensor in facts.header.tensors.values()) - norms
    assert matrices == 1_343_488
    weights = sum(tensor.size_bytes for tensor in expected.facts.header.tensors.values())
    assert weights == round(matrices * bits / 8) + 4 * norms
    assert 0 < expected.file_bytes - weights < expected.facts.header.header_bytes + 1024


def test_what_is_quantised_already_is_refused_or_marked(tmp_path: Path) -> None:
    expected = expect(_facts(tmp_path, "Q8_0"), quant_type("Q4_0"))
    refused = refusal_of(expected, allow_requantize=False, imatrix=False)
    assert refused is not None
    assert refused.startswith("m.gguf is quantised already (Q8_0): Q4_0 made from it is worse")
    assert refusal_of(expected, allow_requantize=True, imatrix=False) is None
    warned = requantize_warning(expected)
    assert warned is not None
    assert warned.startswith("Made from weights in Q8_0, so it is worse")
    plain = expect(_facts(tmp_path, "F16"), quant_type("Q4_0"))
    assert requantize_warning(plain) is None
    assert refusal_of(plain, allow_requantize=False, imatrix=False) is None
    same = refusal_of(
        expect(_facts(tmp_path, "F16"), quant_type("F16")), allow_requantize=True, imatrix=False
    )
    assert same == "m.gguf is F16 already: nothing would change."


def test_the_smallest_types_need_an_importance_matrix(tmp_path: Path) -> None:
    expected = expect(_facts(tmp_path, "F16"), quant_type("IQ2_XXS"))
    assert expected.needs_imatrix
    assert "token_embd.weight" not in expected.needs_imatrix
    refused = refusal_of(expected, allow_requantize=True, imatrix=False)
    assert refused is not None
    assert refused.startswith("IQ2_XXS needs an importance matrix")
    assert refusal_of(expected, allow_requantize=True, imatrix=True) is None
