"""Attention to chosen blocks of cells (MiniMax M3).

Follows src/models/minimax-m3.cpp: an indexer with a head for each group of query heads scores
blocks of positions, the best are spread over the cells, and the mask of each group shows those.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.compute.attention import attend, project, rotate_rows, store
from gguf_tools.compute.context import CacheInputs, GraphContext
from gguf_tools.compute.graph import Node
from gguf_tools.compute.traits import Traits
from gguf_tools.units import round_up

__all__ = ["attend_blocks"]

_POSITIONS: Final = 256  # of an empty cache, for which memory is reserved


def attend_blocks(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    """Return the projected attention of a layer; its leading layers see all cells.

    Blocks are chosen only with flash attention and a stream for every sequence.
    """
    graph, shape = context.graph, context.shape
    rows = context.rows(layer, "attn_output")
    cache = context.layer_cache(layer)
    separate = cache.streams == context.sequences
    sparse = context.has(layer, "indexer.k_proj") and context.settings.flash_attention and separate
    if not sparse:
        q, k, v = project(context, layer, x, traits.attention)
        return graph.matmul(rows, attend(context, layer, q, k, v))
    length, tokens = shape.indexer_key_length, context.tokens
    key = graph.inplace(graph.view(graph.matmul(length, x), length, 1, tokens), weights=True)
    key = graph.inplace(key, context.positions)
    index = context.cache("indexer", cache.cells)
    store(context, layer, index, key, None)
    q, k, v = project(context, layer, x, traits.attention)
    q = rotate_rows(context, q, cache.k_rotation)
    k = rotate_rows(context, k, cache.k_rotation)
    v = rotate_rows(context, v, cache.v_rotation)
    graph.expand(q, k, v)
    store(context, layer, cache, k, v)
    heads, each = shape.indexer_heads, tokens // cache.streams
    query = graph.view(graph.matmul(heads * length, x), length, heads, tokens)
    query = graph.inplace(graph.inplace(query, weights=True), context.positions)
    out: Node | None = None
    for _ in range(cache.streams):
        seen = _stream(context, layer, cache, q, query)
        out = seen if out is None else graph.make((out.ne[0], out.ne[1] + each), out, seen)
    assert out is not None
    return graph.matmul(rows, rotate_rows(context, out, cache.v_rotation))


def _stream(context: GraphContext, layer: int, cache: CacheInputs, q: Node, query: Node) -> Node:
    """Return one sequence's attention to its chosen blocks, a row a token."""
    graph, shape = context.graph, context.shape
    each = context.tokens // cache.streams
    groups, value, heads = shape.indexer_heads, shape.head_v(layer), shape.heads[layer]
    place, kv = context.cache_place(layer), context.settings.kv
    keys = graph.outside(place, cache.cells * kv.type_k.row_bytes(shape.k_width(layer)))
    values = graph.outside(place, cache.cells * kv.type_v.row_bytes(shape.v_width(layer)))
    seen = graph.view(q, q.ne[0], each, heads // groups, groups)
    shown = (value, heads // groups, each, groups)
    mask = _mask(context, layer, cache, query, each)
    out = graph.make(shown, graph.make(shown, seen, keys, values, mask))
    return graph.view(out, value * heads, each)


def _mask(context: GraphContext, layer: int, cache: CacheInputs, query: Node, each: int) -> Node:
    """Return the mask of each group of heads: the causal one, and the blocks not chosen."""
    graph, shape = context.graph, context.shape
    streams, groups, cells = cache.streams, shape.indexer_heads, cache.cells
    block, length = shape.indexer_block, shape.indexer_key_length
    positions = round_up(_POSITIONS, block)
    blocks = positions // block
    best = min(shape.indexer_top_k, blocks)

    def of_all(name: str, *ne: int) -> Node:
        return context.input(name, *ne)

    row = context.settings.kv.type_k.row_bytes(length)
    keys = graph.outside(context.cache_place(layer), cells * row)
    slots = graph.view(of_all("position_cells", positions, streams), positions)
    gathered = graph.make((length, positions), keys, slots)
    asked = graph.view(query, length, groups * each)
    scores = graph.make((positions, groups * each), gathered, asked)
    open_positions = of_all("position_mask", positions, context.tokens)
    scores = _written_over(context, scores, graph.view(open_positions, positions, 1, each))
    pooled = graph.make((blocks, groups, each), scores)
    bias = of_all("block_bias", blocks, context.tokens)
    local = graph.view(bias, blocks, 1, each)
    order = graph.make((best, groups, each), graph.inplace(pooled, local))
    zeros = graph.make(order.ne, order)
    struck = graph.make(local.ne, graph.make(local.ne, local), unit=2)
    spread = graph.make((blocks, groups, each), struck, unit=2)
    sources = (
        graph.view(zeros, 1, best, groups * each),
        graph.view(order, best, groups * each),
        graph.view(spread, 1, blocks, groups * each),
    )
    kept = Node(spread.ne, sources, unit=2, root=spread)
    kept = graph.make((blocks, each, groups), graph.view(kept, *spread.ne), unit=2)
    turned = graph.make((each * groups, blocks), graph.view(kept, blocks, each * groups), unit=2)
    cell_blocks = graph.view(of_all("cell_blocks", cells, streams), cells)
    by_cell = graph.make((each * groups, cells), turned, cell_blocks)
    mask = graph.make((cells, each * groups), by_cell)
    causal = context.inputs.get("wide_mask")
    if causal is None:
        causal = graph.make(cache.mask.ne, cache.mask)
        context.inputs["wide_mask"] = causal
    mask = _written_over(
        context, graph.view(mask, cells, each, groups), graph.view(causal, cells, each)
    )
    return graph.make((cells, each, 1, groups), graph.view(mask, *mask.ne), unit=2)


def _written_over(context: GraphContext, x: Node, more: Node) -> Node:
    """Return a sum that is always written over its first part."""
    shown = context.graph.view(x, *x.ne)
    return Node(x.ne, (shown, more), root=x if x.root is None else x.root)
