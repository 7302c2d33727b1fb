"""What a file is, by its architecture, its type and what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.header_files import small_model


def _renamed(architecture: str, *, pooling: int | None = None) -> GgufBuilder:
    """Return the small model as another architecture."""
    builder = small_model()
    builder.keys = [
        (str(name).replace("llama.", f"{architecture}.", 1), value) for name, value in builder.keys
    ]
    builder.drop("general.architecture").text("general.architecture", architecture)
    if pooling is not None:
        builder.u32(f"{architecture}.pooling_type", pooling)
    return builder


@pytest.mark.parametrize(
    ("builder", "kind", "loadable"),
    [
        (_renamed("llama"), "model", True),
        (_renamed("llada"), "diffusion", None),
        (_renamed("eagle3"), "draft", False),
        (_renamed("wavtokenizer-dec"), "audio", False),
        (_renamed("bert"), "embedding", None),
        (_renamed("qwen3", pooling=1), "embedding", None),
        (_renamed("qwen3", pooling=3), "embedding", None),
        (_renamed("qwen3", pooling=4), "reranker", None),
        (_renamed("qwen3", pooling=0), "model", True),
        (small_model().text("general.type", "mmproj"), "projector", False),
        (small_model().text("general.type", "clip-vision"), "projector", False),
        (small_model().text("general.type", "adapter"), "adapter", False),
        (small_model().text("adapter.type", "lora"), "adapter", False),
        (small_model().text("general.type", "imatrix"), "imatrix", False),
        (small_model().key("imatrix.datasets", "[str]", ["wiki"]), "imatrix", False),
        (small_model().drop("llama.block_count"), "unknown", False),
    ],
)
def test_kinds(builder: GgufBuilder, kind: str, loadable: bool | None, tmp_path: Path) -> None:
    facts = read_facts(builder.write(tmp_path / "m.gguf"))
    assert facts.kind == kind
    if loadable is not None:
        assert facts.loadable is loadable


def test_files_without_tensors(tmp_path: Path) -> None:
    builder = small_model()
    builder.tensors.clear()
    assert read_facts(builder.write(tmp_path / "a.gguf")).kind == "unknown"
    builder.key("tokenizer.ggml.tokens", "[str]", ["a", "b"])
    facts = read_facts(builder.write(tmp_path / "b.gguf"))
    assert facts.kind == "vocabulary"
    assert facts.vocab_size == 2


def test_what_says_too_little_is_not_planned(tmp_path: Path) -> None:
    facts = read_facts(small_model().drop("llama.block_count").write(tmp_path / "m.gguf"))
    for plan in (make_plan, memory_plan):
        with pytest.raises(ValueError, match="too little"):
            plan(facts, LoadSettings(), cpu_only())
