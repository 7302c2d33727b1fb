"""Sparse latent attention: an indexer with heads of its own, and a layer for further tokens."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward, routed

_COMMON = {
    "attn_norm.weight": (288,),
    "attn_q_a_norm.weight": (160,),
    "attn_kv_a_norm.weight": (192,),
    "attn_q_a.weight": (288, 160),
    "attn_q_b.weight": (160, 480),
    "attn_kv_a_mqa.weight": (288, 224),
    "attn_k_b.weight": (64, 192, 5),
    "attn_v_b.weight": (192, 64, 5),
    "attn_output.weight": (320, 288),
    "ffn_norm.weight": (288,),
    "indexer.attn_k.weight": (288, 128),
    "indexer.proj.weight": (288, 3),
    "indexer.k_norm.bias": (128,),
    "indexer.k_norm.weight": (128,),
    "indexer.attn_q_b.weight": (160, 384),
}
_FIRST = {**_COMMON, **feed_forward(norm=False)}
_SECOND = {**_COMMON, **routed(96, 7, shared=True)}

FAMILY = Family(
    architecture="glm-dsa",
    keys={
        **base_keys(layers=5, heads=5, kv_heads=1, head=224, value=192, rope=32),
        "attention.key_length_mla": ("u32", 96),
        "attention.value_length_mla": ("u32", 64),
        "attention.kv_lora_rank": ("u32", 192),
        "attention.q_lora_rank": ("u32", 160),
        "leading_dense_block_count": ("u32", 3),
        "expert_count": ("u32", 7),
        "expert_used_count": ("u32", 3),
        "expert_feed_forward_length": ("u32", 96),
        "expert_shared_count": ("u32", 1),
        "attention.indexer.head_count": ("u32", 3),
        "attention.indexer.key_length": ("u32", 128),
        "attention.indexer.top_k": ("u32", 300),
    },
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_FIRST,) * 3 + (_SECOND,) * 2,
)
