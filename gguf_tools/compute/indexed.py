"""Sparse attention: an indexer scores all cells, and attention sees the best of them.

Follows src/models/deepseek32.cpp, glm-dsa.cpp, dots3note.cpp and hy-v4.cpp, and ``build_attn`` for
DSA caches in src/llama-graph.cpp. Residual streams side by side (hyper-connections) follow
hy-v4.cpp; attention to blocks of cells is in `blocks`.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.compute.attention import rotate_rows, store
from gguf_tools.compute.blocks import attend_blocks
from gguf_tools.compute.context import CacheInputs, GraphContext
from gguf_tools.compute.graph import ANYWHERE, Node
from gguf_tools.compute.latent import attend_latent, latent_parts
from gguf_tools.compute.traits import Traits
from gguf_tools.compute.transformer import feed_forward, finish, pick_outputs

__all__ = ["INDEXED", "build_indexed"]

INDEXED: Final = frozenset({"deepseek32", "glm-dsa", "dots3note", "hy_v4", "minimax-m3"})


def build_indexed(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of a model with an indexer."""
    graph, shape = context.graph, context.shape
    x = context.embedded()
    streams = max(shape.residual_streams, 1)
    width = shape.embedding_length
    if streams > 1:
        x = graph.make((width, streams, context.tokens), x)
    chosen: list[Node] = []
    for layer in layers:
        graph.owner = layer
        last = layer == layers[-1]
        if streams > 1:
            x = _streamed(context, layer, x, chosen, traits)
            continue
        normed = graph.inplace(x, weights=True)
        attended = _attention(context, layer, normed, chosen, traits)
        if last:
            attended, x = pick_outputs(context, attended), pick_outputs(context, x)
        middle = graph.inplace(attended, x)
        normed = graph.inplace(middle, weights=True)
        x = graph.inplace(feed_forward(context, layer, normed, traits), middle)
    if streams > 1:
        flat = graph.view(x, width * streams, context.tokens)
        picked = graph.view(pick_outputs(context, flat), width, streams, context.outputs)
        graph.owner = shape.layers_all
        x, _, _ = _enter(context, picked, head=True)
    finish(context, x, traits)


def _streamed(
    context: GraphContext, layer: int, x: Node, chosen: list[Node], traits: Traits
) -> Node:
    graph = context.graph
    current, mixes, copy = _enter(context, x)
    normed = graph.inplace(current, weights=True)
    out = _attention(context, layer, normed, chosen, traits)
    x = _leave(context, x, out, mixes, copy)
    current, mixes, copy = _enter(context, x)
    out = feed_forward(context, layer, graph.inplace(current, weights=True), traits)
    return _leave(context, x, out, mixes, copy)


def _enter(context: GraphContext, x: Node, *, head: bool = False) -> tuple[Node, Node, Node]:
    """Return the weighted sum of the streams, the weights, and the copy it was read from."""
    graph = context.graph
    width, streams, tokens = x.ne
    copy = graph.make(x.ne, x)
    normed = graph.inplace(graph.view(x, width * streams, tokens))
    mixes = graph.matmul(streams if head else 2 * streams, normed)
    if head:
        gate = graph.inplace(mixes, weights=True)
    else:
        gate = graph.inplace(_opened(context, mixes, streams))
    total = None
    for _ in range(streams):
        part = graph.inplace(graph.view(copy, width, tokens), graph.view(gate, 1, tokens))
        total = part if total is None else graph.inplace(total, part)
    assert total is not None
    return graph.make((width, tokens), total), mixes, copy


def _opened(context: GraphContext, mixes: Node, streams: int) -> Node:
    """Return a part of the mixing weights, scaled and shifted by views of learned values."""
    graph = context.graph
    part = graph.view(mixes, streams, mixes.ne[1])
    part = graph.inplace(part, graph.outside(graph.owner, 4))
    return graph.inplace(part, graph.outside(graph.owner, 4 * streams))


def _leave(context: GraphContext, x: Node, out: Node, mixes: Node, _copy: Node) -> Node:
    """Return the streams with a layer's output added to each, joined one after another."""
    graph = context.graph
    width, streams, tokens = x.ne
    base = graph.make(x.ne, x)
    out = graph.make(out.ne, out)
    gate = graph.make((streams, tokens), _opened(context, mixes, streams))
    joined: Node | None = None
    for index in range(streams):
        part = graph.inplace(out, graph.view(gate, 1, tokens))
        summed = graph.inplace(graph.view(base, width, tokens), part)
        seen = graph.view(summed, width, 1, tokens)
        joined = seen if joined is None else graph.make((width, index + 1, tokens), joined, seen)
    assert joined is not None
    return graph.make(x.ne, joined)


