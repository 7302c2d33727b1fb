"""What a variant is expected to be, against what the engine's own quantiser says and makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.naming import REQUANTIZED_KEY, requantized_from
from gguf_tools.plan import make_plan
from gguf_tools.quantize import (
    QUANT_TYPES,
    expect,
    quant_type,
    refusal_of,
    requantize_warning,
    suggested_name,
)
from gguf_tools.settings import LoadSettings
from tests.helpers.quantize_dry_runs import quantize_dry_runs
from tests.helpers.sparse_models import unpack_sparse
from tests.helpers.tiny_gguf import TinyModel, tiny_builder, write_tiny_model

# Architectures with rules of their own: experts, shared values, latent attention, states, odd rows.
_MODELS = (
    "Llama-3.1-8B",
    "Qwen3-30B-A3B",
    "bailingmoe3",
    "deepseek2",
    "falcon",
    "gemma-3n-E4B",
    "gpt-oss",
    "jamba",
    "llama-moe",
    "phi3",
    "real-SmolLM2",
    "rwkv7",
    "t5",
)


def test_every_tensor_gets_the_engines_type(tmp_path: Path) -> None:
    """All 105 headers of the oracle agree for all types; these are the telling ones."""
    files = unpack_sparse(tmp_path)
    facts = {files[name]: read_facts(files[name]) for name in _MODELS}
    kinds = {kind.file_type: kind for kind in QUANT_TYPES}
    asked = [(path, number) for path in facts for number in kinds]
    compared = refused = 0
    for ran in quantize_dry_runs(asked):
        expected = expect(facts[ran.path], kinds[ran.file_type])
        place = (ran.path.stem, expected.kind.name)
        assert (ran.types is None) == (expected.obstacle is not None), place
        if ran.types is None:
            refused += 1
            continue
        tensors = expected.facts.header.tensors
        assert {name: t.type.name.lower() for name, t in tensors.items()} == ran.types, place
        compared += 1
    assert compared + refused == len(asked)
    assert compared > 0.9 * len(asked)


def test_a_type_needs_an_importance_matrix(tmp_path: Path) -> None:
    facts = read_facts(unpack_sparse(tmp_path)["Llama-3.1-8B"])
    for name, needs in (("IQ2_XXS", True), ("Q2_K_S", True), ("Q2_K", False), ("IQ4_XS", False)):
        expected = expect(facts, quant_type(name))
        assert bool(expected.needs_imatrix) is needs, name
        refused = refusal_of(expected, allow_requantize=True, imatrix=False)
        assert (refused is not None and "importance matrix" in refused) is needs
        assert refusal_of(expected, allow_requantize=True, imatrix=True) is None
    plain, weighted = (
        expect(facts, quant_type("IQ4_XS"), imatrix=given) for given in (False, True)
    )
    assert plain.file_bytes > weighted.file_bytes  # without one the first layers get more bits


def test_requantising_has_to_be_allowed(tmp_path: Path) -> None:
    headers = unpack_sparse(tmp_path)
    quantised = read_facts(headers["real-SmolLM2"])
    expected = expect(quantised, quant_type("Q4_0"))
    assert expected.requantized
    refused = refusal_of(expected, allow_requantize=False, imatrix=False)
    assert refused is not None
    assert "quantised already" in refused
    assert refusal_of(expected, allow_requantize=True, imatrix=False) is None
    assert "requantised" in (requantize_warning(expected) or "")
    whole = read_facts(write_tiny_model(tmp_path / "whole.gguf"))
    assert requantize_warning(expect(whole, quant_type("Q4_0"))) is None


def test_rows_that_do_not_divide_fall_back(tmp_path: Path) -> None:
    facts = read_facts(write_tiny_model(tmp_path / "tiny.gguf"))  # rows of 64 and 96
    expected = expect(facts, quant_type("Q4_K_M"))
    assert expected.fallbacks
    for item in expected.fallbacks:
        assert item.row_elements % item.wanted.block
        assert item.row_elements % item.taken.block == 0
        assert item.taken.block == 32
    assert expect(facts, quant_type("Q8_0")).fallbacks == ()
    impossible = expect(facts, quant_type("Q1_0"))
    assert impossible.obstacle is not None
    assert "128" in impossible.obstacle


def test_what_is_no_whole_model_is_refused(tmp_path: Path) -> None:
    builder = tiny_builder()
    builder.text("general.type", "adapter").text("adapter.type", "lora")
    facts = read_facts(builder.write(tmp_path / "adapter.gguf"))
    refused = refusal_of(expect(facts, quant_type("Q8_0")), allow_requantize=True, imatrix=True)
    assert refused is not None
    assert "adapter" in refused


def test_the_same_type_again_changes_nothing(tmp_path: Path) -> None:
    facts = read_facts(write_tiny_model(tmp_path / "tiny.gguf"))
    refused = refusal_of(expect(facts, quant_type("F32")), allow_requantize=True, imatrix=False)
    assert refused is not None
    assert "already" in refused


def test_a_variant_can_be_planned_before_it_is_made(tmp_path: Path) -> None:
    facts = read_facts(unpack_sparse(tmp_path)["Llama-3.1-8B"])
    machine = cpu_only(64 << 30, 64 << 30, bandwidth_bytes_per_s=50e9, flops_per_s=1e12)
    rates = {}
    for name in ("F16", "Q8_0", "Q4_K_M", "Q2_K"):
        expected = expect(facts, quant_type(name))
        plan = make_plan(expected.facts, LoadSettings(context=4096, outputs=1), machine)
        assert plan.decode.ceiling is not None
        rates[name] = plan.decode.ceiling
        assert expected.facts.quantization == name
    assert rates["F16"] < rates["Q8_0"] < rates["Q4_K_M"] < rates["Q2_K"]


def test_names() -> None:
    assert quant_type("q4_k").name == "Q4_K_M"
    assert quant_type("iq4_xs").name == "IQ4_XS"
    with pytest.raises(ValueError, match="Q4_K_M"):
        quant_type("Q9")


def test_a_name_for_the_file(tmp_path: Path) -> None:
    facts = read_facts(write_tiny_model(tmp_path / "Some-Model-8B-F16.gguf"))
    assert suggested_name(facts, quant_type("Q4_K_M")) == "Some-Model-8B-Q4_K_M.gguf"


def test_a_requantised_file_says_so(tmp_path: Path) -> None:
    builder = tiny_builder(TinyModel())
    builder.text(REQUANTIZED_KEY, "Q4_1")
    facts = read_facts(builder.write(tmp_path / "tiny.gguf"))
    assert requantized_from(facts.header) == "Q4_1"
    assert any("Requantised from Q4_1" in line for line in facts.warnings)
