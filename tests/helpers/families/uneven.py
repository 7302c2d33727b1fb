"""Layers of different widths: heads, key heads and feed-forward change, one has no attention."""

from __future__ import annotations

from tests.helpers.families.family import Family

_FIRST = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 96),
    "attn_v.weight": (288, 96),
    "attn_output.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "ffn_up.weight": (288, 608),
}
_SECOND = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 288),
    "attn_v.weight": (288, 288),
    "attn_output.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 96),
    "ffn_down.weight": (96, 288),
    "ffn_up.weight": (288, 96),
}
_THIRD = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 32),
    "attn_v.weight": (288, 32),
    "attn_output.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 352),
    "ffn_down.weight": (352, 288),
    "ffn_up.weight": (288, 352),
}
_FOURTH = {
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 224),
    "ffn_down.weight": (224, 288),
    "ffn_up.weight": (288, 224),
}
_FIFTH = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 32),
    "attn_v.weight": (288, 32),
    "attn_output.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 160),
    "ffn_down.weight": (160, 288),
    "ffn_up.weight": (288, 160),
}
_SIXTH = {
    "attn_norm.weight": (288,),
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 288),
    "attn_v.weight": (288, 288),
    "attn_output.weight": (288, 288),
    "ffn_norm.weight": (288,),
    "ffn_gate.weight": (288, 416),
    "ffn_down.weight": (416, 288),
    "ffn_up.weight": (288, 416),
}

FAMILY = Family(
    architecture="deci",
    keys={
        "vocab_size": ("u32", 1999),
        "block_count": ("u32", 7),
        "context_length": ("u32", 65536),
        "embedding_length": ("u32", 288),
        "feed_forward_length": ("[i32]", [608, 96, 352, 224, 608, 160, 416]),
        "attention.head_count": ("[i32]", [9, 9, 9, 0, 9, 9, 9]),
        "attention.head_count_kv": ("[i32]", [3, 9, 1, 0, 3, 1, 9]),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", 32),
    },
    outer={"token_embd.weight": (288, 1999), "output_norm.weight": (288,)},
    layers=(
        _FIRST,
        _SECOND,
        _THIRD,
        _FOURTH,
        _FIRST,
        _FIFTH,
        _SIXTH,
    ),
)
