"""DeepSeek 4: residual streams, a raw window of keys and compressed ones before it.

Follows src/models/deepseek4.cpp. Every layer attends to the last tokens; some add keys that stand
for four tokens each, of which an indexer chooses, others keys that stand for 128.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gguf_tools.compute.attention import multi_head, rotate_rows
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.graph import ANYWHERE, Node
from gguf_tools.compute.traits import Traits
from gguf_tools.compute.transformer import feed_forward, finish, pick_outputs
from gguf_tools.units import ceil_div, round_up

__all__ = ["build_compressed"]

_CHOSEN: Final = 4  # tokens that a key stands for where an indexer chooses
_WIDE: Final = 128


@dataclass(frozen=True, slots=True)
class _Compressor:
    """One way of compressing keys: its name, tensors, key length and tokens a key."""

    name: str
    tensors: str
    length: int
    tokens: int
    cells: int

    @property
    def overlaps(self) -> bool:
        """Tell whether a key is made from its own tokens and those before."""
        return self.tokens == _CHOSEN

    @property
    def width(self) -> int:
        """Return the elements of a row of state."""
        return self.length * (2 if self.overlaps else 1)

    @property
    def rows(self) -> int:
        """Return the tokens that a key is made from, which a state holds."""
        return self.tokens * (2 if self.overlaps else 1)


def build_compressed(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of a model with compressed keys."""
    graph, shape = context.graph, context.shape
    width, streams = shape.embedding_length, shape.residual_streams
    x = graph.make((width, streams, context.tokens), context.embedded())
    for layer in layers:
        graph.owner = layer
        mixes = _mixes(context, x)
        normed = graph.inplace(_entered(context, x, mixes), weights=True)
        out = _attention(context, layer, normed)
        x = graph.make(x.ne, out, x, *_leaving(context, mixes))
        mixes = _mixes(context, x)
        graph.expand(x)
        leaving = _leaving(context, mixes)
        graph.expand(*leaving)
        normed = graph.inplace(_entered(context, x, mixes), weights=True)
        out = feed_forward(context, layer, normed, traits)
        x = graph.make(x.ne, out, x, *leaving)
    graph.owner = shape.layers_all
    flat = pick_outputs(context, graph.view(x, width * streams, context.tokens))
    mixes = graph.matmul(streams, graph.inplace(graph.view(flat, width * streams, flat.ne[1])))
    gate = graph.inplace(mixes, weights=True)
    total: Node | None = None
    for _ in range(streams):
        part = graph.view(flat, width, flat.ne[1])
        part = graph.inplace(part, graph.view(gate, 1, flat.ne[1]))
        total = part if total is None else graph.inplace(total, part)
    assert total is not None
    finish(context, total, traits)


# --- residual streams


def _mixes(context: GraphContext, x: Node) -> Node:
    graph = context.graph
    width, streams, tokens = x.ne
    normed = graph.inplace(graph.view(x, width * streams, tokens))
    return graph.matmul(streams * (streams + 2), normed)


def _gate(context: GraphContext, mixes: Node) -> Node:
    """Return a part of the mixing weights, scaled and shifted by views of learned values."""
    graph, streams = context.graph, context.shape.residual_streams
    part = graph.view(mixes, streams, mixes.ne[1])
    part = graph.inplace(part, graph.outside(graph.owner, 4))
    return graph.inplace(part, graph.outside(graph.owner, 4 * streams))


def _entered(context: GraphContext, x: Node, mixes: Node) -> Node:
    return context.graph.make((x.ne[0], x.ne[2]), x, _gate(context, mixes))


def _leaving(context: GraphContext, mixes: Node) -> tuple[Node, Node]:
    streams = context.shape.residual_streams
    gate = _gate(context, mixes)
    return gate, context.graph.make((streams, streams, mixes.ne[1]), mixes, weights=True)


# --- attention


