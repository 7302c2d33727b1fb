"""For which features of a processor an engine's build has kernels of its own."""

from __future__ import annotations

from typing import Final

from gguf_tools.machine import CpuFeature

__all__ = ["cpu_features"]

_FEATURES: Final[dict[str, CpuFeature]] = {
    "AVX2": "avx2",
    "AVX512": "avx512",
    "AMX_INT8": "amx",
    "DOTPROD": "neon_dotprod",
    "MATMUL_INT8": "neon_i8mm",
}


def cpu_features(system_info: str) -> frozenset[CpuFeature]:
    """Return the features for which an engine's build repacks matrices, by its system info.

    Empty where the build has no repacking at all (``REPACK``).
    """
    on = {
        name.strip().upper()
        for part in system_info.replace(":", "|").split("|")
        for name, _, value in [part.partition("=")]
        if value.strip() == "1"
    }
    if "REPACK" not in on:
        return frozenset()
    return frozenset(feature for name, feature in _FEATURES.items() if name in on)
