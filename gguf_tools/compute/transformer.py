"""The graph of a plain transformer: embedding, layers, output.

Follows the ``graph`` constructors in src/models/*.cpp, which differ in few things; `traits`
holds those.
"""

from __future__ import annotations

from gguf_tools.compute.attention import attend, project
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.feedforward import dense, experts, shared_expert
from gguf_tools.compute.graph import Node
from gguf_tools.compute.traits import Traits

__all__ = ["build_transformer", "finish", "norm", "pick_outputs"]


def norm(context: GraphContext, x: Node, traits: Traits) -> Node:
    """Return ``x`` normed; RMS norms may overwrite it, others never do."""
    graph = context.graph
    return graph.make(x.ne, x) if traits.layer_norm else graph.inplace(x)


def pick_outputs(context: GraphContext, x: Node) -> Node:
    """Return the rows of ``x`` that are wanted."""
    return context.graph.make((x.ne[0], context.outputs), x, context.output_ids)


def finish(context: GraphContext, x: Node, traits: Traits) -> None:
    """Add the last norm and the output matrix."""
    graph = context.graph
    last = graph.output(norm(context, x, traits)) if traits.final_norm else graph.output(x)
    logits = graph.matmul(context.vocabulary, last)
    for _ in range(traits.logit_steps):
        logits = graph.inplace(logits)
    graph.expand(graph.output(logits))


def build_transformer(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of a transformer that has the given layers."""
    graph = context.graph
    x = context.embedded(scale=traits.scaled_embedding)
    if traits.position_table:
        positions = graph.make(x.ne, context.positions)
        x = graph.inplace(x, positions)
    if traits.embedding_norm:
        x = norm(context, x, traits)
    for layer in layers:
        x = _layer(context, layer, x, traits, last=layer == layers[-1])
    finish(context, x, traits)


def _layer(context: GraphContext, layer: int, x: Node, traits: Traits, *, last: bool) -> Node:
    graph = context.graph
    normed = norm(context, x, traits) if traits.pre_norm else x
    attended = _attention(context, layer, normed, traits)
    residual = x
    if last:
        if traits.parallel:
            attended = pick_outputs(context, attended)
            residual = pick_outputs(context, residual)
            if traits.parallel == "shared":
                normed = pick_outputs(context, normed)
        else:
            attended = pick_outputs(context, attended)
            residual = pick_outputs(context, residual)
    if traits.parallel:
        inner = normed if traits.parallel == "shared" else norm(context, residual, traits)
        fed = _feed_forward(context, layer, inner, traits)
        if traits.parallel_order == "ffn_first":
            return graph.inplace(graph.inplace(fed, residual), attended)
        return graph.inplace(graph.inplace(attended, fed), residual)
    if traits.post_norm or context.has(layer, "post_attention_norm"):
        attended = norm(context, attended, traits)
    middle = graph.inplace(attended, residual)
    fed = norm(context, middle, traits) if traits.pre_norm else middle
    fed = _feed_forward(context, layer, fed, traits)
    if traits.post_norm or context.has(layer, "post_ffw_norm"):
        fed = norm(context, fed, traits)
    return graph.inplace(fed, middle)


def _attention(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    graph = context.graph
    q, k, v = project(context, layer, x, traits.attention)
    if traits.scaled_q:
        q = graph.inplace(q)
    out = attend(context, layer, q, k, v, soft_cap=traits.soft_cap)
    rows = context.rows(layer, "attn_output")
    return graph.matmul(rows, out) if rows else out


def _feed_forward(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    if not context.has(layer, "ffn_gate_inp"):
        return dense(context, layer, x, activation_steps=traits.activation_steps)
    routed = experts(context, layer, x, traits.experts)
    shared = shared_expert(context, layer, x)
    return routed if shared is None else context.graph.inplace(routed, shared)
