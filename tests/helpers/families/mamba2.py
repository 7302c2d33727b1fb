"""State-space layers of the second kind, with seven groups."""

from __future__ import annotations

from tests.helpers.families.family import Family

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
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 448),
        "ssm.state_size": ("u32", 48),
        "ssm.time_step_rank": ("u32", 14),
        "ssm.group_count": ("u32", 7),
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
