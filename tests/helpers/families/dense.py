"""Grouped-query attention with three query heads for each key head, and biases on Q, K and V."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **attention(288, 96),
    **feed_forward(),
    "attn_k.bias": (96,),
    "attn_q.bias": (288,),
    "attn_v.bias": (96,),
}

FAMILY = Family(
    architecture="qwen2",
    keys=base_keys(layers=5, heads=9, kv_heads=3, head=32),
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 5,
)
