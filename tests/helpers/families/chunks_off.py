"""Experts that scale their input, as models with chunks have them, with the chunks switched off."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    attention,
    base_keys,
    feed_forward,
    routed,
)

_DENSE = {**attention(288, 96), **feed_forward()}
_EXPERTS = {**attention(288, 96), "ffn_norm.weight": (288,), **routed(96, 7, shared=True)}

FAMILY = Family(
    architecture="llama4",
    keys={
        **base_keys(layers=6, heads=9, kv_heads=3, head=32),
        "attention.sliding_window": ("u32", 0),
        "interleave_moe_layer_step": ("u32", 2),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 1),
        "expert_feed_forward_length": ("u32", 96),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_DENSE, _EXPERTS) * 3,
)
