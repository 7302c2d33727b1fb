"""Recurrent state: a fixed size a sequence, whatever the length of the context.

Follows src/llama-memory-recurrent.cpp, ``n_embd_r`` and ``n_embd_s`` in src/llama-hparams.cpp, and
``llama_dsv4_comp_state`` in src/llama-kv-cache-dsv4.cpp. Always f32, whatever the cache types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import HYBRID, RECURRENT, ROLLBACK
from gguf_tools.units import round_up

__all__ = ["StateLayer", "state_layers"]

_F32_BYTES: Final = 4
_CSA_RATIO: Final = 4
_HCA_RATIO: Final = 128


@dataclass(frozen=True, slots=True)
class StateLayer:
    """The state tensors of one layer, in bytes over all sequences."""

    layer: int
    tensors: tuple[int, ...]

    def size_bytes(self, alignment: int = 32) -> int:
        """Return bytes with each tensor padded to the buffer's alignment."""
        return sum(round_up(size, alignment) for size in self.tensors)


def state_layers(
    shape: Hyperparameters, sequences: int, snapshots: int = 0
) -> tuple[StateLayer, ...]:
    """Return the state of each layer that has one.

    Args:
        shape: the model.
        sequences: sequences held at once (``n_seq_max``).
        snapshots: earlier states kept to go back to (``n_rs_seq``), where the model can.
    """
    arch = shape.architecture
    kept = snapshots if arch in ROLLBACK else 0
    rows = max(1, sequences) * (1 + kept) * _F32_BYTES
    if arch == "deepseek4":
        return _compressor_states(shape, rows)
    if arch not in RECURRENT and arch not in HYBRID:
        return ()
    found = []
    for layer in range(shape.layers):
        if not shape.recurrent[layer]:
            continue
        sizes = [shape.conv_state * rows, shape.recurrent_state * rows]
        if layer in shape.ple_layers and shape.ple_state:
            sizes.append(shape.ple_state * rows)
        found.append(StateLayer(layer, tuple(sizes)))
    return tuple(found)


def _compressor_states(shape: Hyperparameters, rows: int) -> tuple[StateLayer, ...]:
    key = shape.key_length_swa
    found = []
    for layer in range(shape.layers):
        ratio = shape.compress_ratios[layer]
        if ratio == _CSA_RATIO:
            main = 2 * key * 2 * _CSA_RATIO * rows
            index = 2 * shape.indexer_key_length * 2 * _CSA_RATIO * rows
            found.append(StateLayer(layer, (main, main, index, index)))
        elif ratio == _HCA_RATIO:
            main = key * _HCA_RATIO * rows
            found.append(StateLayer(layer, (main, main)))
    return tuple(found)
