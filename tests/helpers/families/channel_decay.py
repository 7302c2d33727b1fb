"""Delta attention with a decay for each channel, latent attention in between."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    attention,
    base_keys,
    feed_forward,
    routed,
)

_FIRST = {
    **attention(320, 320),
    "ssm_conv1d_q.weight": (4, 1, 320),
    "ssm_conv1d_k.weight": (4, 1, 320),
    "ssm_conv1d_v.weight": (4, 1, 320),
    "ssm_f_a.weight": (288, 64),
    "ssm_f_b.weight": (64, 320),
    "ssm_beta.weight": (288, 5),
    "ssm_a": (1, 5),
    "ssm_dt.bias": (320,),
    "ssm_g_a.weight": (288, 64),
    "ssm_g_b.weight": (64, 320),
    "ssm_norm.weight": (64,),
    **feed_forward(),
}
_SECOND = {
    **attention(320, 320),
    "ssm_conv1d_q.weight": (4, 1, 320),
    "ssm_conv1d_k.weight": (4, 1, 320),
    "ssm_conv1d_v.weight": (4, 1, 320),
    "ssm_f_a.weight": (288, 64),
    "ssm_f_b.weight": (64, 320),
    "ssm_beta.weight": (288, 5),
    "ssm_a": (1, 5),
    "ssm_dt.bias": (320,),
    "ssm_g_a.weight": (288, 64),
    "ssm_g_b.weight": (64, 320),
    "ssm_norm.weight": (64,),
    "ffn_norm.weight": (288,),
    **routed(96, 7, shared=True),
    "exp_probs_b.bias": (7,),
}
_THIRD = {
    "attn_norm.weight": (288,),
    "attn_kv_a_norm.weight": (192,),
    "attn_q.weight": (288, 480),
    "attn_kv_a_mqa.weight": (288, 224),
    "attn_k_b.weight": (64, 192, 5),
    "attn_v_b.weight": (192, 64, 5),
    "attn_output.weight": (320, 288),
    "ffn_norm.weight": (288,),
    **routed(96, 7, shared=True),
    "exp_probs_b.bias": (7,),
}

FAMILY = Family(
    architecture="kimi-linear",
    keys={
        **base_keys(layers=5, heads=5, kv_heads=[0, 0, 1, 0, 1], head=224, value=192, rope=32),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "attention.key_length_mla": ("u32", 96),
        "attention.value_length_mla": ("u32", 64),
        "attention.kv_lora_rank": ("u32", 192),
        "leading_dense_block_count": ("u32", 1),
        "expert_shared_count": ("u32", 1),
        "ssm.conv_kernel": ("u32", 4),
        "kda.head_dim": ("u32", 64),
        "expert_gating_func": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "output_norm.weight": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(_FIRST, _SECOND, _THIRD, _SECOND, _THIRD),
)
