"""Text of a model that sees images, whose file lists the layers that take parts of the input."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

FAMILY = Family(
    architecture="granite",
    keys={
        **base_keys(layers=11, heads=9, kv_heads=3, head=32),
        "attention.scale": ("f32", 0.125),
        "logit_scale": ("f32", 8.0),
        "residual_scale": ("f32", 0.5),
        "embedding_scale": ("f32", 12.0),
        "deepstack_mapping": ("[i32]", [-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, -1]),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=({**attention(288, 96), **feed_forward()},) * 11,
)
