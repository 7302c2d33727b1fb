"""Layers that run three times, each time with a cache of their own."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {**attention(288, 96), **feed_forward()}

FAMILY = Family(
    architecture="nanbeige",
    keys={
        **base_keys(layers=3, heads=9, kv_heads=3, head=32),
        "num_loops": ("u32", 3),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 3,
)
