"""What tests of headers begin with: a small whole model, raw bytes as a file, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.shape_gguf import ShapeModel

__all__ = ["problem_of", "raw_file", "small_model"]


def small_model() -> GgufBuilder:
    """Return a model of two layers that fits into some kilobytes."""
    return ShapeModel(
        layers=2, embedding=64, heads=4, kv_heads=2, feed_forward=96, vocabulary=32, kind="F16"
    ).builder()


def raw_file(folder: Path, data: bytes, name: str = "x.gguf") -> Path:
    """Write bytes as they are; return the path."""
    path = folder / name
    path.write_bytes(data)
    return path


def problem_of(path: Path) -> str:
    """Return the kind of error that a file gives; its text must be one sentence."""
    with pytest.raises(HeaderError) as caught:
        read_facts(path)
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert len(text) < 400
    return caught.value.kind
