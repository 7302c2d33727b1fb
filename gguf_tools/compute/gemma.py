"""Gemma 3n and 4: inputs for every layer, several streams, layers that share a cache.

Follows src/models/gemma3n.cpp and gemma4.cpp.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.compute.attention import attend
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.feedforward import dense, experts
from gguf_tools.compute.graph import Node
from gguf_tools.compute.traits import Traits
from gguf_tools.compute.transformer import finish, pick_outputs

__all__ = ["build_gemma3n", "build_gemma4"]

_STREAMS: Final = 4  # n_altup
_SPARSE_LAYERS: Final = 10  # n_layer_sparsity


def _layer_inputs(context: GraphContext, x: Node) -> Node:
    """Return the inputs of all layers [width, tokens, layers], which live to the end."""
    graph = context.graph
    layers = context.shape.layers
    table = context.tensors["per_layer_token_embd.weight"]
    width = table.extent(0) // layers
    own = graph.make(
        (table.extent(0), context.tokens),
        context.input("layer_tokens", context.tokens),
        weights=True,
    )
    split = (width, layers, context.tokens)
    own = graph.inplace(graph.view(own, *split))
    graph.expand(own)
    graph.owner = 0
    projected = graph.inplace(graph.matmul(table.extent(0), x))
    normed = graph.inplace(graph.view(projected, *split), weights=True)
    summed = graph.inplace(graph.inplace(normed, own))
    return graph.make((width, context.tokens, layers), summed)


def _attention(context: GraphContext, layer: int, x: Node) -> Node:
    graph, shape = context.graph, context.shape
    heads, kv_heads, tokens = shape.heads[layer], shape.kv_heads[layer], context.tokens
    head = shape.head_k(layer)
    q = graph.view(graph.matmul(heads * head, x), head, heads, tokens)
    q = graph.inplace(graph.inplace(q, weights=True), context.positions)
    k = v = None
    if shape.kv_from_start < 0 or layer < shape.kv_from_start:
        raw = graph.matmul(kv_heads * head, x)
        value = graph.matmul(kv_heads * head, x) if context.has(layer, "attn_v") else raw
        k = graph.view(raw, head, kv_heads, tokens)
        k = graph.inplace(graph.inplace(k, weights=True), context.positions)
        v = graph.inplace(graph.view(value, head, kv_heads, tokens))
    out = attend(context, layer, q, k, v)
    return graph.matmul(shape.embedding_length, out)


def build_gemma4(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of Gemma 4."""
    graph = context.graph
    x = graph.inplace(context.embedded())
    inputs = None
    if "per_layer_token_embd.weight" in context.tensors:
        inputs = _layer_inputs(context, x)
    for layer in layers:
        graph.owner = layer
        normed = graph.inplace(x, weights=True)
        attended = graph.inplace(_attention(context, layer, normed), weights=True)
        middle = graph.inplace(attended, x)
        fed = graph.inplace(_fed(context, layer, middle, traits), weights=True)
        x = graph.inplace(fed, middle)
        if inputs is not None:
            width = inputs.ne[0]
            gate = graph.inplace(graph.matmul(width, x))
            gate = graph.inplace(gate, graph.view(inputs, width, context.tokens))
            added = graph.matmul(context.shape.embedding_length, gate)
            added = graph.inplace(added, weights=True)
            x = graph.inplace(x, added)
        if context.has(layer, "layer_output_scale"):
            x = graph.inplace(x, weights=True)
    finish(context, x, traits)


