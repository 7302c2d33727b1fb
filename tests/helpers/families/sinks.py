"""Sliding and full attention in turn, attention sinks, experts with biases."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "attn_norm.weight": (224,),
    "post_attention_norm.weight": (224,),
    "attn_q.weight": (224, 480),
    "attn_k.weight": (224, 160),
    "attn_v.weight": (224, 160),
    "attn_output.weight": (480, 224),
    "attn_sinks.weight": (15,),
    "ffn_gate_inp.weight": (224, 7),
    "ffn_gate_exps.weight": (224, 160, 7),
    "ffn_down_exps.weight": (160, 224, 7),
    "ffn_up_exps.weight": (224, 160, 7),
    "attn_output.bias": (224,),
    "ffn_gate_inp.bias": (7,),
    "ffn_gate_exps.bias": (160, 7),
    "ffn_down_exps.bias": (224, 7),
    "ffn_up_exps.bias": (160, 7),
    "attn_v.bias": (160,),
    "attn_k.bias": (160,),
    "attn_q.bias": (480,),
}

FAMILY = Family(
    architecture="gpt-oss",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 224),
        "feed_forward_length": ("u32", 416),
        "attention.head_count": ("u32", 15),
        "attention.head_count_kv": ("u32", 5),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
        "attention.sliding_window": ("u32", 130),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 160),
    },
    outer={
        "token_embd.weight": (224, 1999),
        "output_norm.weight": (224,),
        "output.weight": (224, 1999),
    },
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
