"""Weights by device, to the byte, from tables that are made once for a model.

Follows ``create_tensor`` in src/llama-model-loader.cpp, the classes of tensors in
src/llama-arch.cpp, and for the CPU's repacked buffers ggml/src/ggml-cpu/repack.cpp and
ggml/src/ggml-cpu/amx.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gguf_tools import roles
from gguf_tools.header import Header, Tensor
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import EMBEDDING
from gguf_tools.kept import kept_with_header
from gguf_tools.machine import CpuFeature, Device
from gguf_tools.placement import Placement
from gguf_tools.units import round_up

__all__ = ["NAMED", "WeightUse", "repacks", "weights_by_device"]

_ROW_PADDING: Final = 512  # MATRIX_ROW_PADDING of ggml-cuda
_TABLE_TWICE: Final = frozenset({"gemma3n", "gemma4"})
_FIRST_LAYER: Final = frozenset(
    {
        "token_embd_norm.weight",
        "token_embd_norm.bias",
        "per_layer_model_proj.weight",
        "per_layer_proj_norm.weight",
        "conv1d.weight",
        "conv1d.bias",
    }
)
_EVERYWHERE: Final = ("rope_freqs.", "rope_factors_")
_NO_OUTPUT: Final = EMBEDDING - {"llama-embed", "gemma-embedding", "t5encoder"} | {"bitnet"}
"""Architectures without a second table: no output, or it is multiplied where the first lies."""


@dataclass(frozen=True, slots=True)
class WeightUse:
    """Bytes of weights on each device, index 0 the CPU.

    ``copied_bytes`` of the CPU's are a second copy of the embedding table, made because the file
    has no output matrix of its own.
    """

    by_device: tuple[int, ...]
    copied_bytes: int


@dataclass(frozen=True, slots=True)
class _Table:
    """Padded bytes for one way of padding: of layers, of their experts, and of the rest."""

    layers: tuple[int, ...]
    experts: tuple[int, ...]
    first_layer: int
    everywhere: int
    output: int
    tied: int


def weights_by_device(
    header: Header,
    shape: Hyperparameters,
    devices: tuple[Device, ...],
    placement: Placement,
    *,
    experts_on_cpu: bool = False,
    extra_buffers: bool = False,
) -> WeightUse:
    """Return the bytes of weights on each device.

    Args:
        header: the model.
        shape: its hyperparameters.
        devices: the CPU first.
        placement: where layers lie.
        experts_on_cpu: expert tensors stay on the CPU (the engine's ``--cpu-moe``).
        extra_buffers: matrices on the CPU are repacked where it has kernels for that.
    """
    cpu = devices[0]
    features = cpu.features if extra_buffers else frozenset()
    tables = [
        _table(header, shape, device.alignment, device.pads_rows, features if index == 0 else None)
        for index, device in enumerate(devices)
    ]
    totals = [0] * len(devices)
    totals[0] += _input_bytes(header, cpu.alignment)
    for layer in range(len(placement.layers) - 1):
        index = placement.layers[layer]
        table = tables[index]
        totals[index] += table.layers[layer]
        if experts_on_cpu and index != 0 and table.experts[layer]:
            totals[index] -= table.experts[layer]
            totals[0] += tables[0].experts[layer]
    first = placement.layers[0]
    totals[first] += tables[first].first_layer
    used = set(placement.layers[:-1])
    for index in used:
        totals[index] += tables[index].everywhere
    output = placement.output
    totals[output] += tables[output].output
    copied = 0
    if roles.tied_output(header) and shape.architecture not in _NO_OUTPUT:
        repacked = output == 0 and repacks(
            header.tensors["token_embd.weight"], features, output=True
        )
        if output != 0 or repacked or shape.architecture in _TABLE_TWICE:
            copied = tables[output].tied
            totals[output] += copied
    return WeightUse(tuple(totals), copied)


def _input_bytes(header: Header, alignment: int) -> int:
    return sum(
        round_up(header.tensors[name].size_bytes, alignment)
        for name in roles.INPUT_TABLES
        if name in header.tensors
    )


@kept_with_header(16)
def _table(
    header: Header,
    shape: Hyperparameters,
    alignment: int,
    pads_rows: bool,
    features: frozenset[CpuFeature] | None,
) -> _Table:
    physical = shape.layers_all // shape.loops
    layers = [0] * shape.layers_all
    experts = [0] * shape.layers_all
    first = everywhere = output = 0
    for tensor in header.tensors.values():
        name = tensor.name
        if name in roles.INPUT_TABLES or roles.is_skipped(name, shape):
            continue
        size = _allocated(tensor, alignment, pads_rows, features)
        block = roles.block_of(name)
        if block is not None:
            if block < physical:
                layers[block] += size
                if roles.is_expert(name):
                    experts[block] += size
        elif name.startswith(_EVERYWHERE):
            everywhere += size
        elif name in _FIRST_LAYER and not shape.architecture.startswith("lfm2"):
            first += size
        else:
            output += size
    table = header.tensors.get("token_embd.weight")
    tied = _allocated(table, alignment, pads_rows, features) if table is not None else 0
    return _Table(tuple(layers), tuple(experts), first, everywhere, output, tied)


def _allocated(
    tensor: Tensor, alignment: int, pads_rows: bool, features: frozenset[CpuFeature] | None
) -> int:
    """Return the bytes a tensor takes in a buffer of the given kind."""
    size = tensor.size_bytes
    if pads_rows and tensor.type.quantized and tensor.extent(0) % _ROW_PADDING:
        size += tensor.type.row_bytes(_ROW_PADDING - tensor.extent(0) % _ROW_PADDING)
    if features and "amx" in features and _amx(tensor):
        blocks = tensor.elements // tensor.type.block
        size += _AMX_EXTRA.get(tensor.type.name, 0) * blocks
    return round_up(size, alignment)


_AMX_EXTRA: Final = {"Q4_0": 4, "Q4_1": 4, "Q8_0": 4, "Q4_K": 4, "Q5_K": 4, "IQ4_XS": 2}
_AMX_ALIGNMENT: Final = {
    "Q4_0": 32,
    "Q4_1": 32,
    "Q8_0": 32,
    "Q4_K": 256,
    "Q5_K": 256,
    "Q6_K": 256,
    "IQ4_XS": 256,
    "F16": 16,
}


def _amx(tensor: Tensor) -> bool:
    alignment = _AMX_ALIGNMENT.get(tensor.type.name)
    if alignment is None or len(tensor.shape) < 2 or not _multiplied(tensor):
        return False
    if roles.is_expert(tensor.name):
        return False
    return tensor.extent(1) % 32 == 0 and tensor.extent(0) % alignment == 0


def _multiplied(tensor: Tensor) -> bool:
    return len(tensor.shape) >= 2 and tensor.name.endswith(".weight")


_NEON: Final = {"Q4_0": 4, "IQ4_NL": 4, "MXFP4": 4, "Q8_0": 4, "Q4_K": 8, "Q5_K": 8, "Q6_K": 8}
_REPACKED: Final[dict[CpuFeature, dict[str, int]]] = {
    "avx2": {"Q4_0": 8, "Q4_K": 8, "IQ4_NL": 8, "MXFP4": 8},
    "avx512": {"Q2_K": 8},
    "neon_dotprod": _NEON,
    "neon_i8mm": _NEON,
}


NAMED: Final = re.compile(r"blk\.(\d+)\.((?:attn|ffn)_[a-z_]+\.weight)")
"""Matrices that a load names for repacking where the engine's own choice would stop it; experts'
are not among them."""


def repacks(tensor: Tensor, features: frozenset[CpuFeature], *, output: bool = False) -> bool:
    """Tell whether the CPU holds a matrix in a buffer other than its plain one."""
    if not output and not _multiplied(tensor):
        return False
    if "by_name" in features and (
        NAMED.fullmatch(tensor.name) is None or roles.is_expert(tensor.name)
    ):
        return False
    if "amx" in features and _amx(tensor):
        return True
    for feature in features:
        rows = _REPACKED.get(feature, {}).get(tensor.type.name)
        if rows is not None and tensor.extent(1) % rows == 0:
            return True
    return False
