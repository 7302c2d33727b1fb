"""Experts and a second, smaller set of them that sees the first one's output (GroveMoE)."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, routed

_LAYER = {
    **attention(384, 192),
    "attn_k_norm.weight": (64,),
    "attn_q_norm.weight": (64,),
    "ffn_norm.weight": (288,),
    **routed(96, 15),
    "ffn_gate_chexps.weight": (288, 32, 5),
    "ffn_down_chexps.weight": (32, 288, 5),
    "ffn_up_chexps.weight": (288, 32, 5),
}

FAMILY = Family(
    architecture="grovemoe",
    keys={
        **base_keys(layers=5, heads=6, kv_heads=3, head=64),
        "expert_count": ("u32", 15),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "expert_chunk_feed_forward_length": ("u32", 32),
        "expert_group_scale": ("f32", 0.05),
        "experts_per_group": ("u32", 3),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 5,
)
