"""Token shift and a state for every head, without attention."""

from __future__ import annotations

from tests.helpers.families.family import Family

_COMMON = {
    "attn_norm.weight": (288,),
    "attn_norm.bias": (288,),
    "attn_norm_2.weight": (288,),
    "attn_norm_2.bias": (288,),
    "time_mix_w0.weight": (288,),
    "time_mix_w1.weight": (288, 32),
    "time_mix_w2.weight": (32, 288),
    "time_mix_a0.weight": (288,),
    "time_mix_a1.weight": (288, 64),
    "time_mix_a2.weight": (64, 288),
    "time_mix_v0.weight": (288,),
    "time_mix_g1.weight": (288, 96),
    "time_mix_g2.weight": (96, 288),
    "time_mix_lerp_fused.weight": (288, 1, 1, 6),
    "time_mix_k_k.weight": (288,),
    "time_mix_k_a.weight": (288,),
    "time_mix_r_k.weight": (288,),
    "time_mix_key.weight": (288, 288),
    "time_mix_value.weight": (288, 288),
    "time_mix_receptance.weight": (288, 288),
    "time_mix_ln.weight": (288,),
    "time_mix_ln.bias": (288,),
    "time_mix_output.weight": (288, 288),
    "channel_mix_lerp_k.weight": (288,),
    "channel_mix_key.weight": (288, 608),
    "channel_mix_value.weight": (608, 288),
}
_FIRST = {**_COMMON, "time_mix_v1.weight": (288, 64), "time_mix_v2.weight": (64, 288)}
_SECOND = {**_COMMON, "time_mix_v1.weight": (288, 32), "time_mix_v2.weight": (32, 288)}

FAMILY = Family(
    architecture="rwkv7",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 0),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 48),
        "attention.value_length": ("u32", 48),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 48),
        "wkv.head_size": ("u32", 96),
        "attention.decay_lora_rank": ("u32", 32),
        "attention.iclr_lora_rank": ("u32", 64),
        "attention.value_residual_mix_lora_rank": ("u32", 32),
        "attention.gate_lora_rank": ("u32", 96),
    },
    outer={
        "token_embd.weight": (288, 1999),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
        "output_norm.weight": (288,),
        "output_norm.bias": (288,),
        "output.weight": (288, 1999),
    },
    layers=(
        _FIRST,
        _SECOND,
        _SECOND,
        _SECOND,
        _SECOND,
    ),
)
