"""Layers that read the cache of earlier ones, several residual streams, inputs for each layer."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_LAYER = {
    **attention(448, 64, width=224),
    "attn_q_norm.weight": (64,),
    "attn_k_norm.weight": (64,),
    "post_attention_norm.weight": (224,),
    **feed_forward(352, width=224),
    "post_ffw_norm.weight": (224,),
    "inp_gate.weight": (224, 256),
    "proj.weight": (256, 224),
    "post_norm.weight": (224,),
    "altup_correct_coef.weight": (4, 4),
    "altup_correct_scale.weight": (224,),
    "altup_predict_coef.weight": (4, 16),
    "altup_router.weight": (224, 4),
    "altup_router_norm.weight": (224,),
    "laurel_l.weight": (224, 64),
    "laurel_r.weight": (64, 224),
    "laurel_post_norm.weight": (224,),
}

FAMILY = Family(
    architecture="gemma3n",
    keys={
        **base_keys(layers=23, heads=7, kv_heads=1, head=64, width=224, hidden=352),
        "attention.sliding_window": ("u32", 300),
        "attention.sliding_window_pattern": (
            "[bool]",
            [
                True,
                True,
                True,
                False,
                True,
                True,
                True,
                True,
                False,
                True,
                True,
                True,
                True,
                True,
                True,
                True,
                True,
                True,
                True,
                False,
                True,
                True,
                False,
            ],
        ),
        "embedding_length_per_layer_input": ("u32", 32),
    },
    outer={
        "token_embd.weight": (224, VOCABULARY),
        "altup_proj.weight": (224, 224, 3),
        "altup_unembd_proj.weight": (224, 224, 3),
        "per_layer_token_embd.weight": (5888, 1999),
        "per_layer_model_proj.weight": (224, 5888),
        "per_layer_proj_norm.weight": (256,),
        "output_norm.weight": (224,),
    },
    layers=(_LAYER,) * 23,
)
