"""Which names mean one model."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.library.identity import identity_of, identity_of_name, named_bases, words_of
from gguf_tools.facts import read_facts
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.library_files import lora, projector
from tests.helpers.shape_gguf import ShapeModel

SMALL = ShapeModel(
    layers=1, embedding=64, heads=2, kv_heads=1, feed_forward=64, vocabulary=32, kind="F32"
)


def group_of(folder: Path, file: str, given: str = "", **keys: str) -> str:
    built = SMALL.builder().drop("general.name")
    for key, value in keys.items():
        built.text(f"general.{key}", value)
    return identity_of(read_facts(built.write(folder / file)), given).group


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Llama 3.1 8B Instruct", "Meta-Llama-3.1-8B-Instruct"),
        ("Llama3.1 8b Instruct", "Llama-3.1-8B-Instruct-GGUF"),
        ("Qwen2.5_7B_Instruct", "Qwen 2.5 7B Instruct"),
        ("gemma-3-4b-it", "Gemma 3 4b It"),
        ("SmolLM2-135M", "SmolLM2 135M"),
    ],
)
def test_one_model_in_many_spellings(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Llama 3.1 8B", "Llama 3.1 8B Instruct"),
        ("Qwen2.5 7B", "Qwen2.5 Coder 7B"),
        ("Llama-3.1-8B", "Llama-3.1-70B"),
        ("Mixtral-8x7B", "Mistral-7B"),
    ],
)
def test_different_models(one: str, other: str) -> None:
    assert words_of(one) != words_of(other)


def test_metadata_goes_before_the_files_name(tmp_path: Path) -> None:
    named = group_of(tmp_path, "x.gguf", name="Llama 3.1 8B Instruct")
    assert named == group_of(tmp_path, "other-Q8_0.gguf", name="Meta-Llama-3.1-8B-Instruct")
    parts = {"basename": "Llama-3.1", "finetune": "Instruct", "size_label": "8B"}
    assert named == group_of(tmp_path, "y.gguf", **parts)
    assert named == group_of(tmp_path, "Llama-3.1-8B-Instruct-Q4_K_M.gguf")
    assert named != group_of(tmp_path, "Llama-3.1-70B-Instruct-Q4_K_M.gguf")


def test_what_another_program_says_counts_where_the_file_says_nothing(tmp_path: Path) -> None:
    plain = group_of(tmp_path, "sha256-00ff", "tiny3.1:8b-q4_0")
    assert plain == group_of(tmp_path, "sha256-11ff", "tiny3.1:8b-q8_0")
    named = group_of(tmp_path, "sha256-22ff", "whatever:1b", name="Tiny 3.1")
    assert named == group_of(tmp_path, "file.gguf", name="Tiny-3.1")


def test_architectures_are_kept_apart(tmp_path: Path) -> None:
    other = ShapeModel(
        architecture="qwen2", layers=1, embedding=64, heads=2, kv_heads=1, feed_forward=64,
        vocabulary=32, kind="F32",
    )  # fmt: skip
    path = other.builder().drop("general.name").text("general.name", "Same 1B")
    assert identity_of(read_facts(path.write(tmp_path / "a.gguf"))).group != group_of(
        tmp_path, "b.gguf", name="Same 1B"
    )


def test_a_file_that_can_not_be_read_has_its_name() -> None:
    assert identity_of_name("Llama-3-8B-Q4_0.gguf").title == "Llama-3-8B"


def test_what_parts_were_made_for(tmp_path: Path) -> None:
    adapter = read_facts(lora("llama", "Llama 3.1 8B").write(tmp_path / "lora.gguf"))
    assert named_bases(adapter) == ("Llama 3.1 8B",)
    vision = read_facts(projector(64, "gemma 3 4b it").write(tmp_path / "mmproj.gguf"))
    assert named_bases(vision) == ("gemma 3 4b it",)
    whole = read_facts(SMALL.builder().write(tmp_path / "m.gguf"))
    assert named_bases(whole) == ()
    linked = GgufBuilder().text("general.architecture", "llama").text("general.type", "adapter")
    linked.text("adapter.type", "lora").u32("general.base_model.count", 4_000_000_000)
    linked.text("general.base_model.0.repo_url", "https://hub.example/ada/Base-7B/")
    linked.tensor("blk.0.attn_q.weight.lora_a", (32, 4))
    assert named_bases(read_facts(linked.write(tmp_path / "l.gguf"))) == ("Base-7B",)
