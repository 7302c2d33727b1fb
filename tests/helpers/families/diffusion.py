"""Attention in both directions without a cache, with an output matrix."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **attention(288, 96),
    **feed_forward(),
    "attn_k.bias": (96,),
    "attn_v.bias": (96,),
    "attn_q.bias": (288,),
}

FAMILY = Family(
    architecture="dream",
    keys=base_keys(layers=3, heads=9, kv_heads=3, head=32, context=2048),
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 3,
)