def _attention(context: GraphContext, layer: int, x: Node) -> Node:
    graph, shape = context.graph, context.shape
    heads, head, tokens = shape.heads[layer], shape.head_k(layer), context.tokens
    ratio = shape.compress_ratios[layer]
    kinds = _compressors(context, ratio, head)
    for kind in kinds:
        _compress(context, layer, kind, x)
    low = graph.matmul(context.rows(layer, "attn_q_a"), x)
    low = graph.inplace(low, weights=True)
    q = graph.view(graph.matmul(heads * head, low), head, heads, tokens)
    q = graph.inplace(graph.inplace(q), context.positions)
    kv = graph.inplace(graph.matmul(head, x), weights=True)
    kv = graph.inplace(graph.view(kv, head, 1, tokens), context.positions)
    raw = context.layer_cache(layer)
    q = rotate_rows(context, q, raw.k_rotation)
    kv = rotate_rows(context, kv, raw.k_rotation)
    graph.expand(q, kv)
    graph.write(context.cache_place(layer), graph.view(kv, head, tokens), raw.k_indices)
    row = context.settings.kv.type_k.row_bytes(head)
    place = context.cache_place(layer)
    window = graph.outside(place, row * raw.cells * raw.streams)
    cells, mask, keys = raw.cells, raw.mask, window
    if kinds:
        more = kinds[0].cells
        cells += more
        compressed = graph.outside(place, row * more * raw.streams)
        keys = graph.make((row * cells * raw.streams,), window, compressed, unit=1)
        added = (
            _chosen(context, layer, kinds[1], x, low)
            if ratio == _CHOSEN
            else _mask(context, "hca", more)
        )
        each, streams = tokens // raw.streams, raw.streams
        mask = graph.make((cells, each, 1, streams), raw.mask, added, unit=raw.mask.unit)
        keys = graph.view(keys, *keys.ne)
    out = multi_head(
        context, q, cells, raw.streams, mask, head, cached=(keys, keys), turned_heads=1
    )
    out = rotate_rows(context, out, raw.k_rotation)
    out = graph.inplace(graph.view(out, head, heads, tokens), context.positions)
    joint = context.tensor(layer, "attn_output_a")
    part = graph.view(out, joint.extent(0), tokens, joint.extent(2))
    part = graph.make((joint.extent(1), tokens, joint.extent(2)), part, weights=True)
    part = graph.make((joint.extent(1) * joint.extent(2), tokens), part)
    return graph.matmul(context.rows(layer, "attn_output_b"), part)


def _compressors(context: GraphContext, ratio: int, head: int) -> tuple[_Compressor, ...]:
    def cells(tokens: int) -> int:
        return round_up(max(1, ceil_div(context.settings.kv.context, tokens)), 256)

    if ratio == _CHOSEN:
        length = context.shape.indexer_key_length
        return (
            _Compressor("csa", "attn_compressor", head, _CHOSEN, cells(_CHOSEN)),
            _Compressor("lid", "indexer_compressor", length, _CHOSEN, cells(_CHOSEN)),
        )
    if ratio == _WIDE:
        return (_Compressor("hca", "attn_compressor", head, _WIDE, cells(_WIDE)),)
    return ()


