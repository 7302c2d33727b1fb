"""Attention whose result is gated value by value, windows in three of four layers."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    attention,
    base_keys,
    feed_forward,
    routed,
)

_COMMON = {
    **attention(288, 96),
    "post_attention_norm.weight": (288,),
    "attn_q_norm.weight": (32,),
    "attn_k_norm.weight": (32,),
    "attn_gate.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "post_ffw_norm.weight": (288,),
}
_FIRST = {**_COMMON, **feed_forward()}
_SECOND = {**_COMMON, **routed(96, 11, shared=True), "exp_probs_b.bias": (11,)}

FAMILY = Family(
    architecture="afmoe",
    keys={
        **base_keys(layers=6, heads=9, kv_heads=3, head=32),
        "attention.sliding_window": ("u32", 300),
        "expert_count": ("u32", 11),
        "expert_used_count": ("u32", 5),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_count": ("u32", 1),
        "leading_dense_block_count": ("u32", 2),
        "expert_weights_norm": ("bool", True),
        "expert_weights_scale": ("f32", 2.5),
        "expert_gating_func": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "output_norm.weight": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(*(_FIRST,) * 2, *(_SECOND,) * 4),
)
