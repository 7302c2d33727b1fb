"""Dense layers first, then experts beside attention; turns in the lead and in windows."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    attention,
    base_keys,
    feed_forward,
    routed,
)

_COMMON = attention(288, 96)
_FIRST = {**_COMMON, **feed_forward(norm=False)}
_SECOND = {**_COMMON, **routed(96, 11, shared=True)}

FAMILY = Family(
    architecture="cohere2moe",
    keys={
        **base_keys(layers=6, heads=9, kv_heads=3, head=32),
        "attention.sliding_window": ("u32", 300),
        "logit_scale": ("f32", 0.25),
        "expert_count": ("u32", 11),
        "expert_used_count": ("u32", 5),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_count": ("u32", 1),
        "leading_dense_block_count": ("u32", 1),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_FIRST, *(_SECOND,) * 5),
)
