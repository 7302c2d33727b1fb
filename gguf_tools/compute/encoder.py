"""Encoders, which read a text at once, and T5, whose decoder looks at what they made of it.

Follows src/models/bert.cpp, modern-bert.cpp, neo-bert.cpp, eurobert.cpp and t5.cpp.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.compute.attention import attend, multi_head, project
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.feedforward import dense, experts
from gguf_tools.compute.graph import HOST, Node
from gguf_tools.compute.traits import AttentionTraits, Traits
from gguf_tools.compute.transformer import finish, pick_outputs

__all__ = ["BERT_FAMILY", "build_bert", "build_t5"]

BERT_FAMILY: Final = frozenset(
    {"bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3"}
)
_TURNING: Final = frozenset({"nomic-bert", "nomic-bert-moe", "jina-bert-v3"})


def build_bert(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of a BERT: norms after the residual sums, no output matrix."""
    graph = context.graph
    arch = context.shape.architecture
    x = context.embedded()
    types = context.tensors.get("token_types.weight")
    if types is not None:
        x = graph.inplace(x, graph.outside(HOST, types.type.row_bytes(types.extent(0))))
    if arch == "bert":
        x = graph.inplace(graph.make(x.ne, context.positions, weights=True), x)
    graph.owner = 0
    x = graph.make(x.ne, x, weights=True)
    attention = AttentionTraits(rope="always" if arch in _TURNING else "never", layer_norm=True)
    for layer in layers:
        graph.owner = layer
        q, k, v = project(context, layer, x, attention)
        out = attend(context, layer, q, k, v)
        mixed = graph.matmul(context.rows(layer, "attn_output"), out)
        if layer == layers[-1]:
            mixed, x = pick_outputs(context, mixed), pick_outputs(context, x)
        summed = graph.inplace(mixed, x)
        normed = graph.make(summed.ne, summed, weights=True)
        if context.has(layer, "attn_norm_2"):
            summed = graph.inplace(normed, x)
            normed = graph.make(summed.ne, summed, weights=True)
        if context.has(layer, "ffn_gate_inp"):
            fed = experts(context, layer, normed, traits.experts)
        else:
            fed = dense(context, layer, normed)
        summed = graph.inplace(fed, normed)
        x = graph.make(summed.ne, summed, weights=True)
    graph.expand(graph.output(x))


def build_t5(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of T5's decoder, the one that memory is reserved for.

    The bias of relative positions is added to the scores, which rules flash attention out there.
    """
    graph, shape = context.graph, context.shape
    width, tokens = shape.embedding_length, context.tokens
    x = context.embedded()
    encoded = context.input("encoded", width, shape.context_length)
    cells = context.settings.kv.context
    buckets = context.input("buckets", cells, tokens)
    heads = shape.heads[0]
    for layer in layers:
        graph.owner = layer
        prefix = f"dec.blk.{layer}."
        normed = graph.inplace(x, weights=True)
        head = shape.key_length
        q = graph.view(graph.matmul(heads * head, normed), head, heads, tokens)
        k = graph.view(graph.matmul(heads * head, normed), head, heads, tokens)
        v = graph.view(graph.matmul(heads * head, normed), head, heads, tokens)
        bias = graph.make((heads, cells * tokens), graph.view(buckets, cells * tokens))
        bias.place = layer if prefix + "attn_rel_b.weight" in context.tensors else 0
        bias = graph.make((cells, tokens, heads), graph.view(bias, heads, cells, tokens))
        turned = heads if context.settings.flash_attention else 0
        out = attend(context, layer, q, k, v, bias=bias, turned_heads=turned)
        middle = graph.inplace(graph.matmul(width, out), x)
        crossed = _cross(context, middle, encoded)
        if layer == layers[-1]:
            crossed, middle = pick_outputs(context, crossed), pick_outputs(context, middle)
        summed = graph.inplace(crossed, middle)
        inner = graph.inplace(summed, weights=True)
        rows = context.tensors[prefix + "ffn_up.weight"].extent(1)
        up = graph.matmul(rows, inner)
        if prefix + "ffn_gate.weight" in context.tensors:
            hidden = graph.make(up.ne, graph.matmul(rows, inner), up)
        else:
            hidden = graph.inplace(up)
        x = graph.inplace(graph.matmul(width, hidden), summed)
    finish(context, x, traits)


def _cross(context: GraphContext, x: Node, encoded: Node) -> Node:
    graph, shape = context.graph, context.shape
    heads, head = shape.heads[0], shape.key_length
    seen, tokens = encoded.ne[1], context.tokens
    normed = graph.inplace(x, weights=True)
    q = graph.view(graph.matmul(heads * head, normed), head, heads, tokens)
    k = graph.view(graph.matmul(heads * head, encoded), head, heads, seen)
    v = graph.view(graph.matmul(heads * head, encoded), head, heads, seen)
    unit = 2 if context.settings.flash_attention else 4
    mask = context.input("cross_mask", seen, tokens, unit=unit)
    graph.expand(q, k, v)
    out = multi_head(context, q, seen, 1, mask, head, kv=(k, v))
    return graph.matmul(shape.embedding_length, out)
