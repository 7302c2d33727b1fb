"""Facts of models by their shapes, written as files and read as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from tests.helpers.shape_gguf import ShapeModel


@pytest.fixture
def facts_of(tmp_path: Path) -> Any:
    def make(model: ShapeModel, *drop: str, **keys: Any) -> ModelFacts:
        builder = model.builder().drop(*drop)
        for name, value in keys.items():
            full = f"{model.architecture}.{name.replace('__', '.')}"
            builder.drop(full)
            if isinstance(value, list):
                kind = "[bool]" if isinstance(value[0], bool) else "[i32]"
                builder.key(full, kind, value)
            else:
                builder.u32(full, value)
        return read_facts(builder.write(tmp_path / f"{model.architecture}.gguf"))

    return make
