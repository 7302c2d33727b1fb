"""Attention in both directions without a cache, with an output matrix."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 96),
    "attn_v.weight": (288, 96),
    "attn_output.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
    "attn_k.bias": (96,),
    "attn_v.bias": (96,),
    "attn_q.bias": (288,),
}

FAMILY = Family(
    architecture="dream",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 3),
        "context_length": ("u32", 2048),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 9),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
    },
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
