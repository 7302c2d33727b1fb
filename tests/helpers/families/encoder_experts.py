"""An encoder with experts in every second layer, without gates."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys

_COMMON = {
    "attn_qkv.weight": (288, 864),
    "attn_qkv.bias": (864,),
    "attn_output.weight": (288, 288),
    "attn_output.bias": (288,),
    "attn_output_norm.weight": (288,),
    "attn_output_norm.bias": (288,),
    "layer_output_norm.weight": (288,),
    "layer_output_norm.bias": (288,),
}
_FIRST = {
    **_COMMON,
    "ffn_up.weight": (288, 608),
    "ffn_up.bias": (608,),
    "ffn_down.weight": (608, 288),
    "ffn_down.bias": (288,),
}
_SECOND = {
    **_COMMON,
    "ffn_gate_inp.weight": (288, 7),
    "ffn_up_exps.weight": (288, 608, 7),
    "ffn_down_exps.weight": (608, 288, 7),
}

FAMILY = Family(
    architecture="nomic-bert-moe",
    keys={
        **base_keys(layers=4, heads=9, kv_heads=9, head=32, context=2048),
        "attention.causal": ("bool", False),
        "pooling_type": ("u32", 1),
        "moe_every_n_layers": ("u32", 2),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 2),
        "tokenizer.ggml.token_type_count": ("u32", 1),
    },
    outer={
        "token_embd.weight": (288, VOCABULARY),
        "token_types.weight": (288, 1),
        "token_embd_norm.weight": (288,),
        "token_embd_norm.bias": (288,),
    },
    layers=(_FIRST, _SECOND) * 2,
)
