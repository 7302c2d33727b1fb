"""Text of a model that sees images: the first layers take a part of a wider input."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **attention(288, 96),
    **feed_forward(),
    "attn_q_norm.weight": (32,),
    "attn_k_norm.weight": (32,),
}

FAMILY = Family(
    architecture="qwen3vl",
    keys={
        **base_keys(layers=12, heads=9, kv_heads=3, head=32),
        "rope.dimension_sections": ("[i32]", [6, 5, 5, 0]),
        "n_deepstack_layers": ("u32", 3),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_LAYER,) * 12,
)
