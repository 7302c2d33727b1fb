"""Which type each kind of tensor has in a file of a typed quantisation.

Follows ``llama_tensor_get_type`` in src/llama-quant.cpp for models of usual shapes; what the
engine's quantiser makes of a file is told by `gguf_tools.mixes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MIXES", "QUANTIZATIONS", "Mix"]


@dataclass(frozen=True, slots=True)
class Mix:
    """Types by role; ``more`` is for the layers that llama.cpp gives more bits."""

    body: str
    output: str = "Q6_K"
    attn_v: str = ""
    attn_v_more: str = ""
    attn_output: str = ""
    ffn_down: str = ""
    ffn_down_more: str = ""
    first_layers: tuple[str, str, int] = ("", "", 1)  # attn_v, ffn_down, in the first 1/n layers


MIXES: Final[dict[str, Mix]] = {
    "F32": Mix("F32", "F32"),
    "F16": Mix("F16", "F16"),
    "BF16": Mix("BF16", "BF16"),
    "Q8_0": Mix("Q8_0", "Q8_0"),
    "Q6_K": Mix("Q6_K"),
    "Q5_K_M": Mix("Q5_K", attn_v_more="Q6_K", ffn_down_more="Q6_K"),
    "Q5_K_S": Mix("Q5_K"),
    "Q5_0": Mix("Q5_0"),
    "Q4_K_M": Mix("Q4_K", attn_v_more="Q6_K", ffn_down_more="Q6_K"),
    "Q4_K_S": Mix("Q4_K", first_layers=("Q5_K", "Q5_K", 8)),
    "Q4_0": Mix("Q4_0"),
    "Q4_1": Mix("Q4_1"),
    "IQ4_XS": Mix("IQ4_XS", attn_v="Q5_K", first_layers=("", "Q5_K", 8)),
    "MXFP4": Mix("MXFP4", "Q8_0"),
    "Q3_K_L": Mix("Q3_K", attn_v="Q5_K", attn_output="Q5_K", ffn_down="Q5_K"),
    "Q3_K_M": Mix(
        "Q3_K",
        attn_v="Q4_K",
        attn_output="Q4_K",
        ffn_down="Q4_K",
        first_layers=("Q5_K", "Q5_K", 16),
    ),
    "Q3_K_S": Mix("Q3_K"),
    "Q2_K": Mix("Q2_K", attn_v="Q4_K", attn_output="Q3_K", ffn_down="Q3_K"),
    "Q8": Mix("Q8_0", "Q8_0"),
    "Q4": Mix("Q4_0", "Q4_0"),
}

QUANTIZATIONS: Final = tuple(MIXES)
"""File types that can be typed. "Q4" and "Q8" are the plain 4.5 and 8.5 bits for every weight."""
