"""Experts beside a dense layer, each with norms of its own; gate and up of an expert in one."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_COMMON = {
    "attn_norm.weight": (224,),
    "post_attention_norm.weight": (224,),
    "attn_q_norm.weight": (64,),
    "attn_k_norm.weight": (64,),
    **feed_forward(352, width=224),
    "post_ffw_norm.weight": (224,),
    "post_ffw_norm_1.weight": (224,),
    "post_ffw_norm_2.weight": (224,),
    "pre_ffw_norm_2.weight": (224,),
    "ffn_gate_inp.weight": (224, 11),
    "ffn_gate_inp.scale": (224,),
    "ffn_gate_up_exps.weight": (224, 192, 11),
    "ffn_down_exps.weight": (96, 224, 11),
    "ffn_down_exps.scale": (11,),
    "layer_output_scale.weight": (1,),
}
_SLIDING = {
    **_COMMON,
    "attn_q.weight": (224, 384),
    "attn_k.weight": (224, 192),
    "attn_v.weight": (224, 192),
    "attn_output.weight": (384, 224),
}
_FULL = {
    **_COMMON,
    "attn_q.weight": (224, 768),
    "attn_k.weight": (224, 128),
    "attn_v.weight": (224, 128),
    "attn_output.weight": (768, 224),
    "attn_q_norm.weight": (128,),
    "attn_k_norm.weight": (128,),
}

FAMILY = Family(
    architecture="gemma4",
    keys={
        **base_keys(layers=6, heads=6, kv_heads=3, head=128, width=224, hidden=352),
        "attention.head_count_kv": ("[i32]", [3, 3, 1, 3, 3, 1]),
        "attention.key_length_swa": ("u32", 64),
        "attention.value_length_swa": ("u32", 64),
        "attention.sliding_window": ("u32", 300),
        "attention.sliding_window_pattern": ("[bool]", [True, True, False] * 2),
        "attention.shared_kv_layers": ("u32", 0),
        "embedding_length_per_layer_input": ("u32", 0),
        "rope.dimension_count_swa": ("u32", 64),
        "expert_count": ("u32", 11),
        "expert_used_count": ("u32", 5),
        "expert_feed_forward_length": ("u32", 96),
    },
    outer={
        "token_embd.weight": (224, VOCABULARY),
        "output_norm.weight": (224,),
        "rope_freqs.weight": (64,),
    },
    layers=(_SLIDING, _SLIDING, _FULL) * 2,
)
