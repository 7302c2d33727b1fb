"""Experts in every layer, of which an odd number is used."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 384),
    "attn_k.weight": (288, 192),
    "attn_v.weight": (288, 192),
    "attn_output.weight": (384, 288),
    "attn_k_norm.weight": (64,),
    "attn_q_norm.weight": (64,),
    "ffn_norm.weight": (288,),
    "ffn_gate_inp.weight": (288, 11),
    "ffn_gate_exps.weight": (288, 96, 11),
    "ffn_down_exps.weight": (96, 288, 11),
    "ffn_up_exps.weight": (288, 96, 11),
}

FAMILY = Family(
    architecture="qwen3moe",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 6),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 64),
        "attention.value_length": ("u32", 64),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 64),
        "expert_count": ("u32", 11),
        "expert_used_count": ("u32", 5),
        "expert_feed_forward_length": ("u32", 96),
    },
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
