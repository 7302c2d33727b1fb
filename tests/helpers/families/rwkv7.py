"""Token shift and a state for every head, without attention."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys

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
        **base_keys(layers=5, heads=0, kv_heads=3, head=48),
        "wkv.head_size": ("u32", 96),
        "attention.decay_lora_rank": ("u32", 32),
        "attention.iclr_lora_rank": ("u32", 64),
        "attention.value_residual_mix_lora_rank": ("u32", 32),
        "attention.gate_lora_rank": ("u32", 96),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
        "output_norm.weight": (288,),
        "output_norm.bias": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(_FIRST, _SECOND, _SECOND, _SECOND, _SECOND),
)
