"""Memory by device: weights, caches, states, compute and what comes on top.

Puts together what `weights`, `kv`, `state` and `compute` work out, for one way of loading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gguf_tools import roles
from gguf_tools.compute.buffers import MARGINS, ComputeUse, Trust, compute_by_device
from gguf_tools.draft import DraftUse, draft_problem
from gguf_tools.facts import ModelFacts, vocabulary_size
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.kept import kept_with_header
from gguf_tools.kv import KvCache, kv_caches
from gguf_tools.machine import Device, Machine
from gguf_tools.placement import CPU, Placement, place_layers
from gguf_tools.settings import EngineSettings, LoadSettings, engine_settings, refusal
from gguf_tools.state import StateLayer, state_layers
from gguf_tools.weights import WeightUse, weights_by_device

__all__ = ["DeviceMemory", "MemoryPlan", "memory_plan", "output_buffer_bytes", "score_matrix_bytes"]

_BATCHES: Final = 4  # GGML_SCHED_MAX_COPIES
_ONE_AT_A_TIME: Final = frozenset({"OpenCL", "OpenVINO"})  # backends without events
_OFFLOAD_BATCH: Final = 32  # from here on devices compute on copies of the CPU's weights


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """What lies on one device, in bytes.

    ``other_bytes``: output rows, driver, working copies. ``draft_bytes``: all of a draft model.
    """

    device: Device
    weights_bytes: int
    kv_bytes: int
    state_bytes: int
    compute_bytes: int
    other_bytes: int
    draft_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Return everything the model takes on the device."""
        return (
            self.weights_bytes
            + self.kv_bytes
            + self.state_bytes
            + self.compute_bytes
            + self.other_bytes
            + self.draft_bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Memory of a load, device by device, the CPU first; ``draft`` is the model loaded beside."""

    settings: EngineSettings
    placement: Placement
    devices: tuple[DeviceMemory, ...]
    caches: tuple[KvCache, ...]
    states: tuple[StateLayer, ...]
    weights: WeightUse
    compute: ComputeUse
    draft: DraftUse | None = None

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
    draft = _draft(facts, load, settings, machine)
    beside = () if draft is None else draft.by_device
    used = tuple(
        DeviceMemory(
            device=device,
            weights_bytes=weights.by_device[index],
            kv_bytes=kv[index],
            state_bytes=state[index],
            compute_bytes=compute.by_device[index],
            other_bytes=other[index],
            draft_bytes=beside[index] if beside else 0,
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
        draft=draft,
    )


def _draft(
    facts: ModelFacts, load: LoadSettings, settings: EngineSettings, machine: Machine
) -> DraftUse | None:
    """Return what the draft model takes: loaded in the same way, with one chat of its own."""
    if load.draft is None:
        return None
    name = load.draft.shown_name
    own = replace(
        load, draft=None, context=settings.context, sequences=1, unified=False, outputs=None
    )
    problem = draft_problem(facts, load.draft, swa_full=load.swa_full)
    if not problem and load.draft.shape is not None:
        refused = refusal(load.draft.shape, own)
        problem = "" if refused is None else refused.text
    if problem:
        return DraftUse(name=name, problem=problem)
    memory = memory_plan(load.draft, own, machine)
    growth = [0.0] * len(memory.devices)
    for cache in memory.caches:
        for layer in cache.layers if cache.grows else ():
            row = (layer.k_row_bytes + layer.v_row_bytes) / cache.tokens_per_cell
            growth[memory.placement.layers[layer.layer]] += row
    mask = settings.prompt_tokens * (2 if settings.flash_attention else 4)
    growth = [size + mask if size else 0.0 for size in growth]
    used = memory.devices
    return DraftUse(
        name=name,
        # What a driver takes was counted with the model itself.
        by_device=tuple(
            item.total_bytes - item.device.overhead_bytes if item.weights_bytes else 0
            for item in used
        ),
        growth=tuple(growth),
        weights_bytes=sum(item.weights_bytes for item in used),
        cache_bytes=memory.kv_bytes + memory.state_bytes,
        compute_bytes=sum(item.compute_bytes for item in used),
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
    places = placement.layers if offload else (CPU,) * len(placement.layers)
    alignments = [device.alignment for device in devices]
    for cache in caches:
        known: dict[tuple[int, int, int], int] = {}  # most layers are of one size
        for layer in cache.layers:
            index = places[layer.layer]
            kind = layer.k_row_bytes, layer.v_row_bytes, alignments[index]
            size = known.get(kind)
            if size is None:
                size = known[kind] = cache.layer_bytes(layer, alignments[index])
            kv[index] += size
    for item in states:
        index = places[item.layer]
        state[index] += item.size_bytes(alignments[index])
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


@kept_with_header(4)
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
