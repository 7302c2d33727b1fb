"""Compute buffers by device, and how far they can be trusted.

Follows ``sched_reserve`` in src/llama-context.cpp and ``ggml_backend_sched_split_graph`` in
ggml/src/ggml-backend.cpp: nodes run where their weights lie, and what crosses from one device to
another is copied when the run of nodes that needs it begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Final, Literal, TypeAlias

from gguf_tools.compute.build import build_graph
from gguf_tools.compute.graph import Graph
from gguf_tools.compute.growth import Growth
from gguf_tools.compute.indexed import INDEXED
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import HYBRID, RECURRENT
from gguf_tools.kept import KeptResults, kept_with_header
from gguf_tools.placement import Placement
from gguf_tools.settings import EngineSettings

__all__ = ["ComputeUse", "Trust", "compute_by_device", "trust_of"]

Trust: TypeAlias = Literal["exact", "close", "rough"]

_ROUGH: Final = frozenset({"qwen4exp", "glm5-next"})
_CLOSE: Final = INDEXED | HYBRID | RECURRENT | {"t5", "t5encoder"}
_EACH_COUNTS: Final = INDEXED | {
    "falcon-h1",
    "gemma3n",
    "gemma4",
    "kimi-k3",
    "nemotron_h",
    "nemotron_h_moe",
    "rwkv6",
    "rwkv6qwen2",
    "rwkv7",
    "arwkv7",
}
"""Architectures of which no layer can be left out: each has an input or a pattern of its own."""
_IN_STEPS: Final = INDEXED | {"deepseek4"}
"""Architectures whose results grow in steps of many cells, or only up to a number of them."""
MARGINS: Final[dict[Trust, float]] = {"exact": 0.01, "close": 0.15, "rough": 1.0}
"""By how much of itself a figure may be wrong."""


@dataclass(frozen=True, slots=True)
class ComputeUse:
    """Bytes of compute buffers by device, index 0 the CPU, and how far they can be trusted."""

    by_device: tuple[int, ...]
    trust: Trust


def trust_of(shape: Hyperparameters) -> Trust:
    """Return how exact the replayed graph of an architecture is."""
    if shape.architecture in _ROUGH or not shape.known:
        return "rough"
    return "close" if shape.architecture in _CLOSE else "exact"


# A slider asks for the same few again and again.
_cache: Final[KeptResults[ComputeUse]] = KeptResults(128)
_growths: Final[KeptResults[tuple[tuple[int, ...], Growth]]] = KeptResults(8)
_growing: Final = Lock()
"""Graphs that are kept bear the notes of whoever works through them."""


def compute_by_device(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    placement: Placement,
    alignments: tuple[int, ...],
    *,
    batches: int = 1,
) -> ComputeUse:
    """Return the compute buffers that the engine reserves.

    Args:
        header: the model.
        shape: its hyperparameters.
        settings: as the engine takes them.
        placement: where layers lie.
        alignments: of each device's buffers, the CPU first.
        batches: how many are under way at once on devices that work in turn.
    """
    kept = _kept_layers(header, shape, settings, placement.layers, len(alignments))
    key = (shape, settings, kept.kinds, kept.devices, alignments, batches)
    found = _cache.get(header, key)
    if found is None:
        try:
            with _growing:
                sizes = _sizes(header, shape, settings, kept, alignments, batches)
            found = ComputeUse(sizes, trust_of(shape))
        except _NoGraphError:  # a sum of the largest parts must do
            drivers = _drivers(header, shape, settings, placement, alignments)
            found = ComputeUse(drivers, "rough")
        _cache.put(header, key, found)
    return found


def _but_context(shape: Hyperparameters, settings: EngineSettings) -> tuple[object, ...]:
    """Return all that a graph depends on but the length of the context."""
    kv = settings.kv
    window = shape.window * (kv.sequences if kv.unified else 1) + kv.ubatch
    return (
        settings.prompt_tokens,
        settings.outputs,
        settings.sequences,
        settings.streams,
        settings.flash_attention,
        settings.offload_kv,
        settings.experts_on_cpu,
        kv.ubatch,
        kv.unified,
        kv.swa_full,
        kv.type_k,
        kv.type_v,
        # Up to a window's length the caches of sliding layers grow as well.
        shape.swa_kind != "none" and kv.context <= window,
    )


def _sizes(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    kept: _Kept,
    alignments: tuple[int, ...],
    batches: int,
) -> tuple[int, ...]:
    """Return the buffers' bytes; settings that differ by context and placement share a graph.

    Raises:
        _NoGraphError: there is none for what the file says.
    """
    cells = settings.kv.context
    alike = (shape, *_but_context(shape, settings), kept.kinds, alignments, batches)
    found = _growths.get(header, alike)
    if found is None:
        graph = _graph(header, shape, settings, kept.layers)
        found = kept.layers, Growth(cells, graph, alignments, copies=batches)
        if shape.architecture not in _IN_STEPS:
            _growths.put(header, alike, found)
    built, growth = found
    devices = _spread(built, kept.devices, shape.layers_all)
    sizes = growth.at(cells, devices)
    if sizes is None:
        sizes = growth.learn(cells, _graph(header, shape, settings, built), devices)
    return sizes


class _NoGraphError(ValueError):
    """The file lacks what its architecture needs."""


def _graph(
    header: Header, shape: Hyperparameters, settings: EngineSettings, layers: tuple[int, ...]
) -> Graph:
    try:
        return build_graph(header, shape, settings, layers)
    except (KeyError, ZeroDivisionError, IndexError, ValueError) as error:
        raise _NoGraphError from error


def _spread(built: tuple[int, ...], devices: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the device of each of ``count`` layers and the output.

    Layers that are left out of the graph, which has ``built``, lie where the one before does.
    """
    spread: list[int] = []
    for layer, end, device in zip(built, (*built[1:], count), devices, strict=False):
        spread += [device] * (end - layer)
    return (*spread, devices[-1])


