"""Attention and a state side by side in every layer."""

from __future__ import annotations

from tests.helpers.families.family import Family

_LAYER = {
    "ssm_in.weight": (288, 1458),
    "ssm_conv1d.weight": (4, 864),
    "ssm_dt.bias": (18,),
    "ssm_a": (1, 18),
    "ssm_d": (1, 18),
    "ssm_out.weight": (576, 288),
    "attn_q.weight": (288, 576),
    "attn_k.weight": (288, 192),
    "attn_v.weight": (288, 192),
    "attn_output.weight": (576, 288),
    "attn_norm.weight": (288,),
    "ffn_norm": (288,),
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
    "ssm_conv1d.bias": (864,),
    "ssm_norm.weight": (192, 3),
}

FAMILY = Family(
    architecture="falcon-h1",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 9),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 64),
        "attention.value_length": ("u32", 64),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 64),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 576),
        "ssm.state_size": ("u32", 48),
        "ssm.time_step_rank": ("u32", 18),
        "ssm.group_count": ("u32", 3),
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
