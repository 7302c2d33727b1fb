from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.data.library.entries import ModelEntry

MakeEntry = Callable[..., ModelEntry]


@pytest.fixture
def make_entry() -> MakeEntry:
    """Return an entry of a good model with what a test says of it."""

    def make(path: str = "/m/tiny-1B-Q4_0.gguf", **values: Any) -> ModelEntry:
        file = Path(path)
        given: dict[str, Any] = {
            "path": file,
            "files": (file,),
            "name": "Tiny 1B",
            "base_name": "tiny-1B",
            "title": "Tiny 1B",
            "group": "llama|1b-tiny",
            "quantization": "Q4_0",
            "size_label": "1B",
            "size_bytes": 500,
            "stamp": "tiny:500:1",
            "architecture": "llama",
            "context_length": 2048,
            "parameters": 1_000_000_000,
            "bits_per_weight": 4.5,
            "embedding_length": 64,
            "bytes_per_token": 400,
            "kind": "model",
            "bases": (),
            "belongs_to": None,
            "problem": None,
            "broken": False,
            "source": "Folder",
        }
        return ModelEntry(**(given | values))

    return make
