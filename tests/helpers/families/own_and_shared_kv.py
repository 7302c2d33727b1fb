"""A number of last layers that share caches, with different heads in sliding layers."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, base_keys, feed_forward

_COMMON = {
    "attn_norm.weight": (224,),
    "post_attention_norm.weight": (224,),
    "ffn_norm.weight": (224,),
    "post_ffw_norm.weight": (224,),
    "inp_gate.weight": (224, 32),
    "proj.weight": (32, 224),
    "post_norm.weight": (224,),
    "layer_output_scale.weight": (1,),
}
_FIRST = {
    **_COMMON,
    "attn_q.weight": (224, 384),
    "attn_k.weight": (224, 192),
    "attn_output.weight": (384, 224),
    "attn_q_norm.weight": (64,),
    "attn_k_norm.weight": (64,),
    **feed_forward(352, width=224, norm=False),
    "attn_v.weight": (224, 192),
}
_SECOND = {
    **_COMMON,
    "attn_q.weight": (224, 768),
    "attn_k.weight": (224, 128),
    "attn_output.weight": (768, 224),
    "attn_q_norm.weight": (128,),
    "attn_k_norm.weight": (128,),
    **feed_forward(352, width=224, norm=False),
    "attn_v.weight": (224, 128),
}
_THIRD = {
    **_COMMON,
    "attn_q.weight": (224, 384),
    "attn_output.weight": (384, 224),
    "attn_q_norm.weight": (64,),
    **feed_forward(704, width=224, norm=False),
    "attn_k_norm.weight": (64,),
    "attn_v.weight": (224, 192),
    "attn_k.weight": (224, 192),
}
_FOURTH = {
    **_COMMON,
    "attn_q.weight": (224, 768),
    "attn_output.weight": (768, 224),
    "attn_q_norm.weight": (128,),
    **feed_forward(704, width=224, norm=False),
    "attn_k_norm.weight": (128,),
    "attn_v.weight": (224, 128),
    "attn_k.weight": (224, 128),
}

FAMILY = Family(
    architecture="gemma4",
    keys={
        **base_keys(
            layers=9,
            heads=6,
            kv_heads=[3, 3, 1, 3, 1, 3, 1, 3, 1],
            head=128,
            width=224,
            hidden=[352, 352, 352, 352, 352, 704, 704, 704, 704],
        ),
        "attention.key_length_swa": ("u32", 64),
        "attention.value_length_swa": ("u32", 64),
        "attention.shared_kv_layers": ("u32", 4),
        "attention.sliding_window": ("u32", 300),
        "attention.sliding_window_pattern": (
            "[bool]",
            [True, True, False, True, False, True, False, True, False],
        ),
        "embedding_length_per_layer_input": ("u32", 32),
        "rope.dimension_count_swa": ("u32", 64),
    },
    outer={
        "token_embd.weight": (224, VOCABULARY),
        "per_layer_token_embd.weight": (288, VOCABULARY),
        "per_layer_model_proj.weight": (224, 288),
        "per_layer_proj_norm.weight": (32,),
        "output_norm.weight": (224,),
        "rope_freqs.weight": (64,),
    },
    layers=(_FIRST, _FIRST, _SECOND, _FIRST, _SECOND, _THIRD, _FOURTH, _THIRD, _FOURTH),
)
