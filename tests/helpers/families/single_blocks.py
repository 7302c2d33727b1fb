"""Layers that either attend, carry a state or feed forward."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys

_FIRST = {
    "attn_norm.weight": (288,),
    "ssm_in.weight": (288, 1458),
    "ssm_conv1d.weight": (4, 864),
    "ssm_dt.bias": (18,),
    "ssm_a": (1, 18),
    "ssm_d": (1, 18),
    "ssm_norm.weight": (192, 3),
    "ssm_out.weight": (576, 288),
    "ssm_conv1d.bias": (864,),
}
_SECOND = {"attn_norm.weight": (288,), "ffn_down.weight": (608, 288), "ffn_up.weight": (288, 608)}
_THIRD = attention(576, 192)

FAMILY = Family(
    architecture="nemotron_h",
    keys={
        **base_keys(
            layers=8,
            heads=9,
            kv_heads=[0, 0, 3, 0, 0, 3, 0, 0],
            head=64,
            hidden=[0, 608, 0, 608, 0, 0, 608, 608],
        ),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 576),
        "ssm.state_size": ("u32", 48),
        "ssm.time_step_rank": ("u32", 18),
        "ssm.group_count": ("u32", 3),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_FIRST, _SECOND, _THIRD, _SECOND, _FIRST, _THIRD, _SECOND, _SECOND),
)
