"""Token shift with five mixtures apart, and a state for every head."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys

_LAYER = {
    "attn_norm.weight": (288,),
    "attn_norm.bias": (288,),
    "attn_norm_2.weight": (288,),
    "attn_norm_2.bias": (288,),
    "time_mix_w1.weight": (288, 160),
    "time_mix_w2.weight": (32, 288, 5),
    "time_mix_lerp_x.weight": (288, 1, 1),
    "time_mix_lerp_w.weight": (288, 1, 1),
    "time_mix_lerp_k.weight": (288, 1, 1),
    "time_mix_lerp_v.weight": (288, 1, 1),
    "time_mix_lerp_r.weight": (288, 1, 1),
    "time_mix_lerp_g.weight": (288, 1, 1),
    "time_mix_first.weight": (96, 3),
    "time_mix_decay.weight": (288,),
    "time_mix_decay_w1.weight": (288, 64),
    "time_mix_decay_w2.weight": (64, 288),
    "time_mix_key.weight": (288, 288),
    "time_mix_value.weight": (288, 288),
    "time_mix_receptance.weight": (288, 288),
    "time_mix_gate.weight": (288, 288),
    "time_mix_ln.weight": (288,),
    "time_mix_ln.bias": (288,),
    "time_mix_output.weight": (288, 288),
    "channel_mix_lerp_k.weight": (288, 1, 1),
    "channel_mix_lerp_r.weight": (288, 1, 1),
    "channel_mix_key.weight": (288, 608),
    "channel_mix_receptance.weight": (288, 288),
    "channel_mix_value.weight": (608, 288),
}

FAMILY = Family(
    architecture="rwkv6",
    keys={
        **base_keys(layers=5, heads=0, kv_heads=3, head=48),
        "wkv.head_size": ("u32", 96),
        "time_mix_extra_dim": ("u32", 32),
        "time_decay_extra_dim": ("u32", 64),
        "rescale_every_n_layers": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
        "output_norm.weight": (288,),
        "output_norm.bias": (288,),
        "output.weight": (288, VOCABULARY),
    },
    layers=(_LAYER,) * 5,
)
