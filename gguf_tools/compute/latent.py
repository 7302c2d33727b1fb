"""Attention through a compressed latent: multi-head latent attention and its relatives.

Follows src/models/deepseek2.cpp (absorbed and old form), minicpm3.cpp, plm.cpp and kimi-linear.cpp,
and ``build_attn`` for K-only caches in src/llama-graph.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from gguf_tools.compute.attention import attend, multi_head, store
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.graph import Node

__all__ = ["LatentParts", "attend_latent", "latent_attention", "latent_parts"]


@dataclass(frozen=True, slots=True)
class LatentParts:
    """Query and key in the latent's space, the latent itself, and the low-rank query."""

    query: Node
    key: Node
    latent: Node
    low_query: Node
    value_length: int


def _query(context: GraphContext, layer: int, x: Node) -> tuple[Node, Node]:
    """Return the queries [head, heads, tokens] and what they were made from."""
    graph = context.graph
    heads = context.shape.heads[layer]
    low, name = x, "attn_q"
    if context.has(layer, "attn_q_a"):
        low = graph.matmul(context.rows(layer, "attn_q_a"), x)
        low = graph.inplace(low, weights=True)
        name = "attn_q_b"
    rows = context.rows(layer, name)
    return graph.view(graph.matmul(rows, low), rows // heads, heads, context.tokens), low


def latent_parts(context: GraphContext, layer: int, x: Node, *, rope: bool = True) -> LatentParts:
    """Return what absorbed latent attention works with."""
    graph = context.graph
    heads, tokens = context.shape.heads[layer], context.tokens
    joint_rows = context.rows(layer, "attn_kv_a_mqa")
    rank = context.tensor(layer, "attn_kv_a_norm").extent(0)
    turned = joint_rows - rank
    q, low = _query(context, layer, x)
    joint = graph.matmul(joint_rows, x)
    k_turned = graph.view(joint, turned, 1, tokens)
    if context.has(layer, "attn_k_norm"):
        k_turned = graph.inplace(k_turned, weights=True)
    latent = graph.inplace(graph.view(joint, rank, tokens), weights=True)
    plain = graph.view(q, q.ne[0] - turned, tokens, heads)
    q_turned = graph.view(q, turned, heads, tokens)
    if rope:
        k_turned = graph.inplace(k_turned, context.positions)
        q_turned = graph.inplace(q_turned, context.positions)
    absorbed = graph.make((rank, tokens, heads), plain, weights=True)
    query = graph.make((rank + turned, heads, tokens), absorbed, q_turned)
    key = graph.make((rank + turned, 1, tokens), latent, k_turned)
    value = context.tensor(layer, "attn_v_b").extent(1)
    return LatentParts(query, key, latent, low, value)


def latent_attention(context: GraphContext, layer: int, x: Node, *, rope: bool = True) -> Node:
    """Return the projected output of a layer's latent attention."""
    graph = context.graph
    if context.shape.mla:
        parts = latent_parts(context, layer, x, rope=rope)
        cache = context.layer_cache(layer)
        graph.expand(parts.query, parts.latent, parts.key)
        store(context, layer, cache, parts.key, None)
        out = attend_latent(context, layer, parts, cache.mask)
    else:
        out = _attend_expanded(context, layer, x, rope=rope)
    if context.has(layer, "attn_gate"):
        out = _gated_heads(context, layer, out, x)
    return graph.matmul(context.rows(layer, "attn_output"), out)


def _gated_heads(context: GraphContext, layer: int, out: Node, x: Node) -> Node:
    """Return the heads' outputs, each scaled by a gate of its own or by one for each value."""
    graph = context.graph
    heads, tokens = context.shape.heads[layer], context.tokens
    rows = context.rows(layer, "attn_gate")
    if rows != heads:  # a gate for every value
        return graph.inplace(out, graph.inplace(graph.matmul(rows, x)))
    gate = graph.inplace(graph.view(graph.matmul(heads, x), 1, heads, tokens))
    gated = graph.inplace(graph.view(out, out.ne[0] // heads, heads, tokens), gate)
    return graph.make(out.ne, gated)


def attend_latent(context: GraphContext, layer: int, parts: LatentParts, mask: Node) -> Node:
    """Return the heads' outputs, values expanded, in one row a token."""
    graph = context.graph
    cache = context.layer_cache(layer)
    q, value = parts.query, parts.value_length
    rank, heads, tokens = parts.latent.ne[0], q.ne[1], context.tokens
    if not context.settings.flash_attention:
        return multi_head(
            context,
            q,
            cache.cells,
            cache.streams,
            mask,
            rank,
            cached=context.cached(layer, cache),
            turned_heads=1,
            opened=value,
        )
    streams = cache.streams
    each = tokens // streams
    seen = graph.view(q, q.ne[0], each, heads, streams)
    cached = context.cached(layer, cache)
    joined = graph.make((rank, heads, each, streams), seen, *cached, mask)
    opened = graph.view(joined, *joined.ne)
    opened = graph.make((value, each, heads, streams), opened, weights=True)
    out = graph.view(graph.make((value, heads, each, streams), opened), value * heads, tokens)
    graph.expand(out)
    return out


def _attend_expanded(context: GraphContext, layer: int, x: Node, *, rope: bool) -> Node:
    """Attend with keys and values expanded for every head, as before the absorbed form."""
    graph, shape = context.graph, context.shape
    heads, tokens = shape.heads[layer], context.tokens
    joint_rows = context.rows(layer, "attn_kv_a_mqa")
    rank, head = shape.kv_lora_rank, shape.key_length
    turned = joint_rows - rank
    q, _ = _query(context, layer, x)
    joint = graph.matmul(joint_rows, x)
    k_turned = graph.view(joint, turned, 1, tokens)
    if rope:
        k_turned = graph.inplace(k_turned, context.positions)
    latent = graph.inplace(graph.view(joint, rank, tokens), weights=True)
    opened = graph.matmul(context.rows(layer, "attn_kv_b"), latent)
    k_plain = graph.view(opened, head - turned, heads, tokens)
    value = graph.make(
        (shape.value_length, heads, tokens), graph.view(opened, shape.value_length, heads, tokens)
    )
    query = graph.inplace(q, context.positions) if rope else q
    spread = graph.make((turned, heads, tokens), k_turned)
    key = graph.make((head, heads, tokens), k_plain, spread)
    return attend(context, layer, query, key, value)