def _fed(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    graph = context.graph
    if not context.has(layer, "ffn_gate_inp"):
        return dense(context, layer, graph.inplace(x, weights=True))
    plain = dense(context, layer, graph.inplace(x, weights=True))
    plain = graph.inplace(plain, weights=True)
    normed = graph.inplace(x, weights=True)
    router = graph.inplace(graph.inplace(x), weights=True)
    router = graph.matmul(context.shape.experts, router)
    routed = experts(context, layer, normed, traits.experts, logits=router)
    routed = graph.inplace(routed, weights=True)
    return graph.inplace(plain, routed)


def build_gemma3n(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of Gemma 3n, which carries four streams from layer to layer."""
    graph, shape = context.graph, context.shape
    width, tokens = shape.embedding_length, context.tokens
    x = graph.inplace(context.embedded())
    inputs = _layer_inputs(context, x)
    # The matrices of the streams lie with the output.
    graph.owner = shape.layers_all
    target = _magnitude(context, x)
    repeated = graph.make((width, tokens, _STREAMS - 1), x)
    added = graph.matmul(width, repeated)
    added = graph.inplace(graph.inplace(added, target), _magnitude(context, added))
    streams = graph.make((width, tokens, _STREAMS), x, added)
    for layer in layers:
        graph.owner = layer
        streams = _layer3n(context, layer, streams, inputs)
    graph.owner = shape.layers_all
    target = _magnitude(context, graph.view(streams, width, tokens))
    rest = graph.view(streams, width, tokens, _STREAMS - 1)
    opened = graph.matmul(width, rest)
    opened = graph.inplace(graph.inplace(opened, target), _magnitude(context, opened))
    x = graph.view(streams, width, tokens)
    for _ in range(_STREAMS - 1):
        x = graph.inplace(x, graph.view(opened, width, tokens))
    finish(context, pick_outputs(context, graph.inplace(x)), traits)


def _magnitude(context: GraphContext, x: Node) -> Node:
    graph = context.graph
    return graph.inplace(graph.make((1, *x.ne[1:]), graph.inplace(x)))


def _modalities(context: GraphContext, x: Node) -> Node:
    graph = context.graph
    normed = graph.inplace(graph.inplace(x, weights=True))
    return graph.inplace(graph.matmul(_STREAMS, normed))


def _layer3n(context: GraphContext, layer: int, streams: Node, inputs: Node) -> Node:
    graph, shape = context.graph, context.shape
    width, tokens = shape.embedding_length, context.tokens
    coefficients = graph.matmul(
        _STREAMS**2, _modalities(context, graph.view(streams, width, tokens))
    )
    turned = graph.make((_STREAMS, width, tokens), streams)
    predicted = graph.make((width, _STREAMS, tokens), turned, graph.view(coefficients, 1))
    predicted = graph.inplace(graph.make((width, tokens, _STREAMS), predicted), streams)
    active = graph.view(predicted, width, tokens)
    normed = graph.inplace(active, weights=True)
    attended = graph.inplace(_attention(context, layer, normed), weights=True)
    attended = graph.inplace(attended, active)
    low = graph.matmul(context.rows(layer, "laurel_l"), normed)
    laurel = graph.inplace(graph.inplace(graph.matmul(width, low), weights=True), normed)
    middle = graph.inplace(graph.inplace(attended, laurel))
    inner = graph.inplace(middle, weights=True)
    rows = context.rows(layer, "ffn_up")
    up = graph.matmul(rows, inner)
    gate = graph.matmul(rows, inner)
    if layer < _SPARSE_LAYERS:
        gate = _sparse(context, gate)
    hidden = graph.inplace(up, graph.inplace(gate))
    fed = graph.inplace(graph.matmul(width, hidden), weights=True)
    activated = graph.inplace(fed, middle)
    corrected = _corrected(context, predicted, activated)
    head = graph.inplace(graph.view(corrected, width, tokens), weights=True)
    low = graph.inplace(graph.matmul(inputs.ne[0], head))
    low = graph.inplace(low, graph.view(inputs, inputs.ne[0], tokens))
    addition = graph.inplace(graph.matmul(width, low), weights=True)
    rest = graph.inplace(graph.view(corrected, width, tokens, _STREAMS - 1), addition)
    first = graph.view(corrected, width, tokens)
    return graph.make((width, tokens, _STREAMS), first, rest)


def _sparse(context: GraphContext, x: Node) -> Node:
    graph = context.graph
    one = (1, x.ne[1])
    mean = graph.make(one, x)
    spread = graph.inplace(graph.make(one, graph.inplace(graph.inplace(x, mean))))
    cutoff = graph.inplace(mean, graph.inplace(spread))
    return graph.inplace(graph.inplace(x, cutoff))


def _corrected(context: GraphContext, predicted: Node, activated: Node) -> Node:
    graph, shape = context.graph, context.shape
    width, tokens = shape.embedding_length, context.tokens
    modalities = _modalities(context, activated)
    innovation = graph.inplace(activated, graph.view(predicted, width, tokens))
    coefficients = graph.inplace(graph.matmul(_STREAMS, modalities))
    coefficients = graph.make((1, tokens, _STREAMS), coefficients)
    repeated = graph.make((width, tokens, _STREAMS), innovation)
    corrected = graph.inplace(repeated, coefficients)
    return graph.inplace(corrected, predicted)
