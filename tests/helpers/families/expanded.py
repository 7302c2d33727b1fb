"""Latent attention whose keys and values are expanded for every head before they are cached."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_LAYER = {
    "attn_norm.weight": (288,),
    "attn_q_a_norm.weight": (160,),
    "attn_kv_a_norm.weight": (192,),
    "attn_q_a.weight": (288, 160),
    "attn_q_b.weight": (160, 480),
    "attn_kv_a_mqa.weight": (288, 224),
    "attn_kv_b.weight": (192, 640),
    "attn_output.weight": (320, 288),
    **feed_forward(),
}

FAMILY = Family(
    architecture="minicpm3",
    keys={
        **base_keys(layers=3, heads=5, kv_heads=5, head=96, value=64, rope=32),
        "attention.kv_lora_rank": ("u32", 192),
        "attention.q_lora_rank": ("u32", 160),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 3,
)
