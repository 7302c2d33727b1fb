"""Names and types that the engine's rules for variants go by (llama.cpp's src/llama-quant.cpp)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = [
    "ATTENTION_OUTPUT",
    "EIGHT_BITS_GLM5",
    "EMBEDDING",
    "FALLBACK",
    "FIVE_BIT_OUTPUT",
    "GLM5",
    "KEPT",
    "KEPT_GLM5",
    "KEPT_NAMES",
    "LOW",
    "LOW_S",
    "OUTPUT_OF_EIGHT_EXPERTS",
    "PARTS",
    "SEVENTY",
    "TABLES",
    "VALUES",
    "Category",
]

Category: TypeAlias = Literal[
    "output", "table", "qkv", "kv_b", "v", "k", "q", "attention_output", "up", "gate", "down", ""
]

TABLES: Final = frozenset({"token_embd.weight", "per_layer_token_embd.weight"})
PARTS: Final[tuple[tuple[str, Category], ...]] = (
    ("attn_qkv.weight", "qkv"),
    ("attn_kv_b.weight", "kv_b"),
    ("attn_v.weight", "v"),
    ("attn_k.weight", "k"),
    ("attn_q.weight", "q"),
    ("attn_output.weight", "attention_output"),
    ("ffn_up", "up"),
    ("ffn_gate", "gate"),
    ("ffn_down", "down"),
)
VALUES: Final = frozenset({"v", "qkv", "kv_b"})

# Parts of names of matrices that stay as they are: small, or harmed by little precision.
KEPT: Final = (
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
)
KEPT_NAMES: Final = frozenset({"position_embd.weight", "token_types.weight"})
GLM5: Final = "glm5-next"
KEPT_GLM5: Final = (
    "hc_",
    "indexer.attn_q_b",
    "indexer.attn_k",
    "indexer.proj",
    "indexer_compressor_gate",
    "indexer_compressor_ape",
    "ssm_f_a.weight",
    "ssm_f_b.weight",
    "ssm_g_a.weight",
    "ssm_g_b.weight",
    "ssm_beta.weight",
    "attn_kv_a_mqa.weight",
    "attn_k_b.weight",
    "attn_v_b.weight",
)
EIGHT_BITS_GLM5: Final = ("attn_q_a", "attn_q_b", "nextn.eh_proj")

LOW: Final = frozenset({"IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ1_S", "IQ1_M"})
LOW_S: Final = frozenset({"IQ2_S", "IQ2_M"})
FIVE_BIT_OUTPUT: Final = LOW | {"IQ3_XXS"}
EMBEDDING: Final = {
    "IQ2_XXS": "Q2_K",
    "IQ2_XS": "Q2_K",
    "IQ1_S": "Q2_K",
    "IQ1_M": "Q2_K",
    "IQ2_S": "IQ3_S",
    "IQ2_M": "IQ3_S",
    "IQ3_XXS": "IQ3_S",
    "TQ1_0": "Q4_K",
    "TQ2_0": "Q4_K",
    "Q2_0": "Q4_K",
}
OUTPUT_OF_EIGHT_EXPERTS: Final = frozenset(
    {
        "Q2_K",
        "IQ3_XS",
        "IQ3_XXS",
        "Q3_K_S",
        "Q3_K_M",
        "IQ4_NL",
        "Q4_K_S",
        "Q4_K_M",
        "IQ3_S",
        "IQ3_M",
        "IQ4_XS",
    }
)
ATTENTION_OUTPUT: Final = {
    "Q2_K": "Q3_K",
    "IQ3_XXS": "IQ3_S",
    "Q3_K_M": "Q4_K",
    "Q3_K_L": "Q5_K",
    "IQ3_M": "Q4_K",
}
# What stands in for a type whose blocks of 256 don't divide a row: one with blocks of 32.
FALLBACK: Final = {
    "IQ1_S": "IQ4_NL",
    "IQ1_M": "IQ4_NL",
    "IQ2_XXS": "IQ4_NL",
    "IQ2_XS": "IQ4_NL",
    "IQ2_S": "IQ4_NL",
    "IQ3_XXS": "IQ4_NL",
    "IQ3_S": "IQ4_NL",
    "IQ4_XS": "IQ4_NL",
    "Q2_0": "Q4_0",
    "Q2_K": "Q4_0",
    "Q3_K": "Q4_0",
    "TQ1_0": "Q4_0",
    "TQ2_0": "Q4_0",
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}
# llama.cpp calls these "70B" by architecture and layers; their values are shared by many heads.
SEVENTY: Final = {"deci": 80, "jais2": 68, "llama": 80, "olmo": 80, "qwen2": 80}