def _attention(
    context: GraphContext, layer: int, x: Node, chosen: list[Node], traits: Traits
) -> Node:
    graph, shape = context.graph, context.shape
    if shape.architecture == "minimax-m3":
        return attend_blocks(context, layer, x, traits)
    cache = context.layer_cache(layer)
    full = bool(shape.indexer_full) and shape.indexer_full[layer]
    keys = _index_keys(context, layer, x) if full else None
    parts = latent_parts(context, layer, x)
    graph.expand(parts.query, parts.latent, parts.key)
    store(context, layer, cache, parts.key, None)
    mask = cache.mask
    if keys is not None or (chosen and not shape.sliding[layer]):
        mask = _chosen_mask(context, layer, x, parts.low_query, cache, chosen, index=full)
    out = attend_latent(context, layer, parts, mask)
    if context.has(layer, "attn_gate"):
        rows = context.rows(layer, "attn_gate")
        gate = graph.inplace(graph.matmul(rows, x))
        heads = shape.heads[layer]
        if rows == heads:
            split = graph.view(out, out.ne[0] // heads, heads, context.tokens)
            gated = graph.inplace(split, graph.view(gate, 1, heads, context.tokens))
            out = graph.view(gated, *out.ne)
        else:
            out = graph.inplace(out, gate)
    return graph.matmul(context.rows(layer, "attn_output"), out)


def _index_keys(context: GraphContext, layer: int, x: Node) -> CacheInputs:
    """Store the indexer's keys of a layer in its cache and return the cache."""
    graph, shape = context.graph, context.shape
    length = shape.indexer_key_length
    cache = _index_cache(context)
    key = graph.matmul(length, x)
    key = graph.view(graph.make(key.ne, key, weights=True), length, 1, context.tokens)
    key = rotate_rows(context, graph.inplace(key, context.positions), cache.k_rotation)
    store(context, layer, cache, key, None)
    return cache


def _index_cache(context: GraphContext) -> CacheInputs:
    cache = context.cache("indexer", context.settings.kv.context)
    if context.shape.architecture == "hy_v4":
        cache.k_rotation = None
    elif cache.k_rotation is None:
        size = 64
        while context.shape.indexer_key_length % (size * 2) == 0:
            size *= 2
        cache.k_rotation = context.graph.leaf(size, size)
    return cache


def _chosen_mask(
    context: GraphContext,
    layer: int,
    x: Node,
    low_query: Node,
    cache: CacheInputs,
    chosen: list[Node],
    *,
    index: bool,
) -> Node:
    """Return the mask that leaves only the chosen cells; layers without indexer reuse a choice."""
    graph, shape = context.graph, context.shape
    streams = cache.streams
    each = context.tokens // streams
    top = min(shape.indexer_top_k, cache.cells)
    if index:
        indexer = _index_cache(context)
        length, heads = shape.indexer_key_length, shape.indexer_heads
        query = graph.view(graph.matmul(heads * length, low_query), length, heads, context.tokens)
        query = rotate_rows(context, graph.inplace(query, context.positions), indexer.k_rotation)
        weights = graph.matmul(heads, x)
        weights = graph.inplace(graph.view(weights, heads, each, 1, streams))
        seen = graph.view(query, length, heads, each, streams)
        row = context.settings.kv.type_k.row_bytes(length)
        keys = graph.outside(context.cache_place(layer), row * cache.cells * streams)
        scores = graph.make((cache.cells, each, 1, streams), seen, keys, weights, indexer.mask)
        best = graph.make((top, each, 1, streams), scores)
        chosen[:] = [graph.make(best.ne, best)]
    zeros = graph.inplace(graph.leaf(1, top, each, streams, place=ANYWHERE))
    mask = graph.make(cache.mask.ne, cache.mask, unit=cache.mask.unit)
    struck = Node(mask.ne, (zeros, chosen[0], mask), unit=mask.unit, root=mask)
    return graph.inplace(struck, cache.mask)
