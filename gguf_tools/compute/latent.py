"""Attention through a compressed latent: multi-head latent attention and its relatives.

Follows src/models/deepseek2.cpp (absorbed and old form), minicpm3.cpp, plm.cpp and kimi-linear.cpp,
and ``build_attn`` for K-only caches in src/llama-graph.cpp.
"""

from __future__ import annotations

from gguf_tools.compute.attention import attend, multi_head, store
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.graph import Node

__all__ = ["latent_attention", "latent_query"]


def latent_query(context: GraphContext, layer: int, x: Node, head: int) -> Node:
    """Return the queries [head, heads, tokens], through a low rank where the model has one."""
    graph, shape = context.graph, context.shape
    heads = shape.heads[layer]
    if context.has(layer, "attn_q_a"):
        low = graph.inplace(graph.matmul(context.rows(layer, "attn_q_a"), x))
        q = graph.matmul(heads * head, low)
    else:
        q = graph.matmul(heads * head, x)
    return graph.view(q, head, heads, context.tokens)


def latent_attention(context: GraphContext, layer: int, x: Node, *, rope: bool = True) -> Node:
    """Return the projected output of a layer's latent attention."""
    graph, shape = context.graph, context.shape
    rank = shape.kv_lora_rank
    heads, tokens = shape.heads[layer], context.tokens
    joint_rows = context.rows(layer, "attn_kv_a_mqa")
    turned = joint_rows - rank
    head = shape.mla_key_length if shape.mla else shape.key_length
    positions = (context.positions,) if rope else ()
    q = latent_query(context, layer, x, head)
    joint = graph.matmul(joint_rows, x)
    k_turned = graph.view(joint, turned, 1, tokens)
    if rope:
        k_turned = graph.inplace(k_turned, *positions)
    latent = graph.inplace(graph.view(joint, rank, tokens))
    if shape.mla:
        plain = graph.view(q, head - turned, tokens, heads)
        q_turned = graph.view(q, turned, heads, tokens)
        if rope:
            q_turned = graph.inplace(q_turned, *positions)
        absorbed = graph.make((rank, tokens, heads), plain)
        query = graph.make((rank + turned, heads, tokens), absorbed, q_turned)
        key = graph.make((rank + turned, 1, tokens), latent, k_turned)
        out = _attend_latent(context, layer, query, key, latent)
    else:
        out = _attend_expanded(context, layer, q, latent, k_turned, head, turned, rope=rope)
    return graph.matmul(context.rows(layer, "attn_output"), out)


def _attend_latent(context: GraphContext, layer: int, q: Node, k: Node, latent: Node) -> Node:
    graph, shape = context.graph, context.shape
    cache = context.layer_cache(layer)
    graph.expand(q, latent, k)
    store(context, cache, k, None)
    rank, heads, tokens = shape.kv_lora_rank, shape.heads[layer], context.tokens
    value = shape.mla_value_length
    if context.settings.flash_attention:
        streams = cache.streams
        each = tokens // streams
        seen = graph.view(q, q.ne[0], each, heads, streams)
        joined = graph.make((rank, heads, each, streams), seen, cache.mask)
        opened = graph.make((value, each, heads, streams), graph.view(joined, *joined.ne))
        out = graph.view(graph.make((value, heads, each, streams), opened), value * heads, tokens)
        graph.expand(out)
        return out
    return multi_head(
        context,
        q,
        cache.cells,
        cache.streams,
        cache.mask,
        rank,
        v_transposed=False,
        opened=value,
    )


def _attend_expanded(
    context: GraphContext,
    layer: int,
    q: Node,
    latent: Node,
    k_turned: Node,
    head: int,
    turned: int,
    *,
    rope: bool,
) -> Node:
    """Attend with keys and values expanded for every head, as before the absorbed form."""
    graph, shape = context.graph, context.shape
    heads, tokens = shape.heads[layer], context.tokens
    opened = graph.matmul(context.rows(layer, "attn_kv_b"), latent)
    k_plain = graph.view(opened, head - turned, heads, tokens)
    value = graph.make(
        (shape.value_length, heads, tokens), graph.view(opened, shape.value_length, heads, tokens)
    )
    query = graph.inplace(q, context.positions) if rope else q
    spread = graph.make((turned, heads, tokens), k_turned)
    key = graph.make((head, heads, tokens), k_plain, spread)
    return attend(context, layer, query, key, value)
