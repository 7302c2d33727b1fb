"""Compute buffers by device, and how far they can be trusted.

Follows ``sched_reserve`` in src/llama-context.cpp and ``ggml_backend_sched_split_graph`` in
ggml/src/ggml-backend.cpp: nodes run where their weights lie, and what crosses from one device to
another is copied when the run of nodes that needs it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, Literal, TypeAlias

from gguf_tools.compute.build import build_graph
from gguf_tools.compute.graph import Graph
from gguf_tools.compute.growth import ENDLESS_CELLS, Growth
from gguf_tools.compute.indexed import INDEXED
from gguf_tools.compute.kept_layers import KeptLayers, kept_layers
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import HYBRID, RECURRENT
from gguf_tools.kept import KeptResults
from gguf_tools.placement import Placement
from gguf_tools.settings import EngineSettings

__all__ = ["ComputeUse", "Trust", "compute_by_device", "trust_of"]

Trust: TypeAlias = Literal["exact", "close", "rough"]

_ROUGH: Final = frozenset({"qwen4exp", "glm5-next"})
_CLOSE: Final = INDEXED | HYBRID | RECURRENT | {"t5", "t5encoder"}
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
    kept = kept_layers(header, shape, settings, placement.layers, len(alignments))
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
        _within_window(shape, settings),
    )


def _within_window(shape: Hyperparameters, settings: EngineSettings) -> bool:
    """Tell whether caches of sliding layers grow as well: up to a window's length they do."""
    kv = settings.kv
    window = shape.window * (kv.sequences if kv.unified else 1) + kv.ubatch
    return shape.swa_kind != "none" and kv.context <= window


def _sizes(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    kept: KeptLayers,
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
        found = kept.layers, _growth(header, shape, settings, kept.layers, alignments, batches)
        if shape.architecture not in _IN_STEPS:
            _growths.put(header, alike, found)
    built, growth = found
    devices = kept.spread(built, shape.layers_all)
    sizes = growth.at(cells, devices)
    if sizes is None:
        sizes = growth.learn(cells, _graph(header, shape, settings, built), devices)
    return sizes


def _growth(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    layers: tuple[int, ...],
    alignments: tuple[int, ...],
    batches: int,
) -> Growth:
    """Return the growth of a way of loading; where it is even, one graph tells all of it."""
    if shape.architecture not in _IN_STEPS and not _within_window(shape, settings):
        longest = replace(
            settings,
            context=ENDLESS_CELLS,
            context_sequence=ENDLESS_CELLS,
            ubatch=settings.prompt_tokens,  # a short context shortens the prompt
            kv=replace(settings.kv, context=ENDLESS_CELLS),
        )
        growth = Growth.endless(_graph(header, shape, longest, layers), alignments, copies=batches)
        if growth is not None:
            return growth
    graph = _graph(header, shape, settings, layers)
    return Growth(settings.kv.context, graph, alignments, copies=batches)


class _NoGraphError(ValueError):
    """The file lacks what its architecture needs."""


def _graph(
    header: Header, shape: Hyperparameters, settings: EngineSettings, layers: tuple[int, ...]
) -> Graph:
    try:
        return build_graph(header, shape, settings, layers)
    except (KeyError, ZeroDivisionError, IndexError, ValueError) as error:
        raise _NoGraphError from error


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
