"""Multi-head latent attention with a compressed query, experts after two dense layers."""

from __future__ import annotations

from tests.helpers.families.family import Family

_COMMON = {
    "attn_norm.weight": (288,),
    "attn_q_a_norm.weight": (160,),
    "attn_kv_a_norm.weight": (192,),
    "attn_q_a.weight": (288, 160),
    "attn_q_b.weight": (160, 480),
    "attn_kv_a_mqa.weight": (288, 224),
    "attn_k_b.weight": (64, 192, 5),
    "attn_v_b.weight": (192, 64, 5),
    "attn_output.weight": (320, 288),
    "ffn_norm.weight": (288,),
}
_FIRST = {
    **_COMMON,
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
}
_SECOND = {
    **_COMMON,
    "ffn_gate_inp.weight": (288, 7),
    "ffn_down_exps.weight": (96, 288, 7),
    "ffn_gate_exps.weight": (288, 96, 7),
    "ffn_up_exps.weight": (288, 96, 7),
    "ffn_gate_shexp.weight": (288, 96),
    "ffn_down_shexp.weight": (96, 288),
    "ffn_up_shexp.weight": (288, 96),
}

FAMILY = Family(
    architecture="deepseek2",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 5),
        "attention.head_count_kv": ("u32", 1),
        "attention.key_length": ("u32", 224),
        "attention.value_length": ("u32", 192),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "attention.key_length_mla": ("u32", 96),
        "attention.value_length_mla": ("u32", 64),
        "attention.kv_lora_rank": ("u32", 192),
        "attention.q_lora_rank": ("u32", 160),
        "leading_dense_block_count": ("u32", 2),
        "expert_shared_count": ("u32", 1),
    },
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _FIRST,
        _FIRST,
        _SECOND,
        _SECOND,
        _SECOND,
    ),
)
