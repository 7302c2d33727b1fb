"""A dense layer with experts beside it, which see the input of the layer."""

from __future__ import annotations

from tests.helpers.families.family import (
    VOCABULARY,
    Family,
    attention,
    base_keys,
    feed_forward,
    routed,
)

_LAYER = {
    **attention(288, 96),
    **feed_forward(288),
    "ffn_norm_exps.weight": (288,),
    **routed(608, 7),
}

FAMILY = Family(
    architecture="arctic",
    keys={
        **base_keys(layers=5, heads=9, kv_heads=3, head=32),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 2),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 5,
)
