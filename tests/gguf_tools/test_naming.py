"""Which name a model is shown by, from its file's name and its metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.naming import shown_name
from tests.helpers.shape_gguf import ShapeModel


@pytest.mark.parametrize(
    ("file_name", "own", "shown"),
    [
        # What people chose it by goes before the name of a training run.
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Smollm2 135M 8k Mix1 Ep2", "SmolLM2-135M-Instruct"),
        ("Qwen2.5-7B-Instruct-Q4_K_M-00001-of-00003.gguf", "", "Qwen2.5-7B-Instruct"),
        ("Llama-3.1-8B-Instruct-abliterated-Q8_0.gguf", "Llama 3.1 8B Instruct",
         "Llama-3.1-8B-Instruct-abliterated"),
        # A file's name that says nothing gives way.
        ("sha256-" + "0a" * 32, "gemma 3 12b it", "gemma 3 12b it"),
        ("model.gguf", "Tiny 1B", "Tiny 1B"),
        ("ggml-model-q4_0.gguf", "Tiny 1B", "Tiny 1B"),
        ("unsloth.Q4_K_M.gguf", "Llama 3.2 1B", "Llama 3.2 1B"),
        ("pytorch_model-F16.gguf", "Tiny 1B", "Tiny 1B"),
        ("Q4_K_M.gguf", "Tiny 1B", "Tiny 1B"),
        ("model.gguf", "", "model"),
        ("model-Q4_0.gguf", "  ", "model"),
        # What a cache puts before it does not.
        ("ggml-org_Llama-3.1-8B-Instruct-Q8_0.gguf", "Llama 3.1 8B Instruct",
         "Llama-3.1-8B-Instruct"),
        ("ggml-org_gemma-3-4b-it-GGUF_gemma-3-4b-it-Q4_K_M.gguf", "Gemma 3 4b It", "gemma-3-4b-it"),
        ("tiny_llama-Q8_0.gguf", "Tiny Llama", "tiny_llama"),
        # A model typed as figures has no file: its name is the whole of it.
        ("8B, plain Q4.gguf", "8B, plain Q4", "8B, plain Q4"),
    ],
)  # fmt: skip
def test_shown_name(file_name: str, own: str, shown: str) -> None:
    assert shown_name(file_name, own) == shown


def test_facts_have_both_names(tmp_path: Path) -> None:
    built = ShapeModel(layers=1, embedding=64, heads=2, kv_heads=1, feed_forward=64, vocabulary=32)
    built.builder().write(tmp_path / "Nice-1B-F16.gguf")
    facts = read_facts(tmp_path / "Nice-1B-F16.gguf")
    assert facts.shown_name == "Nice-1B"
    assert facts.name == facts.header.text("general.name")
