"""Experts in every layer, of which an odd number is used."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, routed

_LAYER = {
    **attention(384, 192),
    "attn_k_norm.weight": (64,),
    "attn_q_norm.weight": (64,),
    "ffn_norm.weight": (288,),
    **routed(96, 11),
}

FAMILY = Family(
    architecture="qwen3moe",
    keys={
        **base_keys(layers=5, heads=6, kv_heads=3, head=64),
        "expert_count": ("u32", 11),
        "expert_used_count": ("u32", 5),
        "expert_feed_forward_length": ("u32", 96),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 5,
)
