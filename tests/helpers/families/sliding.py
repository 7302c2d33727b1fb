"""Sliding windows with a full layer after every five, norms after attention and feed-forward."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **attention(448, 448, width=224),
    "post_attention_norm.weight": (224,),
    "attn_k_norm.weight": (64,),
    "attn_q_norm.weight": (64,),
    **feed_forward(416, width=224),
    "post_ffw_norm.weight": (224,),
}

FAMILY = Family(
    architecture="gemma3",
    keys={
        **base_keys(layers=8, heads=7, kv_heads=7, head=64, width=224, hidden=416),
        "attention.sliding_window": ("u32", 700),
    },
    outer={"token_embd.weight": (224, VOCABULARY), "output_norm.weight": (224,)},
    layers=(_LAYER,) * 8,
)
