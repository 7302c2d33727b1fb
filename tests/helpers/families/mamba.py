"""State-space layers of the first kind, with an odd kernel."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys

_LAYER = {
    "attn_norm.weight": (224,),
    "ssm_in.weight": (224, 896),
    "ssm_conv1d.weight": (5, 448),
    "ssm_conv1d.bias": (448,),
    "ssm_x.weight": (448, 62),
    "ssm_dt.weight": (14, 448),
    "ssm_dt.bias": (448,),
    "ssm_a": (24, 448),
    "ssm_d": (448,),
    "ssm_out.weight": (448, 224),
}

FAMILY = Family(
    architecture="mamba",
    keys={
        **base_keys(layers=5, heads=0, kv_heads=3, head=48, width=224, hidden=0),
        "ssm.conv_kernel": ("u32", 5),
        "ssm.inner_size": ("u32", 448),
        "ssm.state_size": ("u32", 24),
        "ssm.time_step_rank": ("u32", 14),
    },
    outer={"token_embd.weight": (224, VOCABULARY), "output_norm.weight": (224,)},
    layers=(_LAYER,) * 5,
)
