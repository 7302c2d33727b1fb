"""State-space layers with attention in between, at uneven distances."""

from __future__ import annotations

from tests.helpers.families.family import Family

_COMMON = {
    "attn_norm.weight": (288,),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
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
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 7),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 9),
        "attention.head_count_kv": ("[i32]", [0, 0, 3, 0, 0, 9, 0]),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
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
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _FIRST,
        _FIRST,
        _SECOND,
        _FIRST,
        _FIRST,
        _THIRD,
        _FIRST,
    ),
)
