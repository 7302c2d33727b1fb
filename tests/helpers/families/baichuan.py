"""Heads without a bias by distance, as in the smaller of two models."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

FAMILY = Family(
    architecture="baichuan",
    keys=base_keys(layers=5, heads=9, kv_heads=9, head=32),
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "output_norm.weight": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=({**attention(288, 288), **feed_forward()},) * 5,
)
