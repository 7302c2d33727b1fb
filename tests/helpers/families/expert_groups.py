"""Experts in groups, of which the best are kept, with a bias for the choice and a scale."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    base_keys,
    feed_forward,
    routed,
)

_ATTENTION = {
    "attn_norm.weight": (288,),
    "attn_qkv.weight": (288, 480),
    "attn_output.weight": (288, 288),
    "attn_q_norm.weight": (32,),
    "attn_k_norm.weight": (32,),
}
_EXPERTS = {
    **_ATTENTION,
    "ffn_norm.weight": (288,),
    **routed(96, 12, shared=True),
    "exp_probs_b.bias": (12,),
}

FAMILY = Family(
    architecture="bailingmoe2",
    keys={
        **base_keys(layers=5, heads=9, kv_heads=3, head=32),
        "expert_count": ("u32", 12),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_count": ("u32", 1),
        "expert_shared_feed_forward_length": ("u32", 96),
        "leading_dense_block_count": ("u32", 2),
        "expert_group_count": ("u32", 4),
        "expert_group_used_count": ("u32", 3),
        "expert_weights_norm": ("bool", True),
        "expert_weights_scale": ("f32", 2.5),
        "expert_gating_func": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "output_norm.weight": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(*({**_ATTENTION, **feed_forward()},) * 2, *(_EXPERTS,) * 3),
)
