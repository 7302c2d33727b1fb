"""What each tensor is for: which layer it belongs to, and how much of it a token reads.

Names follow ``LLM_TENSOR_NAMES`` and ``LLM_TENSOR_INFOS`` in src/llama-arch.cpp.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from gguf_tools.header import Header, Tensor
from gguf_tools.hparams import Hyperparameters

__all__ = [
    "INPUT_TABLES",
    "block_of",
    "expert_share",
    "is_expert",
    "is_skipped",
    "read_fraction",
    "tied_output",
    "unread_per_token",
]

_BLOCK: Final = re.compile(r"(?:(?:enc|dec)\.)?blk\.(\d+)\.")
INPUT_TABLES: Final = frozenset(
    {
        "token_embd.weight",
        "position_embd.weight",
        "token_types.weight",
        "per_layer_token_embd.weight",
    }
)
"""Tables of which a token reads one row; they stay on the CPU."""

_EXPERTS: Final = re.compile(r"\.(?:ffn_(?:gate|up|down|gate_up)_(?:ch)?exps)\.")
_OWN_CACHE_ONLY: Final = re.compile(r"\.attn_(?:k|v|k_norm|v_norm)\.")


@lru_cache(maxsize=1 << 14)  # the same names come again in every file, and several times in one
def block_of(name: str) -> int | None:
    """Return the layer in a tensor's name, None for tensors outside the layers."""
    match = _BLOCK.match(name)
    return int(match[1]) if match else None


@lru_cache(maxsize=1 << 14)
def is_expert(name: str) -> bool:
    """Tell whether a tensor holds one matrix for each expert."""
    return _EXPERTS.search(name) is not None


def is_skipped(name: str, shape: Hyperparameters) -> bool:
    """Tell whether a normal load leaves the tensor in the file: it predicts further tokens."""
    if shape.layers_nextn == 0 or shape.router_layer >= 0:
        return False
    block = block_of(name)
    return block is not None and block >= shape.layers


def tied_output(header: Header) -> bool:
    """Tell whether the embedding table serves as output matrix too."""
    return "output.weight" not in header.tensors and "token_embd.weight" in header.tensors


def unread_per_token(tensor: Tensor, shape: Hyperparameters) -> bool:
    """Tell whether a decoded token reads nothing of a tensor, or one row at most."""
    name = tensor.name
    if name in INPUT_TABLES or is_skipped(name, shape) or name.startswith("enc."):
        return True
    block = block_of(name)
    if block is None:
        return False
    if 0 <= shape.kv_from_start <= block and _OWN_CACHE_ONLY.search(name):
        return True
    shared = shape.indexer_full and block < len(shape.indexer_full)
    return bool(shared and not shape.indexer_full[block] and ".indexer" in name)


def read_fraction(tensor: Tensor, shape: Hyperparameters, tokens: int = 1) -> float:
    """Return which share of a tensor ``tokens`` tokens, processed together, read."""
    if not is_expert(tensor.name):
        return 1.0
    return expert_share(shape, block_of(tensor.name) or 0, tokens)


def expert_share(shape: Hyperparameters, layer: int, tokens: int) -> float:
    """Return the share of a layer's experts that so many tokens choose between them.

    As if all were chosen equally often: ``1 - (1 - used/count)^tokens``.
    """
    used = shape.experts_used[layer] if layer < len(shape.experts_used) else 0
    if shape.experts == 0 or used == 0 or used >= shape.experts:
        return 1.0
    return 1.0 - (1.0 - used / shape.experts) ** tokens
