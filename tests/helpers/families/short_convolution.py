"""Short convolutions with attention in between."""

from __future__ import annotations

from tests.helpers.families.family import Family

_COMMON = {
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
    "attn_norm.weight": (288,),
}
_FIRST = {
    **_COMMON,
    "shortconv.conv.weight": (4, 288),
    "shortconv.in_proj.weight": (288, 864),
    "shortconv.out_proj.weight": (288, 288),
}
_SECOND = {
    **_COMMON,
    "attn_q_norm.weight": (32,),
    "attn_k_norm.weight": (32,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 96),
    "attn_v.weight": (288, 96),
    "attn_output.weight": (288, 288),
}

FAMILY = Family(
    architecture="lfm2",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 7),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("u32", 608),
        "attention.head_count": ("u32", 9),
        "attention.head_count_kv": ("[i32]", [0, 0, 3, 0, 3, 0, 0]),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
        "shortconv.l_cache": ("u32", 4),
    },
    outer={"token_embd.weight": (288, 1999), "token_embd_norm.weight": (288,)},
    layers=(
        _FIRST,
        _FIRST,
        _SECOND,
        _FIRST,
        _SECOND,
        _FIRST,
        _FIRST,
    ),
)
