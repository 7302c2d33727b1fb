"""Sliding and full attention in turn, attention sinks, experts with biases."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, routed

_LAYER = {
    **attention(480, 160, width=224),
    "post_attention_norm.weight": (224,),
    "attn_sinks.weight": (15,),
    **routed(160, 7, width=224),
    "attn_output.bias": (224,),
    "ffn_gate_inp.bias": (7,),
    "ffn_gate_exps.bias": (160, 7),
    "ffn_down_exps.bias": (224, 7),
    "ffn_up_exps.bias": (160, 7),
    "attn_v.bias": (160,),
    "attn_k.bias": (160,),
    "attn_q.bias": (480,),
}

FAMILY = Family(
    architecture="gpt-oss",
    keys={
        **base_keys(layers=5, heads=15, kv_heads=5, head=32, width=224, hidden=416),
        "attention.sliding_window": ("u32", 130),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 160),
    },
    outer={
        "token_embd.weight": (224, VOCABULARY),
        "output_norm.weight": (224,),
        "output.weight": (224, VOCABULARY),
    },
    layers=(_LAYER,) * 5,
)
