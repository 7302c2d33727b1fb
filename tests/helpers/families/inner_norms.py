"""Norms before the last matrix of attention and of the feed-forward part."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **attention(288, 96),
    "attn_sub_norm.weight": (288,),
    **feed_forward(),
    "ffn_sub_norm.weight": (608,),
}

FAMILY = Family(
    architecture="bitnet",
    keys=base_keys(layers=5, heads=9, kv_heads=3, head=32),
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 5,
)
