"""Experts that only every second layer runs; a dense layer leads, a shared expert (Ernie 4.5)."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    attention,
    base_keys,
    feed_forward,
    routed,
)

_COMMON = attention(384, 192)
_DENSE = {**_COMMON, **feed_forward()}
_ROUTED = {**_COMMON, "ffn_norm.weight": (288,), **routed(96, 11, shared=True)}

FAMILY = Family(
    architecture="ernie4_5-moe",
    keys={
        **base_keys(layers=9, heads=6, kv_heads=3, head=64),
        "expert_count": ("u32", 11),
        "expert_used_count": ("u32", 5),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_count": ("u32", 1),
        "expert_shared_feed_forward_length": ("u32", 96),
        "interleave_moe_layer_step": ("u32", 2),
        "leading_dense_block_count": ("u32", 1),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_DENSE, *(_ROUTED,) * 8),
)
