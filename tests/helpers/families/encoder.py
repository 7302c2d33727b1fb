"""An encoder: no cache, no output matrix."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 96),
    "attn_v.weight": (288, 96),
    "attn_output.weight": (288, 288),
    "attn_output_norm.weight": (288,),
    "attn_output_norm.bias": (288,),
    "ffn_up.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "layer_output_norm.weight": (288,),
    "layer_output_norm.bias": (288,),
    "ffn_down.bias": (288,),
    "attn_v.bias": (96,),
    "attn_k.bias": (96,),
    "attn_output.bias": (288,),
    "attn_q.bias": (288,),
    "ffn_up.bias": (608,),
}

FAMILY = Family(
    architecture="bert",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 2048),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 9),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 48),
        "attention.causal": ("bool", False),
        "tokenizer.ggml.token_type_count": ("u32", 2),
        "pooling_type": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, 1999),
        "position_embd.weight": (288, 2048),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
    },
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
