"""State-space layers of the first kind, with an odd kernel."""

from __future__ import annotations

from tests.helpers.families.family import Family

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
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 5),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 224),
        "feed_forward_length": ("u32", 0),
        "attention.head_count": ("u32", 0),
        "attention.head_count_kv": ("u32", 3),
        "attention.key_length": ("u32", 48),
        "attention.value_length": ("u32", 48),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 48),
        "ssm.conv_kernel": ("u32", 5),
        "ssm.inner_size": ("u32", 448),
        "ssm.state_size": ("u32", 24),
        "ssm.time_step_rank": ("u32", 14),
    },
    outer={"token_embd.weight": (224, 1999), "output_norm.weight": (224,)},
    layers=(
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
        _LAYER,
    ),
)
