"""Layers that were pruned: a matrix for attention, none, nothing at all; the last without any."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_WHOLE = {**attention(288, 96), **feed_forward()}
_LINEAR = {
    "attn_norm.weight": (288,),
    "attn_output.weight": (288, 288),
    **feed_forward(352),
}

FAMILY = Family(
    architecture="deci",
    keys={
        **base_keys(layers=6, heads=9, kv_heads=3, head=32),
        "feed_forward_length": ("[i32]", [608, 352, 0, 608, 352, 608]),
        "attention.head_count": ("[i32]", [9, 9, 0, 9, 9, 0]),
        "attention.head_count_kv": ("[i32]", [3, 0, 0, 3, 0, 0]),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_WHOLE, _LINEAR, {}, _WHOLE, _LINEAR, feed_forward()),
)
