"""Defects of plans and of what is made of them."""

from __future__ import annotations

from typing import Final

from tests.defects.defect import Defect

__all__ = ["DEFECTS"]

_ORACLE: Final = ("tests/gguf_tools/test_oracle.py",)

DEFECTS: Final = (
    Defect(
        "headroom left out",
        "gguf_tools/machine.py",
        "LOAD_LINE: Final = 0.9",
        "LOAD_LINE: Final = 1.0",
        ("tests/inspector/test_planning.py", "tests/inspector/test_planner_words.py"),
    ),
    Defect(
        "every head has a cache",
        "gguf_tools/hparams/model.py",
        "return self.head_k(layer) * self.kv_heads[layer]",
        "return self.head_k(layer) * self.heads[layer]",
        ("tests/gguf_tools/test_oracle.py", "tests/gguf_tools/test_hparams.py"),
    ),
    Defect(
        "a window's cache without the micro-batch",
        "gguf_tools/kv.py",
        "return round_up(min(settings.context, window + settings.ubatch), _CELLS)",
        "return round_up(min(settings.context, window), _CELLS)",
        _ORACLE,
    ),
    Defect(
        "a state for one sequence only",
        "gguf_tools/state.py",
        "rows = max(1, sequences) * (1 + kept) * _F32_BYTES",
        "rows = (1 + kept) * _F32_BYTES",
        _ORACLE,
    ),
    Defect(
        "all experts are read for a token",
        "gguf_tools/roles.py",
        "return 1.0 - (1.0 - used / shape.experts) ** tokens",
        "return 1.0",
        ("tests/gguf_tools/test_physics.py", "tests/gguf_tools/test_expected.py"),
    ),
    Defect(
        "a length in a file is believed",
        "gguf_tools/header/parser.py",
        "        if count > self._size - self._at:",
        "        if count > 1 << 62:",
        ("tests/gguf_tools/test_damage.py",),
    ),
    Defect(
        "memory of others counts as free",
        "gguf_tools/pools.py",
        "others = None if total is None or free is None else max(total - free, 0)",
        "others = None if total is None or free is None else 0",
        ("tests/gguf_tools/test_physics.py", "tests/inspector/test_room.py"),
    ),
)
