"""Attention with keys and values by head, with or without a cache.

Follows ``build_qkv``, ``build_attn`` and ``build_attn_mha`` in src/llama-graph.cpp and the
``cpy_*`` and ``get_*`` functions of src/llama-kv-cache.cpp.
"""

from __future__ import annotations

from math import prod
from typing import Final

from gguf_tools.compute.context import CacheInputs, GraphContext
from gguf_tools.compute.graph import Node
from gguf_tools.compute.traits import AttentionTraits

__all__ = ["attend", "multi_head", "project", "rotate_rows", "store", "turns"]

_LAYERS_OF_7B: Final = 32
_UNNORMED_LLAMA4_EXPERTS: Final = 128  # the large Llama 4 leaves the norm after rope out


def project(
    context: GraphContext, layer: int, x: Node, traits: AttentionTraits
) -> tuple[Node, Node, Node]:
    """Return Q, K and V with heads split, normed and turned to their positions."""
    graph, shape = context.graph, context.shape
    heads, kv_heads = shape.heads[layer], shape.kv_heads[layer]
    head_k, head_v = shape.head_k(layer), shape.head_v(layer)
    tokens = context.tokens
    if context.has(layer, "attn_qkv"):
        fused = graph.matmul(context.rows(layer, "attn_qkv"), x)
        q = graph.view(fused, head_k, heads, tokens)
        k = graph.view(fused, head_k, kv_heads, tokens)
        v = graph.view(fused, head_v, kv_heads, tokens)
    else:
        q = graph.matmul(heads * head_k, x)
        k = graph.matmul(kv_heads * head_k, x)
        v = graph.matmul(kv_heads * head_v, x)
        q = _normed(context, layer, "attn_q_norm", q, heads * head_k, traits)
        k = _normed(context, layer, "attn_k_norm", k, kv_heads * head_k, traits)
        q = graph.view(q, head_k, heads, tokens)
        k = graph.view(k, head_k, kv_heads, tokens)
        v = graph.view(v, head_v, kv_heads, tokens)
    turn = turns(context, layer, traits)
    if turn and traits.norm_after_rope:
        q, k = graph.inplace(q, context.positions), graph.inplace(k, context.positions)
        turn = False
    q = _normed(context, layer, "attn_q_norm", q, head_k, traits)
    k = _normed(context, layer, "attn_k_norm", k, head_k, traits)
    if turn:
        q, k = graph.inplace(q, context.positions), graph.inplace(k, context.positions)
        if traits.plain_norm_after_rope and shape.experts != _UNNORMED_LLAMA4_EXPERTS:
            q, k = graph.inplace(q), graph.inplace(k)
    elif traits.scaled_without_rope:
        q = graph.inplace(q, context.input("attention_scale", 1, 1, tokens))
    return q, k, v


def turns(context: GraphContext, layer: int, traits: AttentionTraits) -> bool:
    """Tell whether a layer turns Q and K to their positions."""
    shape = context.shape
    if traits.rope == "sliding":
        return shape.swa_kind == "none" or shape.sliding[layer]
    if traits.rope == "lead_or_sliding":
        return shape.sliding[layer] or layer < shape.dense_lead
    if traits.rope in {"three_of_four", "not_every_fourth"}:
        # Models without windows turn every layer, but for smollm3, whose rule is fixed, and the
        # last one of llama4, whose period is then the number of layers.
        if shape.swa_kind == "none" and shape.architecture != "smollm3":
            return shape.architecture != "llama4" or layer + 1 < shape.layers
        if shape.architecture == "smallthinker" and shape.layers == 4:
            return True
        return (layer + 1 if traits.rope == "three_of_four" else layer) % 4 != 0
    if traits.rope == "seven_billion":  # Baichuan's larger model has a bias instead
        return shape.layers == _LAYERS_OF_7B
    return traits.rope == "always"


def _normed(
    context: GraphContext, layer: int, name: str, x: Node, width: int, traits: AttentionTraits
) -> Node:
    """Return ``x`` normed if the layer has a norm of the rows' width."""
    if not context.has(layer, name):
        return x
    norm = context.tensor(layer, name)
    if norm.extent(0) != x.ne[0] or x.ne[0] != width:
        return x
    graph = context.graph
    if traits.layer_norm:
        return graph.make(x.ne, x, weights=True)
    return graph.inplace(x, weights=True)


