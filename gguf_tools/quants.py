"""Tensor types of GGUF files: how many bytes a row of each takes, and what a file's mix is called.

The sizes follow ggml/src/ggml-common.h and ggml/src/ggml.c (``type_traits``); the names of whole
files follow ``llama_ftype`` in include/llama.h. The table is our own because the engine knows
types that the gguf package doesn't name yet; a test compares the two where both know a type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "CACHE_TYPES",
    "FILE_TYPES",
    "REMOVED_TYPES",
    "TENSOR_TYPES",
    "TensorType",
    "cache_type",
    "file_type_name",
    "tensor_type",
]


@dataclass(frozen=True, slots=True)
class TensorType:
    """One ggml type: ``block_bytes`` hold ``block`` elements."""

    id: int
    name: str
    block: int
    block_bytes: int

    @property
    def bits_per_element(self) -> float:
        """Return bits an element takes, scales included."""
        return self.block_bytes * 8 / self.block

    @property
    def quantized(self) -> bool:
        """Tell whether elements share scales in blocks."""
        return self.block > 1

    def row_bytes(self, elements: int) -> int:
        """Return bytes of a row, as ``ggml_row_size``: whole blocks, the rest cut off."""
        return elements // self.block * self.block_bytes


_ROWS: Final = (
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 36),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
    (42, "Q2_0", 64, 18),
)

TENSOR_TYPES: Final[dict[int, TensorType]] = {row[0]: TensorType(*row) for row in _ROWS}
_BY_NAME: Final = {kind.name.lower(): kind for kind in TENSOR_TYPES.values()}

REMOVED_TYPES: Final[dict[int, str]] = {
    4: "Q4_2",
    5: "Q4_3",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    36: "IQ4_NL_4_4",
    37: "IQ4_NL_4_8",
    38: "IQ4_NL_8_8",
}
"""Types that llama.cpp once read and reads no more."""

CACHE_TYPES: Final = (
    "f32",
    "f16",
    "bf16",
    "q8_0",
    "q5_1",
    "q5_0",
    "q4_1",
    "q4_0",
    "iq4_nl",
)
"""Types a KV cache may have (common/arg.cpp ``kv_cache_types``)."""

FILE_TYPES: Final[dict[int, str]] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    4: "Q4_1_SOME_F16",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    33: "Q4_0_4_4",
    34: "Q4_0_4_8",
    35: "Q4_0_8_8",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}


def tensor_type(type_id: int) -> TensorType | None:
    """Return a type by its number in the file, None if this version knows none."""
    return TENSOR_TYPES.get(type_id)


def cache_type(name: str) -> TensorType:
    """Return a KV cache type by its name on the command line, such as ``q8_0``.

    Raises:
        ValueError: llama.cpp has no cache of that type.
    """
    if name.lower() not in CACHE_TYPES:
        raise ValueError(f"there is no cache of type {name!r}; choose of {', '.join(CACHE_TYPES)}")
    return _BY_NAME[name.lower()]


def file_type_name(file_type: int) -> str | None:
    """Return what ``general.file_type`` is called, None for an unknown number."""
    return FILE_TYPES.get(file_type & ~1024)  # 1024 marks a guess (LLAMA_FTYPE_GUESSED)