def _drivers(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    placement: Placement,
    alignments: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the largest parts summed: logits, masks, scores, feed-forward, embeddings."""
    tokens = settings.prompt_tokens
    table = header.tensors.get("token_embd.weight")
    vocabulary = table.extent(1) if table is not None else 0
    cells = settings.kv.context
    logits = 4 * vocabulary * min(tokens, settings.outputs)
    mask = cells * tokens * (2 if settings.flash_attention else 4)
    scores = 0 if settings.flash_attention else 4 * cells * tokens * max(shape.heads, default=0)
    widths = (*shape.feed_forward, *shape.expert_feed_forward)
    total = logits + mask + scores + 4 * tokens * (4 * shape.embedding_length + 3 * max(widths))
    sizes = [0] * len(alignments)
    sizes[placement.output] = total
    return tuple(sizes)


# --- fewer layers: the allocator comes to rest after a few of a kind

_ALONE: Final = 3
_DIVIDED: Final = 2
_MORE: Final = 3
"""How many layers are kept of each end and each kind: on one device, on each of several, and more
for layers with a state, whose results cross from one layer to the next."""
_PAIR: Final = 2
_CYCLE: Final = 6
"""Results of neighbouring layers change places in the buffer, by twos; where the logits of a whole
batch follow, which take what is free then, also by threes. Whole cycles are left out."""
_SHARED: Final = 12
"""Layers of the one graph that serves every placement over two devices if all layers are alike, one
more for an odd number: the ends and pairs of both need no more."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Layers that stand for all, with a number for the kind of each and its device.

    ``devices`` end with the output's. With the same kinds graphs are the same, and with the same
    devices buffers are.
    """

    layers: tuple[int, ...]
    kinds: tuple[int, ...]
    devices: tuple[int, ...]


def _kept_layers(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    layers: tuple[int, ...],
    devices: int,
) -> _Kept:
    """Return layers that stand for all: the ends on each device, and kinds of neighbours.

    Args:
        header: the model.
        shape: its hyperparameters.
        settings: as the engine takes them.
        layers: device of each layer, the output last.
        devices: how many devices there are.
    """
    more = _MORE if shape.architecture in RECURRENT | HYBRID else 0
    few_of_each = (_DIVIDED if any(layers) and not more else _ALONE) + more
    if shape.layers <= 2 * few_of_each or shape.architecture in _EACH_COUNTS or shape.loops > 1:
        every = tuple(range(shape.layers))
        return _Kept(every, every, layers)
    kinds = _kinds(header, shape)
    alike = len(set(kinds)) == 1
    logits = settings.outputs >= settings.prompt_tokens
    cycle = _CYCLE if alike and logits else _PAIR
    shared = _SHARED + len(kinds) % _PAIR if alike and devices > 1 and not logits else 0
    return _few_of_each_kind(kinds, layers, few_of_each, cycle, shared)


# Not by header: a slider asks for a hundred placements of one model, and a list of variants for
# dozens of models, whose headers would all be held.
@lru_cache(maxsize=1024)
def _few_of_each_kind(
    kinds: tuple[int, ...],
    layers: tuple[int, ...],
    few_of_each: int,
    cycle: int,
    least: int,
) -> _Kept:
    """Return what `_kept_layers` does.

    Args:
        kinds: of each layer.
        layers: device of each layer, the output last.
        few_of_each: layers that are kept of each end and each kind.
        cycle: of layers on the output's device so many are left out, or a multiple.
        least: layers that are kept at least, if there are so many.
    """
    count = len(kinds)
    kept: set[int] = set()
    seen: dict[tuple[int, int, int], int] = {}
    start = 0
    for end in range(1, count + 1):
        if end < count and layers[end] == layers[start]:
            continue
        few = {
            *range(start, min(start + few_of_each, end)),
            *range(max(end - few_of_each, start), end),
        }
        for layer in range(start + 1, end):
            pair = (layers[start], kinds[layer - 1], kinds[layer])
            times = seen.get(pair, 0)
            if times < few_of_each:
                seen[pair] = times + 1
                few |= {layer - 1, layer}
        spare = [layer for layer in range(start, end) if layer not in few]
        few.update(spare[: len(spare) % (cycle if end == count else _PAIR)])
        kept |= few
        start = end
    spare = [layer for layer in range(count) if layer not in kept]
    kept.update(spare[: max(least - len(kept), 0)])
    chosen = tuple(sorted(kept))
    return _Kept(
        chosen,
        tuple(kinds[layer] for layer in chosen),
        (*(layers[layer] for layer in chosen), layers[-1]),
    )


@kept_with_header(4)
def _kinds(header: Header, shape: Hyperparameters) -> tuple[int, ...]:
    """Return a number for each layer that tells kinds of layers apart."""
    names: list[set[tuple[str, tuple[int, ...]]]] = [set() for _ in range(shape.layers)]
    for tensor in header.tensors.values():
        head, _, rest = tensor.name.removeprefix("dec.").partition(".")
        block, _, name = rest.partition(".")
        if head == "blk" and block.isdigit() and int(block) < shape.layers:
            names[int(block)].add((name, tensor.shape))
    numbers: dict[object, int] = {}
    kinds = []
    for layer in range(shape.layers):
        key = (
            frozenset(names[layer]),
            shape.sliding[layer],
            shape.recurrent[layer],
            layer in shape.deepstack,
            shape.heads[layer],
            shape.kv_heads[layer],
            layer % 4 if shape.architecture in {"smollm3", "llama4", "afmoe"} else 0,
            layer % shape.expert_step if shape.expert_step > 1 else 0,
        )
        kinds.append(numbers.setdefault(key, len(numbers)))
    return tuple(kinds)
