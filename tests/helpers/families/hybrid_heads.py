"""Attention and a state side by side in every layer."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    "ssm_in.weight": (288, 1458),
    "ssm_conv1d.weight": (4, 864),
    "ssm_dt.bias": (18,),
    "ssm_a": (1, 18),
    "ssm_d": (1, 18),
    "ssm_out.weight": (576, 288),
    **attention(576, 192),
    "ffn_norm": (288,),
    **feed_forward(norm=False),
    "ssm_conv1d.bias": (864,),
    "ssm_norm.weight": (192, 3),
}

FAMILY = Family(
    architecture="falcon-h1",
    keys={
        **base_keys(layers=5, heads=9, kv_heads=3, head=64),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 576),
        "ssm.state_size": ("u32", 48),
        "ssm.time_step_rank": ("u32", 18),
        "ssm.group_count": ("u32", 3),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 5,
)
