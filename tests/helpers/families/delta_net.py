"""Gated delta nets with full attention in every third layer, and experts."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, routed

_COMMON = {
    "attn_norm.weight": (288,),
    "post_attention_norm.weight": (288,),
    **routed(96, 7, shared=True),
    "ffn_gate_inp_shexp.weight": (288,),
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
        **base_keys(layers=7, heads=6, kv_heads=3, head=64, rope=32),
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
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_FIRST, _FIRST, _SECOND, _FIRST, _FIRST, _SECOND, _FIRST),
)
