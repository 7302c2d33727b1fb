"""What ggml's kernels make of a processor's arithmetic, by the type of the weights.

A token that is decoded multiplies each weight once, whatever its bytes: on a processor the
unpacking of a block costs more than reading it, so that a Q4_0 and a Q8_0 file of one model decode
at nearly the same rate although one has half the bytes. Shares are of the dense rate of the
threads in use (two operations a multiply-add, vectors of 32 bytes at 3 GHz: 96 GFLOP/s a core).

Source: llama.cpp of llama-cpp-python 0.3.36 with AVX2 and AVX-512 kernels, one thread of an AMD
EPYC 9004 at SmolLM2 135M in the types named; repacked is measured for Q4_0. Others are assumed to
be like their nearest relative. Another processor is off by up to a factor of two, which is why a
prediction before any measurement is a wide range and one after it rests on the measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Kernel", "attention_share", "kernel_of"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Shares of the arithmetic rate: of one token's products, and of many tokens' at once.

    ``repacked`` are both where the matrix is interleaved at load for kernels of its own, None for
    types that are not. ``basis`` is "measured" for the types named in the module's source, else
    "assumed".
    """

    decode: float
    prefill: float
    basis: str = "assumed"
    repacked: tuple[float, float] | None = None

    def shares(self, *, repacked: bool) -> tuple[float, float]:
        """Return the shares in decoding and in reading a prompt."""
        if repacked and self.repacked is not None:
            return self.repacked
        return self.decode, self.prefill


_OTHER: Final = Kernel(0.22, 0.35)
_KERNELS: Final[dict[str, Kernel]] = {
    # Plain types are limited by their bytes; kernels for many tokens work on tiles.
    "F32": Kernel(0.40, 0.65),
    "F16": Kernel(0.45, 0.68, "measured"),
    "BF16": Kernel(0.45, 0.65),
    # Blocks of 32 with one scale; tiles for many tokens, but for the types with an offset.
    "Q4_0": Kernel(0.28, 0.76, "measured", (0.58, 1.05)),
    "Q8_0": Kernel(0.26, 0.86, "measured", (0.45, 1.0)),
    "Q5_0": Kernel(0.22, 0.60, "measured"),
    "IQ4_NL": Kernel(0.28, 0.75, repacked=(0.50, 1.0)),
    "Q4_1": Kernel(0.24, 0.39, "measured"),
    "Q5_1": Kernel(0.22, 0.40),
    "MXFP4": Kernel(0.25, 0.35, repacked=(0.45, 0.8)),
    # Blocks of 256 with scales of scales.
    "Q2_K": Kernel(0.30, 0.45, repacked=(0.40, 0.8)),
    "Q3_K": Kernel(0.28, 0.45),
    "Q4_K": Kernel(0.28, 0.50, repacked=(0.50, 1.0)),
    "Q5_K": Kernel(0.26, 0.45, repacked=(0.40, 0.8)),
    "Q6_K": Kernel(0.25, 0.45, repacked=(0.40, 0.8)),
    # Tables of codes are looked up value by value.
    "IQ4_XS": Kernel(0.28, 0.40),
    "IQ3_S": Kernel(0.14, 0.20),
    "IQ3_XXS": Kernel(0.15, 0.22),
    "IQ2_S": Kernel(0.14, 0.20),
    "IQ2_XS": Kernel(0.15, 0.22),
    "IQ2_XXS": Kernel(0.17, 0.25),
    "IQ1_S": Kernel(0.18, 0.25),
    "IQ1_M": Kernel(0.15, 0.22),
    "TQ1_0": Kernel(0.25, 0.35),
    "TQ2_0": Kernel(0.35, 0.45),
}

_FLASH: Final = 0.12
_PLAIN: Final = 0.145
_FLASH_QUANTISED: Final = 0.10
_PLAIN_TYPES: Final = frozenset({"F32", "F16", "BF16"})


def kernel_of(type_name: str) -> Kernel:
    """Return what is known of a weight type's kernels."""
    return _KERNELS.get(type_name.upper(), _OTHER)


def attention_share(type_k: str, *, flash_attention: bool) -> float:
    """Return the share of the arithmetic rate that attention to the cache reaches.

    A cache's row is multiplied by every query head that shares it, one row at a time, which is
    why a byte of it costs more the more heads share it. Measured with an f16 cache: 0.128 with
    flash attention, 0.155 without; a quantised cache is unpacked besides (assumed).
    """
    if not flash_attention:
        return _PLAIN
    return _FLASH if type_k.upper() in _PLAIN_TYPES else _FLASH_QUANTISED
