"""An encoder: no cache, no output matrix."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys

_LAYER = {
    "attn_q.weight": (288, 288),
    "attn_k.weight": (288, 96),
    "attn_v.weight": (288, 96),
    "attn_output.weight": (288, 288),
    "attn_output_norm.weight": (288,),
    "attn_output_norm.bias": (288,),
    "ffn_up.weight": (288, 608),
    "ffn_down.weight": (608, 288),
    "layer_output_norm.weight": (288,),
    "layer_output_norm.bias": (288,),
    "ffn_down.bias": (288,),
    "attn_v.bias": (96,),
    "attn_k.bias": (96,),
    "attn_output.bias": (288,),
    "attn_q.bias": (288,),
    "ffn_up.bias": (608,),
}

FAMILY = Family(
    architecture="bert",
    keys={
        **base_keys(layers=5, heads=9, kv_heads=3, head=32, context=2048, rope=48),
        "attention.causal": ("bool", False),
        "tokenizer.ggml.token_type_count": ("u32", 2),
        "pooling_type": ("u32", 2),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "position_embd.weight": (288, 2048),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
    },
    layers=(_LAYER,) * 5,
)
