"""Memory by device: weights, caches, states, compute and what comes on top.

Puts together what `weights`, `kv`, `state` and `compute` work out, for one way of loading.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gguf_tools import roles
from gguf_tools.compute.buffers import MARGINS, ComputeUse, Trust, compute_by_device
from gguf_tools.facts import ModelFacts, vocabulary_size
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.kv import KvCache, kv_caches
from gguf_tools.machine import Device, Machine
from gguf_tools.placement import CPU, Placement, place_layers
from gguf_tools.settings import EngineSettings, LoadSettings, engine_settings
from gguf_tools.state import StateLayer, state_layers
from gguf_tools.weights import WeightUse, weights_by_device

__all__ = ["DeviceMemory", "MemoryPlan", "memory_plan", "output_buffer_bytes", "score_matrix_bytes"]

_BATCHES = 4  # GGML_SCHED_MAX_COPIES
_ONE_AT_A_TIME = frozenset({"OpenCL", "OpenVINO"})  # backends without events
_OFFLOAD_BATCH = 32  # from this micro-batch on, devices compute on copies of the CPU's weights


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """What lies on one device, in bytes. ``other_bytes``: output rows, driver, working copies."""

    device: Device
    weights_bytes: int
    kv_bytes: int
    state_bytes: int
    compute_bytes: int
    other_bytes: int

    @property
    def total_bytes(self) -> int:
        """Return everything the model takes on the device."""
        return (
            self.weights_bytes
            + self.kv_bytes
            + self.state_bytes
            + self.compute_bytes
            + self.other_bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Memory of a load, device by device, the CPU first."""

    settings: EngineSettings
    placement: Placement
    devices: tuple[DeviceMemory, ...]
    caches: tuple[KvCache, ...]
    states: tuple[StateLayer, ...]
    weights: WeightUse
    compute: ComputeUse

    @property
    def kv_bytes(self) -> int:
        """Return bytes of all KV caches."""
        return sum(item.kv_bytes for item in self.devices)

    @property
    def state_bytes(self) -> int:
        """Return bytes of all recurrent states."""
        return sum(item.state_bytes for item in self.devices)

    @property
    def compute_trust(self) -> Trust:
        """Return how far the compute buffers can be trusted."""
        return self.compute.trust

    @property
    def compute_margin(self) -> float:
        """Return by what share of itself the compute figure may be wrong."""
        return MARGINS[self.compute.trust]

    @property
    def kv_bytes_per_token(self) -> int:
        """Return what one more token of context adds to the caches of one sequence."""
        return sum(cache.bytes_per_token for cache in self.caches if cache.grows)


def memory_plan(facts: ModelFacts, load: LoadSettings, machine: Machine) -> MemoryPlan:
    """Return what a load takes on each device.

    Raises:
        ValueError: the facts have no hyperparameters, or there is no cache of the type asked for.
    """
    shape = facts.shape
    if shape is None:
        raise ValueError("The file says too little about the model to plan its memory.")
    header = facts.header
    settings = engine_settings(shape, load)
    placement = place_layers(shape.layers_all, load.gpu_layers, machine, load.split)
    devices = machine.devices
    weights = weights_by_device(
        header,
        shape,
        devices,
        placement,
        experts_on_cpu=load.experts_on_cpu,
        extra_buffers=load.extra_buffers,
    )
    caches = kv_caches(shape, settings.kv)
    states = state_layers(shape, settings.sequences, load.snapshots)
    compute = compute_by_device(
        header,
        shape,
        settings,
        placement,
        tuple(device.alignment for device in devices),
        batches=_batches(load, placement, devices),
    )
    kv, state = _caches_by_device(caches, states, placement, devices, offload=load.offload_kv)
    other = _other(header, shape, settings, placement, devices)
    used = tuple(
        DeviceMemory(
            device=device,
            weights_bytes=weights.by_device[index],
            kv_bytes=kv[index],
            state_bytes=state[index],
            compute_bytes=compute.by_device[index],
            other_bytes=other[index],
        )
        for index, device in enumerate(devices)
    )
    return MemoryPlan(
        settings=settings,
        placement=placement,
        devices=used,
        caches=caches,
        states=states,
        weights=weights,
        compute=compute,
    )


def _batches(load: LoadSettings, placement: Placement, devices: tuple[Device, ...]) -> int:
    """Return how many batches are under way at once (``pipeline_parallel`` in llama-context.cpp).

    Several devices that hold everything between them work on batches in turn.
    """
    in_turn = (
        len(devices) > 2
        and CPU not in placement.layers
        and load.offload_kv
        and not load.experts_on_cpu
        and all(device.backend not in _ONE_AT_A_TIME for device in devices[1:])
    )
    return _BATCHES if in_turn else 1


def _caches_by_device(
    caches: tuple[KvCache, ...],
    states: tuple[StateLayer, ...],
    placement: Placement,
    devices: tuple[Device, ...],
    *,
    offload: bool,
) -> tuple[list[int], list[int]]:
    kv = [0] * len(devices)
    state = [0] * len(devices)
    for cache in caches:
        for layer in cache.layers:
            index = placement.layers[layer.layer] if offload else CPU
            kv[index] += cache.layer_bytes(layer, devices[index].alignment)
    for item in states:
        index = placement.layers[item.layer] if offload else CPU
        state[index] += item.size_bytes(devices[index].alignment)
    return kv, state


def output_buffer_bytes(header: Header, sequences: int) -> int:
    """Return bytes of the rows of logits that are read back (``output_reserve``)."""
    return 4 * sequences * (vocabulary_size(header) or 0)


def _other(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    placement: Placement,
    devices: tuple[Device, ...],
) -> list[int]:
    other = [device.overhead_bytes for device in devices]
    other[CPU] += output_buffer_bytes(header, settings.sequences)
    used = set(placement.layers) - {CPU}
    for index in range(1, len(devices)):
        if index not in used:
            other[index] = 0  # a device that gets nothing is not opened for it
    computing = [index for index in used if devices[index].kind in {"gpu", "igpu"}]
    if computing and settings.ubatch >= _OFFLOAD_BATCH:
        other[computing[0]] += _largest_on_cpu(header, shape, placement)
    return other


def _largest_on_cpu(header: Header, shape: Hyperparameters, placement: Placement) -> int:
    """Return the largest matrix of layers on the CPU: a device multiplies it through a copy."""
    largest = _largest_matrices(header, shape)
    return max(
        (size for layer, size in enumerate(largest) if placement.layers[layer] == CPU), default=0
    )


@lru_cache(maxsize=64)
def _largest_matrices(header: Header, shape: Hyperparameters) -> tuple[int, ...]:
    largest = [0] * shape.layers
    for tensor in header.tensors.values():
        block = roles.block_of(tensor.name)
        if block is not None and block < shape.layers and len(tensor.shape) >= 2:
            largest[block] = max(largest[block], tensor.size_bytes)
    return tuple(largest)


def score_matrix_bytes(tokens: int, heads: int = 1) -> int:
    """Return bytes of the attention scores of one layer in 16 bits, without flash attention."""
    return tokens * tokens * 2 * heads
