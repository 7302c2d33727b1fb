"""The sampler draws what llama.cpp's own chain draws, penalties and likeliest tokens included."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.engine.protocol import SamplingOptions
from tests.helpers.reference_chain import draw_twice
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

SEEDED = SamplingOptions(temperature=1.5, seed=7)
WAYS = {
    "plain": SEEDED,
    "greedy": SamplingOptions(temperature=0.0),
    "repeat": msgspec.structs.replace(SEEDED, repeat_penalty=1.3),
    "short window": msgspec.structs.replace(SEEDED, repeat_penalty=1.3, repeat_last_n=3),
    "whole window": msgspec.structs.replace(SEEDED, repeat_penalty=1.2, repeat_last_n=-1),
    "no window": msgspec.structs.replace(SEEDED, repeat_penalty=1.3, repeat_last_n=0),
    "frequency": msgspec.structs.replace(SEEDED, frequency_penalty=0.7),
    "presence": msgspec.structs.replace(SEEDED, presence_penalty=-0.5),
    "all three": msgspec.structs.replace(
        SEEDED, repeat_penalty=0.9, frequency_penalty=0.2, presence_penalty=0.4
    ),
    "greedy with penalties": SamplingOptions(
        temperature=0.0, repeat_penalty=1.4, frequency_penalty=0.5, repeat_last_n=5
    ),
    "no top-k": msgspec.structs.replace(SEEDED, top_k=0, repeat_penalty=1.1),
    "DRY": msgspec.structs.replace(SEEDED, dry_multiplier=0.9),
    "DRY again": msgspec.structs.replace(SEEDED, dry_multiplier=0.9, seed=8),
    "DRY and penalties": msgspec.structs.replace(
        SEEDED, dry_multiplier=0.9, repeat_penalty=1.3, temperature=0.0
    ),
}
PAST = [11, 12, 13, 11, 12, 90, 11, 11, 40, 41]


def test_draws_what_the_engines_own_chain_draws(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf", TinyModel(layers=1))

    drawn = dict(
        zip(WAYS, draw_twice(path, list(WAYS.values()), past=PAST, tokens=80), strict=True)
    )

    for way, both in drawn.items():
        assert both.own == both.reference, way
        assert both.untouched, way
    # The ways do differ, or equal lists would say little.
    assert len({tuple(both.own) for both in drawn.values()}) >= len(WAYS) - 2
