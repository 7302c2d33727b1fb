"""Compute buffers by device, and how far they can be trusted.

Follows ``sched_reserve`` in src/llama-context.cpp and ``ggml_backend_sched_split_graph`` in
ggml/src/ggml-backend.cpp: nodes run where their weights lie, and what crosses from one device to
another is copied when the run of nodes that needs it begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from gguf_tools.compute.build import build_graph
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
_growths: Final[KeptResults[Growth]] = KeptResults(32)


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
    layers, signature = _kept_layers(header, shape, placement.layers)
    key = (shape, settings, signature, alignments, batches)
    found = _cache.get(header, key)
    if found is None:
        alike = (shape, *_but_context(shape, settings), signature, alignments, batches)
        try:
            sizes = _sizes(alike, header, shape, settings, placement, alignments, layers, batches)
            found = ComputeUse(sizes, trust_of(shape))
        except (KeyError, ZeroDivisionError, IndexError, ValueError):
            # The file lacks what its architecture needs; a sum of the largest parts must do.
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
        kv.context <= window,
    )


def _sizes(
    alike: tuple[object, ...],
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    placement: Placement,
    alignments: tuple[int, ...],
    layers: tuple[int, ...],
    batches: int,
) -> tuple[int, ...]:
    """Return the buffers' bytes; ``alike`` is the key of settings that differ by the context."""
    cells = settings.kv.context
    growth = _growths.get(header, alike)
    sizes = None if growth is None else growth.at(cells)
    if sizes is not None:
        return sizes
    graph = build_graph(header, shape, settings, layers)
    if growth is not None:
        return growth.learn(cells, graph)
    growth = Growth(cells, graph, alignments, placement.layers, copies=batches)
    if shape.architecture not in _IN_STEPS:
        _growths.put(header, alike, growth)
    return growth.first


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


def _kept_layers(
    header: Header, shape: Hyperparameters, layers: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """Return layers that stand for all: the ends on each device, and kinds of neighbours.

    Args:
        header: the model.
        shape: its hyperparameters.
        layers: device of each layer, the output last.

    Returns:
        The layers, and what tells them from other choices: with the same, buffers are the same.
    """
    more = _MORE if shape.architecture in RECURRENT | HYBRID else 0
    few_of_each = (_DIVIDED if any(layers) and not more else _ALONE) + more
    if shape.layers <= 2 * few_of_each or shape.architecture in _EACH_COUNTS or shape.loops > 1:
        return tuple(range(shape.layers)), layers
    return _few_of_each_kind(_kinds(header, shape), layers, few_of_each)


# Not by header: a slider asks for a hundred placements of one model, and a list of variants for
# dozens of models, whose headers would all be held.
@lru_cache(maxsize=1024)
def _few_of_each_kind(
    kinds: tuple[int, ...], layers: tuple[int, ...], few_of_each: int
) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """Return what `_kept_layers` does, for kinds of layers and the device of each."""
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
        # Results of neighbouring layers change places: the number must stay odd or even.
        if (end - start - len(few)) % 2:
            few.add(next(layer for layer in range(start, end) if layer not in few))
        kept |= few
        start = end
    chosen = tuple(sorted(kept))
    return chosen, (layers[-1], *((kinds[layer], layers[layer]) for layer in chosen))


@kept_with_header(4)
def _kinds(header: Header, shape: Hyperparameters) -> tuple[int, ...]:
    """Return a number for each layer that tells kinds of layers apart."""
    names: list[list[tuple[str, tuple[int, ...]]]] = [[] for _ in range(shape.layers)]
    for tensor in header.tensors.values():
        head, _, rest = tensor.name.removeprefix("dec.").partition(".")
        block, _, name = rest.partition(".")
        if head == "blk" and block.isdigit() and int(block) < shape.layers:
            names[int(block)].append((name, tensor.shape))
    numbers: dict[object, int] = {}
    kinds = []
    for layer in range(shape.layers):
        key = (
            tuple(sorted(names[layer])),
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
