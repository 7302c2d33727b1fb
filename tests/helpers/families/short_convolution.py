"""Short convolutions with attention in between."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_COMMON = {
    **feed_forward(),
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
        **base_keys(layers=7, heads=9, kv_heads=[0, 0, 3, 0, 3, 0, 0], head=32),
        "shortconv.l_cache": ("u32", 4),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "token_embd_norm.weight": (288,)},
    layers=(_FIRST, _FIRST, _SECOND, _FIRST, _SECOND, _FIRST, _FIRST),
)