def _compress(context: GraphContext, layer: int, kind: _Compressor, x: Node) -> None:
    """Add new compressed keys to their cache, and what is not yet compressed to the state."""
    graph = context.graph
    sequences, tokens = context.sequences, context.tokens
    made = tokens // kind.tokens + sequences
    place = context.cache_place(layer)

    def leaf(name: str, count: int, unit: int = 4) -> Node:
        return context.input(f"{kind.name}_{name}", count, unit=unit)

    def gathered(rows: Node) -> Node:
        held = kind.rows * sequences
        state = graph.outside(place, 4 * kind.width * held)
        joined = graph.make((kind.width, held + tokens), state, rows)
        if kind.overlaps:
            empty = graph.inplace(graph.view(joined, kind.width))
            longer = (kind.width, held + tokens + 1)
            joined = graph.make(longer, joined, graph.view(empty, kind.width))
        reads = leaf("reads", kind.rows * made)
        picked = graph.make((kind.width, kind.rows * made), joined, reads)
        if kind.overlaps:
            halves = [
                graph.make((kind.length, kind.tokens * made), graph.view(picked, kind.length, 1))
                for _ in range(2)
            ]
            shown = [graph.view(half, kind.length, kind.tokens, made) for half in halves]
            picked = graph.make((kind.length, kind.rows, made), *shown)
        return graph.make(
            (kind.rows, kind.length, made), graph.view(picked, kind.rows, kind.length, made)
        )

    rows = graph.matmul(kind.width, x)
    keys = gathered(rows)
    gate = graph.matmul(kind.width, x)
    shift = graph.make((kind.width, tokens), leaf("places", tokens), weights=True)
    scores = graph.inplace(gate, shift)
    weighted = graph.inplace(keys, graph.inplace(gathered(scores)))
    key = graph.make((1, kind.length, made), weighted)
    key = graph.make((kind.length, 1, made), graph.view(key, kind.length, 1, made))
    key = graph.inplace(graph.inplace(key, weights=True), leaf("positions", made))
    rotation = _rotation(context, kind)
    if rotation is not None:
        flat = graph.view(key, rotation.ne[0], kind.length * made // rotation.ne[0])
        key = graph.make(flat.ne, rotation, flat)
    graph.write(place, graph.view(key, kind.length, made), leaf("writes", made, 8))
    held = kind.rows * sequences
    for source in (rows, scores):
        kept = graph.make((kind.width, held), source, leaf("kept", held))
        graph.write(place, kept, leaf("kept_at", held))


def _rotation(context: GraphContext, kind: _Compressor) -> Node | None:
    """Return the matrix that keys are turned with: always for an indexer, else if quantised."""
    turned = kind.name == "lid" or context.settings.kv.type_k.quantized
    if not turned or kind.length % 64:
        return None
    size = 64
    while kind.length % (size * 2) == 0:
        size *= 2
    return context.input(f"{kind.name}_rotation", size, size)


def _mask(context: GraphContext, name: str, cells: int) -> Node:
    """Return the mask of a compressed cache."""
    streams = context.sequences
    half = context.settings.flash_attention or name == "lid"
    ne = (cells, context.tokens // streams, 1, streams)
    return context.input(f"{name}_mask", *ne, unit=2 if half else 4)


def _chosen(context: GraphContext, layer: int, kind: _Compressor, x: Node, low: Node) -> Node:
    """Return the mask of compressed keys that the indexer chose."""
    graph, shape = context.graph, context.shape
    streams = context.sequences
    each, heads, length = context.tokens // streams, shape.indexer_heads, kind.length
    best = min(shape.indexer_top_k, kind.cells)
    mask = _mask(context, "csa", kind.cells)
    empty = graph.inplace(graph.leaf(1, best, each, streams, unit=mask.unit, place=ANYWHERE))
    query = graph.view(graph.matmul(heads * length, low), length, heads, context.tokens)
    query = graph.inplace(query, context.positions)
    query = rotate_rows(context, query, _rotation(context, kind))
    weights = graph.inplace(graph.matmul(heads, x))
    row = context.settings.kv.type_k.row_bytes(length)
    keys = graph.outside(context.cache_place(layer), row * kind.cells * streams)
    scores = graph.make(
        (kind.cells, each, 1, streams),
        graph.view(query, length, heads, each, streams),
        keys,
        graph.view(weights, heads, each, 1, streams),
        _mask(context, "lid", kind.cells),
    )
    order = graph.make((best, each, 1, streams), scores)
    order = graph.make(order.ne, order)
    struck = graph.make(mask.ne, mask, unit=mask.unit)
    shown = graph.view(struck, 1, kind.cells, each, streams)
    sources = (empty, graph.view(order, best, each, streams), shown)
    struck = Node(mask.ne, sources, unit=mask.unit, root=struck)
    return graph.inplace(graph.view(struck, *mask.ne), mask)
