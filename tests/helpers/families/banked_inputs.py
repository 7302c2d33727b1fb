"""Layers that see a mix of earlier layers' inputs, experts in a narrower space (Kimi K3)."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, Shapes, base_keys, feed_forward

_COMMON: Shapes = {
    "attn_norm.weight": (288,),
    "attn_res_score.weight": (288,),
    "ffn_res_score.weight": (288,),
}
_DELTA: Shapes = {
    **_COMMON,
    "ssm_conv1d_q.weight": (4, 1, 320),
    "ssm_conv1d_k.weight": (4, 1, 320),
    "ssm_conv1d_v.weight": (4, 1, 320),
    "attn_q.weight": (288, 320),
    "attn_k.weight": (288, 320),
    "attn_v.weight": (288, 320),
    "ssm_f_a.weight": (288, 64),
    "ssm_f_b.weight": (64, 320),
    "ssm_beta.weight": (288, 5),
    "ssm_a": (5,),
    "ssm_dt.bias": (320,),
    "ssm_g.weight": (288, 320),
    "ssm_norm.weight": (64,),
    "attn_output.weight": (320, 288),
}
_LATENT: Shapes = {
    **_COMMON,
    "attn_q_a_norm.weight": (160,),
    "attn_q_a.weight": (288, 160),
    "attn_q_b.weight": (160, 480),
    "attn_kv_a_norm.weight": (192,),
    "attn_kv_a_mqa.weight": (288, 224),
    "attn_k_b.weight": (64, 192, 5),
    "attn_v_b.weight": (192, 64, 5),
    "attn_gate.weight": (288, 320),
    "attn_output.weight": (320, 288),
}
_ROUTED: Shapes = {
    "ffn_norm.weight": (288,),
    "ffn_gate_inp.weight": (288, 7),
    "exp_probs_b.bias": (7,),
    "ffn_gate_exps.weight": (128, 96, 7),
    "ffn_down_exps.weight": (96, 128, 7),
    "ffn_up_exps.weight": (128, 96, 7),
    "ffn_routed_down.weight": (288, 128),
    "ffn_routed_norm.weight": (128,),
    "ffn_routed_up.weight": (128, 288),
    "ffn_gate_shexp.weight": (288, 96),
    "ffn_down_shexp.weight": (96, 288),
    "ffn_up_shexp.weight": (288, 96),
}
_KDA_ROUTED = {**_DELTA, **_ROUTED}
_MLA_ROUTED = {**_LATENT, **_ROUTED}

FAMILY = Family(
    architecture="kimi-k3",
    keys={
        **base_keys(layers=8, heads=5, kv_heads=1, head=224, rope=32),
        "attention.value_length": ("u32", 192),
        "attention.head_count_kv": ("[i32]", [0, 0, 0, 1, 0, 0, 0, 1]),
        "attention.key_length_mla": ("u32", 96),
        "attention.value_length_mla": ("u32", 64),
        "attention.q_lora_rank": ("u32", 160),
        "attention.kv_lora_rank": ("u32", 192),
        "ssm.conv_kernel": ("u32", 4),
        "kda.head_dim": ("u32", 64),
        "kda.gate_lower_bound": ("f32", -5.0),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_count": ("u32", 1),
        "expert_gating_func": ("u32", 2),
        "expert_weights_norm": ("bool", True),
        "expert_weights_scale": ("f32", 2.5),
        "expert_latent_length": ("u32", 128),
        "leading_dense_block_count": ("u32", 1),
        "attn_res.block_size": ("u32", 3),
        "activation.situ_beta": ("f32", 2.0),
        "activation.situ_linear_beta": ("f32", 4.0),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "output_norm.weight": (288,),
        "output_res_score.weight": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(
        {**_DELTA, **feed_forward()},
        *(_KDA_ROUTED,) * 2,
        _MLA_ROUTED,
        *(_KDA_ROUTED,) * 3,
        _MLA_ROUTED,
    ),
)
