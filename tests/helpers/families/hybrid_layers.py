"""State-space layers with attention in between, at uneven distances."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_COMMON = {
    "attn_norm.weight": (288,),
    **feed_forward(),
}
_FIRST = {
    **_COMMON,
    "ssm_in.weight": (288, 1266),
    "ssm_conv1d.weight": (4, 672),
    "ssm_conv1d.bias": (672,),
    "ssm_dt.bias": (18,),
    "ssm_a": (1, 18),
    "ssm_d": (1, 18),
    "ssm_norm.weight": (576,),
    "ssm_out.weight": (576, 288),
}
_SECOND = {
    **_COMMON,
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 96),
    "attn_v.weight": (288, 96),
    "attn_output.weight": (288, 288),
}
_THIRD = {
    **_COMMON,
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 288),
    "attn_v.weight": (288, 288),
    "attn_output.weight": (288, 288),
}

FAMILY = Family(
    architecture="granitehybrid",
    keys={
        **base_keys(layers=7, heads=9, kv_heads=[0, 0, 3, 0, 0, 9, 0], head=32),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 576),
        "ssm.state_size": ("u32", 48),
        "ssm.time_step_rank": ("u32", 18),
        "ssm.group_count": ("u32", 1),
        "attention.scale": ("f32", 0.1),
        "embedding_scale": ("f32", 1.0),
        "residual_scale": ("f32", 1.0),
        "logit_scale": ("f32", 1.0),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_FIRST, _FIRST, _SECOND, _FIRST, _FIRST, _THIRD, _FIRST),
)
