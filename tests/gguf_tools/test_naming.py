"""What a model is called, from names as they are in the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import open_header
from gguf_tools.naming import (
    FileName,
    group_key,
    is_partial_name,
    model_name,
    parse_file_name,
    quantization,
    shown_name,
    size_label,
)
from tests.helpers.gguf_bytes import GgufBuilder


@pytest.mark.parametrize(
    ("name", "base", "quant", "size"),
    [
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Meta-Llama-3.1-8B-Instruct", "Q4_K_M", "8B"),
        ("Qwen3-30B-A3B-UD-Q4_K_XL.gguf", "Qwen3-30B-A3B", "UD-Q4_K_XL", "30B-A3B"),
        (
            "mixtral-8x7b-instruct-v0.1.IQ3_XXS.gguf",
            "mixtral-8x7b-instruct-v0.1",
            "IQ3_XXS",
            "8x7B",
        ),
        ("gemma-3-270m-it-bf16.gguf", "gemma-3-270m-it", "BF16", "270M"),
        ("SmolLM2-1.7B-Q4_0_4_8.gguf", "SmolLM2-1.7B", "Q4_0_4_8", "1.7B"),
        ("gpt-oss-20b-mxfp4.gguf", "gpt-oss-20b", "MXFP4", "20B"),
        ("f16.gguf", "f16.gguf", "F16", None),
        ("tinyllama.gguf", "tinyllama", None, None),
    ],
)
def test_names_in_the_field(name: str, base: str, quant: str | None, size: str | None) -> None:
    assert parse_file_name(name) == FileName(base, quant, size, None, partial=False)


def test_shards_and_unfinished_downloads() -> None:
    found = parse_file_name("Kimi-K2-Q2_K-00003-of-00021.gguf.part")
    assert (found.base, found.quantization) == ("Kimi-K2", "Q2_K")
    assert found.shard == (3, 21)
    assert found.partial
    for name in ("a.gguf.crdownload", "a.gguf.incomplete", "a.gguf.part1of2", "a.gguf.tmp"):
        assert is_partial_name(Path("models") / name), name
    assert not is_partial_name(Path("models/partial.gguf"))


def test_variants_are_one_group() -> None:
    names = ("Phi-4_mini Q8_0.gguf", "phi-4-mini-Q4_K_S.gguf", "PHI-4-MINI.f16.gguf")
    assert {group_key(name) for name in names} == {"phi-4-mini"}


def _header(folder: Path, file: str = "Some-7B-Q5_K_M.gguf", **keys: str) -> Path:
    builder = GgufBuilder().text("general.architecture", "llama")
    for key, value in keys.items():
        builder.text(f"general.{key}", value)
    return builder.write(folder / file)


@pytest.mark.parametrize(
    ("keys", "name", "label"),
    [
        ({"name": " Llama "}, "Llama", "7B"),
        ({"name": "Model"}, "Some-7B", "7B"),
        ({"name": "model", "basename": "Olmo"}, "Olmo 7B", "7B"),
        ({"basename": "Olmo", "size_label": "13B"}, "Olmo 13B", "13B"),
        ({"basename": "Olmo-13b", "size_label": "13B"}, "Olmo-13b", "13B"),
    ],
)
def test_the_file_s_own_name_goes_first(
    keys: dict[str, str], name: str, label: str, tmp_path: Path
) -> None:
    header = open_header(_header(tmp_path, **keys))
    assert model_name(header) == name
    assert size_label(header) == label


def test_a_base_name_without_a_size(tmp_path: Path) -> None:
    header = open_header(_header(tmp_path, "Q4_0.gguf", basename="Olmo"))
    assert model_name(header) == "Olmo"
    assert size_label(header) is None


_MOSTLY_Q4 = {"Q4_K": 900, "Q6_K": 90, "F32": 10}


@pytest.mark.parametrize(
    ("file", "file_type", "type_bytes", "name"),
    [
        ("m.gguf", 15, _MOSTLY_Q4, "Q4_K_M"),
        # A maker's own name for a mix of the same family is finer than the number.
        ("m-UD-Q4_K_XL.gguf", 15, _MOSTLY_Q4, "UD-Q4_K_XL"),
        ("m-Q8_0.gguf", 15, _MOSTLY_Q4, "Q4_K_M"),
        # Copied from the unquantised model: can't be true.
        ("m-Q4_K_S.gguf", 1, _MOSTLY_Q4, "Q4_K_S"),
        ("m-Q8_0.gguf", 1, _MOSTLY_Q4, "Q4_K"),
        ("m.gguf", 0, _MOSTLY_Q4, "Q4_K"),
        ("m.gguf", 1, {"Q8_0": 50, "F16": 50}, "F16"),
        ("m.gguf", 1, {"F16": 49, "Q8_0": 51}, "Q8_0"),
        ("m-fp16.gguf", 1, {"F16": 99, "F32": 1}, "FP16"),
        # A part of the name says less than the number.
        ("Model Q4 0.gguf", 2, {"Q4_0": 99, "F32": 1}, "Q4_0"),
        ("Model-Q4.gguf", 15, _MOSTLY_Q4, "Q4_K_M"),
        ("m.gguf", None, {"BF16": 99, "F32": 1}, "BF16"),
        ("m-IQ2_M.gguf", None, {"IQ2_S": 9, "Q4_K": 1}, "IQ2_M"),
        ("m-Q4_K_M.gguf", None, {}, None),
    ],
)
def test_quantisation(
    file: str, file_type: int | None, type_bytes: dict[str, int], name: str | None, tmp_path: Path
) -> None:
    builder = GgufBuilder().text("general.architecture", "llama")
    if file_type is not None:
        builder.u32("general.file_type", file_type)
    assert quantization(open_header(builder.write(tmp_path / file)), type_bytes) == name


def test_facts_show_these_names(tmp_path: Path) -> None:
    facts = read_facts(_header(tmp_path, name="Llama"))
    assert facts.name == "Llama"
    assert facts.size_label == "7B"


@pytest.mark.parametrize(
    ("file", "own", "shown"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "run 17", "Qwen3-8B"),
        ("model.gguf", "Olmo 7B", "Olmo 7B"),
        ("f16.gguf", "Olmo 7B", "Olmo 7B"),
        ("f16.gguf", "", "f16.gguf"),
        ("Olmo 7B.gguf", "Olmo 7B", "Olmo 7B"),
        # llama.cpp's cache: owner, repository, file.
        ("unsloth_Qwen3-8B-GGUF_Qwen3-8B-Q4_0.gguf", "Qwen3 8B", "Qwen3-8B"),
        ("my_model-Q4_0.gguf", "Other", "my_model"),
    ],
)
def test_the_name_that_is_shown(file: str, own: str, shown: str) -> None:
    assert shown_name(file, own) == shown
