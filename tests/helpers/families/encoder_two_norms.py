"""An encoder with a second norm after attention, a bias by distance and gated layers."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_LAYER = {
    "attn_q.weight": (288, 288),
    "attn_q.bias": (288,),
    "attn_q_norm.weight": (288,),
    "attn_q_norm.bias": (288,),
    "attn_k.weight": (288, 288),
    "attn_k.bias": (288,),
    "attn_k_norm.weight": (288,),
    "attn_k_norm.bias": (288,),
    "attn_v.weight": (288, 288),
    "attn_v.bias": (288,),
    "attn_output.weight": (288, 288),
    "attn_output.bias": (288,),
    "attn_output_norm.weight": (288,),
    "attn_output_norm.bias": (288,),
    "attn_norm_2.weight": (288,),
    "attn_norm_2.bias": (288,),
    **feed_forward(norm=False),
    "ffn_down.bias": (288,),
    "layer_output_norm.weight": (288,),
    "layer_output_norm.bias": (288,),
}

FAMILY = Family(
    architecture="jina-bert-v2",
    keys={
        **base_keys(layers=5, heads=9, kv_heads=9, head=32, context=2048),
        "attention.causal": ("bool", False),
        "pooling_type": ("u32", 1),
        "tokenizer.ggml.token_type_count": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "token_types.weight": (288, 2),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
    },
    layers=(_LAYER,) * 5,
)
