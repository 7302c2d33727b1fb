"""State-space layers of the second kind, with seven groups."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys

_LAYER = {
    "attn_norm.weight": (224,),
    "ssm_in.weight": (224, 1582),
    "ssm_conv1d.weight": (4, 1120),
    "ssm_conv1d.bias": (1120,),
    "ssm_dt.bias": (14,),
    "ssm_a": (1, 14),
    "ssm_d": (1, 14),
    "ssm_norm.weight": (64, 7),
    "ssm_out.weight": (448, 224),
}

FAMILY = Family(
    architecture="mamba2",
    keys={
        **base_keys(layers=5, heads=0, kv_heads=3, head=48, width=224, hidden=0),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 448),
        "ssm.state_size": ("u32", 48),
        "ssm.time_step_rank": ("u32", 14),
        "ssm.group_count": ("u32", 7),
    },
    outer={"token_embd.weight": (224, VOCABULARY), "output_norm.weight": (224,)},
    layers=(_LAYER,) * 5,
)
