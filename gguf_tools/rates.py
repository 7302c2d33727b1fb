"""Bytes and operations per token, and the decode rates that follow from a machine's.

A decoded token reads every weight that takes part in it once, and the cache as far as it is
filled; no machine decodes faster than it can read that. Where layers lie on several devices they
work one after another, so times add up. What is likely to be reached of these ceilings:
`gguf_tools.expected`; how fast prompts are read: `gguf_tools.prefill`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gguf_tools import roles
from gguf_tools.facts import vocabulary_size
from gguf_tools.header import Header, Tensor
from gguf_tools.hparams import Hyperparameters
from gguf_tools.kept import kept_with_header
from gguf_tools.kernels import kernel_of
from gguf_tools.kv import KvCache
from gguf_tools.launches import launches_of
from gguf_tools.machine import CpuFeature, Machine
from gguf_tools.network import crossings, network_seconds
from gguf_tools.placement import CPU, Placement
from gguf_tools.settings import EngineSettings
from gguf_tools.state import StateLayer
from gguf_tools.units import round_up
from gguf_tools.weights import repacks

__all__ = [
    "NEGLIGIBLE",
    "LayerReads",
    "TokenBytes",
    "attention_terms",
    "decode_ceiling",
    "layer_reads",
    "seconds_per_token",
    "token_bytes",
]

_CELLS: Final = 256  # attention reads a cache in steps of so many
NEGLIGIBLE: Final = 1e-2
"""Share of a token's bytes below which a device's unknown bandwidth doesn't matter: the CPU reads
one row of the embedding table even where all layers lie elsewhere."""


@dataclass(frozen=True, slots=True)
class TokenBytes:
    """What one step of decoding reads on one device, in bytes.

    ``moved`` bytes go to the device and back in ``trips``; see `gguf_tools.network`. ``work`` are
    the operations of the weights' products, each divided by the share of the arithmetic rate that
    its kernel reaches on a processor; ``attention`` those of scores and sums over the cache, not
    divided. ``kernels`` are launched there in ``stretches`` of layers; see `gguf_tools.launches`.
    """

    weights: float
    kv: float
    state: float
    moved: float = 0.0
    trips: float = 0.0
    work: float = 0.0
    attention: float = 0.0
    kernels: float = 0.0
    stretches: float = 0.0

    @property
    def total(self) -> float:
        """Return all bytes that are read."""
        return self.weights + self.kv + self.state


@dataclass(frozen=True, slots=True)
class LayerReads:
    """Bytes that a token reads of each layer's dense weights, of its experts, and of the rest.

    ``…_work`` are its operations over the kernels' shares in decoding, ``prompt_work`` in reading
    a prompt; those of experts count the experts in use. ``expert_parameters`` and
    ``expert_prompt_work`` are the experts' parts of ``parameters`` and ``prompt_work``.
    """

    dense: tuple[float, ...]
    experts: tuple[float, ...]
    output: float
    input_rows: float
    head_parameters: int
    parameters: tuple[float, ...]
    dense_work: tuple[float, ...]
    expert_work: tuple[float, ...]
    prompt_work: tuple[float, ...]
    output_work: float
    expert_parameters: tuple[float, ...]
    expert_prompt_work: tuple[float, ...]


def token_bytes(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    placement: Placement,
    caches: tuple[KvCache, ...],
    states: tuple[StateLayer, ...],
    *,
    devices: int,
    depth: int,
    sequences: int = 1,
    experts_on_cpu: bool = False,
    features: frozenset[CpuFeature] = frozenset(),
) -> tuple[TokenBytes, ...]:
    """Return the bytes that a step of decoding reads on each device.

    Args:
        header: the model.
        shape: its hyperparameters.
        settings: as the engine takes them.
        placement: where layers lie.
        caches: the KV caches.
        states: the recurrent states.
        devices: how many devices there are.
        depth: tokens already in each sequence's cache.
        sequences: sequences that take this step together; they share the weights.
        experts_on_cpu: expert tensors stay on the CPU.
        features: of the CPU, for whose kernels matrices are repacked; none without extra buffers.
    """
    reads = layer_reads(header, shape, features)
    weights = [0.0] * devices
    kv = [0.0] * devices
    state = [0.0] * devices
    work = [0.0] * devices
    attention = [0.0] * devices
    work[placement.output] += reads.output_work * sequences
    weights[CPU] += reads.input_rows * sequences
    weights[placement.output] += reads.output
    places = placement.layers
    for layer in range(shape.layers):
        index = places[layer]
        weights[index] += reads.dense[layer]
        work[index] += reads.dense_work[layer] * sequences
        if reads.experts[layer]:
            where = CPU if experts_on_cpu else index
            weights[where] += reads.experts[layer] * roles.expert_share(shape, layer, sequences)
            work[where] += reads.expert_work[layer] * sequences
    for layer, (pair, window) in enumerate(attention_terms(shape)):
        seen = min(depth + 1, window) if window else depth + 1
        attention[places[layer]] += pair * seen * sequences
    filled = round_up(depth + 1, _CELLS)
    read = [
        min(cache.cells, round_up(-(-filled // cache.tokens_per_cell), _CELLS)) for cache in caches
    ]
    shares = shape.kv_from_start >= 0
    for cache, cells in zip(caches, read, strict=True):
        rows = cells * sequences
        for item in cache.layers:
            size = (item.k_row_bytes + item.v_row_bytes) * rows
            if shares:
                size *= 1 + _shared_readers(shape, item.layer)
            kv[places[item.layer]] += size
    for held in states:
        each = sum(held.tensors) / settings.sequences
        state[places[held.layer]] += 2 * each * sequences
    moved, trips = crossings(
        shape,
        placement,
        caches,
        read,
        devices=devices,
        vocabulary=vocabulary_size(header) or 0,
        sequences=sequences,
        flash_attention=settings.flash_attention,
    )
    kernels, stretches = launches_of(shape.layers, placement, devices)
    parts = zip(weights, kv, state, moved, trips, work, attention, kernels, stretches, strict=True)
    return tuple(TokenBytes(*part) for part in parts)


@lru_cache(maxsize=64)
def attention_terms(shape: Hyperparameters) -> tuple[tuple[float, int], ...]:
    """Return each layer's operations for a query and a token it sees, and its window or 0."""
    return tuple(
        (
            2.0 * shape.heads[layer] * _width(shape, layer) if shape.kv_heads[layer] else 0.0,
            shape.window if shape.sliding[layer] else 0,
        )
        for layer in range(shape.layers)
    )


