"""An encoder and a decoder with a bias by distance."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family

_LAYER = {
    "enc.attn_norm.weight": (224,),
    "enc.attn_q.weight": (224, 224),
    "enc.attn_k.weight": (224, 224),
    "enc.attn_v.weight": (224, 224),
    "enc.attn_o.weight": (224, 224),
    "enc.ffn_norm.weight": (224,),
    "enc.ffn_down.weight": (352, 224),
    "enc.ffn_up.weight": (224, 352),
    "dec.attn_norm.weight": (224,),
    "dec.attn_q.weight": (224, 224),
    "dec.attn_k.weight": (224, 224),
    "dec.attn_v.weight": (224, 224),
    "dec.attn_o.weight": (224, 224),
    "dec.cross_attn_norm.weight": (224,),
    "dec.cross_attn_q.weight": (224, 224),
    "dec.cross_attn_k.weight": (224, 224),
    "dec.cross_attn_v.weight": (224, 224),
    "dec.cross_attn_o.weight": (224, 224),
    "dec.ffn_norm.weight": (224,),
    "dec.ffn_down.weight": (352, 224),
    "dec.ffn_up.weight": (224, 352),
    "enc.attn_rel_b.weight": (7, 24),
    "enc.ffn_gate.weight": (224, 352),
    "dec.attn_rel_b.weight": (7, 24),
    "dec.ffn_gate.weight": (224, 352),
}

FAMILY = Family(
    architecture="t5",
    keys={
        "vocab_size": ("u32", VOCABULARY),
        "block_count": ("u32", 3),
        "context_length": ("u32", 2048),
        "embedding_length": ("u32", 224),
        "feed_forward_length": ("u32", 352),
        "attention.head_count": ("u32", 7),
        "attention.head_count_kv": ("u32", 7),
        "attention.key_length": ("u32", 32),
        "attention.value_length": ("u32", 32),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "attention.relative_buckets_count": ("u32", 24),
    },
    outer={
        "token_embd.weight": (224, VOCABULARY),
        "enc.output_norm.weight": (224,),
        "dec.output_norm.weight": (224,),
    },
    layers=(_LAYER,) * 3,
)
