"""Every layer sees the embedding again; norms without weights, heads normed after their turn."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **{name: shape for name, shape in attention(288, 288).items() if "norm" not in name},
    **feed_forward(norm=False),
    "attn_q_norm.weight": (1, 9),
    "layer_output_scale.weight": (1,),
}

FAMILY = Family(
    architecture="talkie",
    keys={
        **base_keys(layers=5, heads=9, kv_heads=9, head=32),
        "logit_scale": ("f32", 0.25),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output.weight": (288, VOCABULARY)},
    layers=(_LAYER,) * 5,
)