def _width(shape: Hyperparameters, layer: int) -> int:
    if shape.mla:
        return shape.key_length + shape.kv_lora_rank
    return shape.head_k(layer) + shape.head_v(layer)


def _shared_readers(shape: Hyperparameters, layer: int) -> int:
    """Return how many layers without a cache of their own read this layer's."""
    first = shape.kv_from_start
    if not 2 <= first < shape.layers:
        return 0
    if layer == first - 1:
        return sum(not shape.sliding[other] for other in range(first, shape.layers))
    if layer == first - 2:
        return sum(shape.sliding[other] for other in range(first, shape.layers))
    return 0


@kept_with_header(16)
def layer_reads(
    header: Header, shape: Hyperparameters, features: frozenset[CpuFeature] = frozenset()
) -> LayerReads:
    """Return what a token reads and computes, layer by layer; kept with the header."""
    dense = [0.0] * shape.layers
    experts = [0.0] * shape.layers
    parameters = [0.0] * shape.layers
    dense_work = [0.0] * shape.layers
    expert_work = [0.0] * shape.layers
    prompt_work = [0.0] * shape.layers
    expert_parameters = [0.0] * shape.layers
    expert_prompt_work = [0.0] * shape.layers
    output = rows = output_work = 0.0
    head = 0
    physical = max(shape.layers // shape.loops, 1)
    for tensor in header.tensors.values():
        block = roles.block_of(tensor.name)
        if tensor.name in roles.INPUT_TABLES:
            rows += tensor.type.row_bytes(tensor.extent(0))
        if roles.unread_per_token(tensor, shape):
            continue
        decode, prefill = _shares(tensor, features)
        # Rows of one dimension are scales and biases, not products.
        flops = 2.0 * tensor.elements if len(tensor.shape) >= 2 else 0.0
        if block is None:
            output += tensor.size_bytes
            output_work += flops / decode
            if tensor.name == "output.weight":
                head = tensor.elements
            continue
        for loop in range(shape.loops):
            layer = block + loop * physical
            if layer >= shape.layers:
                continue
            if roles.is_expert(tensor.name):
                used = roles.expert_share(shape, layer, 1)
                experts[layer] += tensor.size_bytes
                expert_work[layer] += flops * used / decode
                expert_parameters[layer] += tensor.elements * used
                expert_prompt_work[layer] += flops * used / prefill
            else:
                used = 1.0
                dense[layer] += tensor.size_bytes
                dense_work[layer] += flops / decode
            parameters[layer] += tensor.elements * used
            prompt_work[layer] += flops * used / prefill
    if roles.tied_output(header):
        table = header.tensors["token_embd.weight"]
        output += table.size_bytes
        output_work += 2.0 * table.elements / _shares(table, features, output=True)[0]
        head = table.elements
    return LayerReads(
        tuple(dense),
        tuple(experts),
        output,
        rows,
        head,
        tuple(parameters),
        tuple(dense_work),
        tuple(expert_work),
        tuple(prompt_work),
        output_work,
        tuple(expert_parameters),
        tuple(expert_prompt_work),
    )


def _shares(
    tensor: Tensor, features: frozenset[CpuFeature], *, output: bool = False
) -> tuple[float, float]:
    repacked = bool(features) and repacks(tensor, features, output=output)
    return kernel_of(tensor.type.name).shares(repacked=repacked)


def seconds_per_token(reads: tuple[TokenBytes, ...], machine: Machine) -> float | None:
    """Return the least time a step takes, None if a device's bandwidth is unknown."""
    total = 0.0
    everything = sum(item.total for item in reads)
    for item, device in zip(reads, machine.devices, strict=True):
        total += network_seconds(item.moved, item.trips, device)
        if device.bandwidth_bytes_per_s:
            total += item.total / device.bandwidth_bytes_per_s
        elif item.total > NEGLIGIBLE * everything:
            return None
    return total or None


def decode_ceiling(reads: tuple[TokenBytes, ...], machine: Machine) -> float | None:
    """Return tokens per second that decoding can't pass, None if a bandwidth is unknown."""
    seconds = seconds_per_token(reads, machine)
    return 1.0 / seconds if seconds else None