def rotate_rows(context: GraphContext, x: Node, rotation: Node | None) -> Node:
    """Return rows turned by a Hadamard matrix, as quantised caches need them."""
    if rotation is None:
        return x
    graph = context.graph
    size = rotation.ne[0]
    count = prod(x.ne)
    flat = graph.view(x, size, count // size)
    if _strided(x):
        flat = graph.make((size, count // size), x)
    return graph.view(graph.make((size, count // size), rotation, flat), *x.ne)


def _strided(x: Node) -> bool:
    """Tell whether a view shows only a part of each row of its root."""
    return x.root is not None and prod(x.ne) != prod(x.root.ne)


def store(context: GraphContext, layer: int, cache: CacheInputs, k: Node, v: Node | None) -> None:
    """Add the copies of K and V into the cache; they take no memory of their own."""
    graph = context.graph
    _copy(context, layer, k, cache.k_indices)
    if v is None:
        return
    if context.settings.flash_attention:
        _copy(context, layer, v, cache.v_indices)
        return
    row = v.ne[0] * v.ne[1]
    flat = graph.make((row, v.ne[2]), v) if _strided(v) else graph.view(v, row, v.ne[2])
    if row < context.widest_v:
        flat = graph.make((context.widest_v, v.ne[2]), flat)
    _copy(context, layer, flat, cache.v_indices)


def _copy(context: GraphContext, layer: int, x: Node, indices: Node) -> None:
    graph = context.graph
    graph.write(context.cache_place(layer), graph.view(x, *x.ne), indices)


def multi_head(
    context: GraphContext,
    q: Node,
    cells: int,
    streams: int,
    mask: Node,
    head_v: int,
    *,
    kv: tuple[Node, Node] | None = None,
    cached: tuple[Node, ...] = (),
    soft_cap: int = 0,
    bias: Node | None = None,
    turned_heads: int = 0,
    opened: int = 0,
) -> Node:
    """Return the heads' outputs in one row a token.

    Args:
        context: the graph.
        q: [head, heads, tokens].
        cells: cells attended to, of each stream.
        streams: streams in the batch.
        mask: which cells a token sees.
        head_v: length of a value head.
        kv: K and V of the batch itself, where there is no cache.
        cached: views of the cache's K and V otherwise.
        soft_cap: extra operations that bound the scores.
        bias: added to the scores; rules flash attention out.
        turned_heads: value heads to turn, where the cache does not hold V by columns.
        opened: length of a value head after latent values are expanded, 0 if they aren't.
    """
    graph = context.graph
    heads, tokens = q.ne[1], q.ne[2]
    seen = graph.view(q, q.ne[0], tokens // streams, heads, streams)
    if context.settings.flash_attention and bias is None:
        sources = [seen]
        if kv is not None:
            sources += [graph.make(part.ne, part, unit=2) for part in kv]
        sources += cached
        out = graph.make((head_v, heads, tokens // streams, streams), *sources, mask)
        flat = graph.view(out, head_v * heads, tokens)
        graph.expand(flat)
        return flat
    parts = [*cached[:1], seen] if kv is None else [graph.view(kv[0], *kv[0].ne), seen]
    scores = graph.make((cells, tokens // streams, heads, streams), *parts)
    for _ in range(soft_cap):
        scores = graph.inplace(scores)
    if bias is not None:
        scores = graph.inplace(scores, bias)
    scores = graph.inplace(scores, mask)
    values: tuple[Node, ...] = cached[1:]
    if kv is not None:
        v = kv[1]
        values = (graph.make((cells, v.ne[0], v.ne[1]), v),)
    elif turned_heads:
        types = context.settings.kv
        kind = types.type_k if context.shape.mla else types.type_v
        size = kind.row_bytes(cells) * head_v * turned_heads * streams
        values = (graph.make((size,), *values, unit=1),)
    out = graph.make((head_v, tokens // streams, heads, streams), *values, scores)
    if opened:
        out = graph.make((opened, *out.ne[1:]), out, weights=True)
        head_v = opened
    flat = graph.make((head_v * heads, tokens), out)
    graph.expand(flat)
    return flat


def attend(
    context: GraphContext,
    layer: int,
    q: Node,
    k: Node | None,
    v: Node | None,
    *,
    soft_cap: int = 0,
    bias: Node | None = None,
    turned_heads: int = 0,
) -> Node:
    """Store K and V in the layer's cache and return the heads' outputs, not yet projected."""
    graph, shape = context.graph, context.shape
    if not context.caching and k is not None and v is not None:
        return _attend_batch(context, layer, q, k, v, soft_cap)
    cache = context.layer_cache(layer)
    q = rotate_rows(context, q, cache.k_rotation)
    if k is not None:
        k = rotate_rows(context, k, cache.k_rotation)
    if v is not None:
        v = rotate_rows(context, v, cache.v_rotation)
    graph.expand(q)
    # Sliding caches take K before V, the plain one the other way about.
    order = (k, v) if shape.swa_kind != "none" else (v, k)
    graph.expand(*(part for part in order if part is not None))
    if k is not None:
        store(context, layer, cache, k, v)
    head_v = shape.head_v(layer)
    out = multi_head(
        context,
        q,
        cache.cells,
        cache.streams,
        cache.mask,
        head_v,
        cached=context.cached(layer, cache),
        soft_cap=soft_cap,
        bias=bias,
        turned_heads=turned_heads,
    )
    return rotate_rows(context, out, cache.v_rotation)


def _attend_batch(
    context: GraphContext, layer: int, q: Node, k: Node, v: Node, soft_cap: int
) -> Node:
    """Return the heads' outputs where tokens see only their own batch: encoders, diffusion."""
    tokens = context.tokens
    unit = 2 if context.settings.flash_attention else 4
    name = "window_mask" if context.shape.sliding[layer] else "mask"
    mask = context.input(name, tokens, tokens, unit=unit)
    context.graph.expand(q, k, v)
    head_v = context.shape.head_v(layer)
    return multi_head(context, q, tokens, 1, mask, head_v, kv=(k, v), soft_cap=soft_cap)
