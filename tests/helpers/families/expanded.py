"""Latent attention whose keys and values are expanded for every head before they are cached."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "attn_norm.weight": (288,),
    "attn_q_a_norm.weight": (160,),
    "attn_kv_a_norm.weight": (192,),
    "attn_q_a.weight": (288, 160),
    "attn_q_b.weight": (160, 480),
    "attn_kv_a_mqa.weight": (288, 224),
    "attn_kv_b.weight": (192, 640),
    "attn_output.weight": (320, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
}

FAMILY = Family(
    architecture="minicpm3",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 3),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 5),
        "attention.head_count_kv": ("u32", 5),
        "attention.key_length": ("u32", 96),
        "attention.value_length": ("u32", 64),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
        "attention.kv_lora_rank": ("u32", 192),
        "attention.q_lora_rank": ("u32", 160),
    },
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
