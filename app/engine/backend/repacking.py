"""Repacked kernels without AMX: matrices sent to the CPU's repacking buffer by their names.

Leaving out all extra buffers (compatibility mode) keeps AMX away where it stops the engine, and
the repacked kernels with it, which read a prompt up to twice as fast. llama.cpp takes a buffer for
named tensors without asking whether it can hold them, and dies of one that can't: only two-sided
matrices of types with such kernels here are named, and only where all layers are on the CPU.
Whoever asks for this must be ready for the worker's end.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from typing import Any, Final

from app.engine.backend.library import device_handles, ggml
from gguf_tools import roles
from gguf_tools.header import Header, HeaderError, open_header
from gguf_tools.machine import CpuFeature
from gguf_tools.weights import NAMED, repacks

__all__ = ["patterns", "repack"]

_BUFFER: Final = "CPU_REPACK"
_FEATURES: Final[dict[str, CpuFeature]] = {
    "AVX2 = 1": "avx2",
    "AVX512 = 1": "avx512",
    "DOTPROD = 1": "neon_dotprod",
    "MATMUL_INT8 = 1": "neon_i8mm",
}
_SIDES: Final = 2


class _Override(ctypes.Structure):
    """``llama_model_tensor_buft_override`` of llama.h."""

    _fields_ = [("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p)]


def repack(parameters: Any, path: str, system_info: str) -> bool:
    """Set ``tensor_buft_overrides`` of ``llama_model_params``; False if nothing can be repacked.

    The arrays are kept with the structure: llama.cpp reads them while it loads.
    """
    buffer_type = _buffer_type()
    features = frozenset(
        feature for flag, feature in _FEATURES.items() if flag in system_info.upper()
    )
    if buffer_type is None or "REPACK = 1" not in system_info.upper():
        return False
    try:
        names = patterns(open_header(path), features)
    except (HeaderError, OSError):
        return False
    if not names:
        return False
    overrides = (_Override * (len(names) + 1))()
    for override, name in zip(overrides, names, strict=False):
        override.pattern = name.encode("ascii")
        override.buffer_type = buffer_type
    parameters.kept_overrides = overrides
    parameters.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
    return True


def patterns(header: Header, features: frozenset[CpuFeature]) -> list[str]:
    """Return regular expressions that match the matrices with repacked kernels, and no others.

    One for each kind of matrix, since llama.cpp tries every one on every tensor.
    """
    blocks: dict[str, list[str]] = defaultdict(list)
    for tensor in header.tensors.values():
        match = NAMED.fullmatch(tensor.name)
        if match is None or len(tensor.shape) != _SIDES or roles.is_expert(tensor.name):
            continue
        if repacks(tensor, features):
            blocks[match[2]].append(match[1])
    return [
        rf"^blk\.({'|'.join(numbers)})\.{kind.replace('.', chr(92) + '.')}$"
        for kind, numbers in blocks.items()
    ]


def _buffer_type() -> int | None:
    """Return the CPU's repacking buffer type, None if this build has none."""
    _, base = ggml()
    cpu = device_handles().get("CPU")
    if cpu is None:
        return None
    registry = base.ggml_backend_dev_backend_reg(cpu)
    address = base.ggml_backend_reg_get_proc_address(registry, b"ggml_backend_dev_get_extra_bufts")
    if not address:
        return None
    base.ggml_backend_buft_name.restype = ctypes.c_char_p
    base.ggml_backend_buft_name.argtypes = [ctypes.c_void_p]
    listed = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(address)(cpu)
    index = 0
    while listed and listed[index]:
        if base.ggml_backend_buft_name(listed[index]).decode() == _BUFFER:
            found: int = listed[index]
            return found
        index += 1
    return None
