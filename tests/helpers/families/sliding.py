"""Sliding windows with a full layer after every five, norms after attention and feed-forward."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "attn_norm.weight": (224,),
    "attn_q.weight": (224, 448),
    "attn_k.weight": (224, 448),
    "attn_v.weight": (224, 448),
    "attn_output.weight": (448, 224),
    "post_attention_norm.weight": (224,),
    "attn_k_norm.weight": (64,),
    "attn_q_norm.weight": (64,),
    "ffn_norm.weight": (224,),
    "ffn_gate.weight": (224, 416),
    "ffn_up.weight": (224, 416),
    "ffn_down.weight": (416, 224),
    "post_ffw_norm.weight": (224,),
}

FAMILY = Family(
    architecture="gemma3",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 8),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 224),
        "feed_forward_length": ("u32", 416),
        "attention.head_count": ("u32", 7),
        "attention.head_count_kv": ("u32", 7),
        "attention.key_length": ("u32", 64),
        "attention.value_length": ("u32", 64),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 64),
        "attention.sliding_window": ("u32", 700),
    },
    outer={"token_embd.weight": (224, 1999), "output_norm.weight": (224,)},
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
