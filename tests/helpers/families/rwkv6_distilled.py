"""A recurrent model made from a transformer: grouped keys, a gated feed-forward part."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_LAYER = {
    "attn_norm.weight": (288,),
    "time_mix_w1.weight": (288, 160),
    "time_mix_w2.weight": (32, 288, 5),
    "time_mix_lerp_x.weight": (288, 1, 1),
    "time_mix_lerp_fused.weight": (288, 1, 1, 5),
    "time_mix_decay.weight": (288,),
    "time_mix_decay_w1.weight": (288, 64),
    "time_mix_decay_w2.weight": (64, 288),
    "time_mix_key.weight": (288, 96),
    "time_mix_value.weight": (288, 96),
    "time_mix_key.bias": (96,),
    "time_mix_value.bias": (96,),
    "time_mix_receptance.weight": (288, 288),
    "time_mix_receptance.bias": (288,),
    "time_mix_gate.weight": (288, 288),
    "time_mix_output.weight": (288, 288),
    **feed_forward(),
}

FAMILY = Family(
    architecture="rwkv6qwen2",
    keys={
        **base_keys(layers=5, heads=0, kv_heads=3, head=48),
        "wkv.head_size": ("u32", 32),
        "time_mix_extra_dim": ("u32", 32),
        "time_decay_extra_dim": ("u32", 64),
        "token_shift_count": ("u32", 1),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "output_norm.weight": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(_LAYER,) * 5,
)
