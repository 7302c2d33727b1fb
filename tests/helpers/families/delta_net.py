"""Gated delta nets with full attention in every third layer, and experts."""

from __future__ import annotations

from tests.helpers.families.family import Family

_COMMON = {
    "attn_norm.weight": (288,),
    "post_attention_norm.weight": (288,),
    "ffn_gate_inp.weight": (288, 7),
    "ffn_down_exps.weight": (96, 288, 7),
    "ffn_gate_exps.weight": (288, 96, 7),
    "ffn_up_exps.weight": (288, 96, 7),
    "ffn_gate_inp_shexp.weight": (288,),
    "ffn_gate_shexp.weight": (288, 96),
    "ffn_up_shexp.weight": (288, 96),
    "ffn_down_shexp.weight": (96, 288),
}
_FIRST = {
    **_COMMON,
    "ssm_conv1d.weight": (4, 1152),
    "ssm_dt.bias": (6,),
    "ssm_a": (6,),
    "ssm_ba.weight": (288, 12),
    "ssm_norm.weight": (96,),
    "ssm_out.weight": (576, 288),
    "attn_qkv.weight": (288, 1152),
    "attn_gate.weight": (288, 576),
}
_SECOND = {
    **_COMMON,
    "attn_q.weight": (288, 768),
    "attn_k.weight": (288, 192),
    "attn_v.weight": (288, 192),
    "attn_output.weight": (384, 288),
    "attn_q_norm.weight": (64,),
    "attn_k_norm.weight": (64,),
}

FAMILY = Family(
    architecture="qwen3next",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 7),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 6),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 64),
        "attention.value_length": ("u32", 64),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 576),
        "ssm.state_size": ("u32", 96),
        "ssm.time_step_rank": ("u32", 6),
        "ssm.group_count": ("u32", 3),
        "full_attention_interval": ("u32", 3),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_feed_forward_length": ("u32", 96),
    },
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _FIRST,
        _FIRST,
        _SECOND,
        _FIRST,
        _FIRST,
        _SECOND,
        _FIRST,
    ),
)
