"""Layers of the RWKV family: token shift, time mix, channel mix.

Follows src/models/rwkv6-base.cpp, rwkv6.cpp, rwkv7-base.cpp, rwkv7.cpp and arwkv7.cpp.
"""

from __future__ import annotations

from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.feedforward import dense
from gguf_tools.compute.graph import Node
from gguf_tools.compute.recurrent import load_state, save_state
from gguf_tools.compute.traits import Traits
from gguf_tools.compute.transformer import finish, norm, pick_outputs

__all__ = ["build_rwkv"]


def build_rwkv(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of an RWKV model or of a transformer distilled into one."""
    x = context.embedded()
    if not _distilled(context):
        context.graph.owner = 0
        x = norm(context, x, traits)
    first: list[Node] = []
    for layer in layers:
        context.graph.owner = layer
        x = _layer(context, layer, x, first, traits, last=layer == layers[-1])
    finish(context, x, traits)


def _distilled(context: GraphContext) -> bool:
    return context.shape.architecture in {"arwkv7", "rwkv6qwen2"}


def _layer(
    context: GraphContext,
    layer: int,
    x: Node,
    first: list[Node],
    traits: Traits,
    *,
    last: bool,
) -> Node:
    graph, shape = context.graph, context.shape
    width, sequences = shape.embedding_length, context.sequences
    each = context.tokens // sequences
    flat = (width, context.tokens)
    x = graph.view(x, width, each, sequences)
    shift = load_state(context, shape.conv_state)
    attention_shift = graph.view(shift, width, 1, sequences)
    normed = norm(context, x, traits)
    before = graph.make(normed.ne, attention_shift, graph.view(normed, width, each - 1, sequences))
    if shape.architecture in {"rwkv7", "arwkv7"}:
        mixed = _time_mix7(context, layer, normed, before, first)
    else:
        mixed = _time_mix6(context, layer, normed, before)
    if _distilled(context):
        save_state(context, graph.view(normed, width, 1, sequences))
        middle = graph.view(graph.inplace(mixed, x), *flat)
        if last:
            middle = pick_outputs(context, middle)
        fed = dense(context, layer, graph.inplace(middle, weights=True))
        return graph.inplace(fed, middle)
    middle = graph.inplace(mixed, x)
    second = norm(context, middle, traits)
    before = graph.make(
        second.ne,
        graph.view(shift, width, 1, sequences),
        graph.view(second, width, each - 1, sequences),
    )
    kept = graph.make(
        (width, 2, sequences),
        graph.view(normed, width, 1, sequences),
        graph.view(second, width, 1, sequences),
    )
    save_state(context, kept)
    parts = [graph.view(part, *flat) for part in (middle, second, before)]
    if last:
        parts = [pick_outputs(context, part) for part in parts]
    return graph.inplace(_channel_mix(context, layer, parts[1], parts[2]), parts[0])


def _channel_mix(context: GraphContext, layer: int, x: Node, before: Node) -> Node:
    graph = context.graph
    difference = graph.inplace(before, x)
    key_in = graph.inplace(graph.inplace(difference, weights=True), x)
    if context.has(layer, "channel_mix_receptance"):
        gate_in = graph.inplace(graph.inplace(difference, weights=True), x)
        gate = graph.inplace(graph.matmul(context.rows(layer, "channel_mix_receptance"), gate_in))
        key = graph.inplace(graph.matmul(context.rows(layer, "channel_mix_key"), key_in))
        value = graph.matmul(context.rows(layer, "channel_mix_value"), key)
        return graph.inplace(gate, value)
    key = graph.inplace(graph.matmul(context.rows(layer, "channel_mix_key"), key_in))
    return graph.matmul(context.rows(layer, "channel_mix_value"), key)


def _time_mix7(context: GraphContext, layer: int, x: Node, before: Node, first: list[Node]) -> Node:
    graph, shape = context.graph, context.shape
    width, tokens, sequences = shape.embedding_length, context.tokens, context.sequences
    each = tokens // sequences
    length = shape.wkv_head_size
    split = (length, width // length, tokens)
    gated = context.has(layer, "time_mix_g1")
    lanes = 6 if gated else 5
    difference = graph.inplace(before, x)
    spread = graph.make((width, each, sequences, lanes), difference)
    lerped = graph.inplace(graph.inplace(spread, weights=True), x)

    def lane() -> Node:
        return graph.view(lerped, width, tokens)

    def low_rank(name: str) -> Node:
        inner = graph.matmul(context.rows(layer, f"time_mix_{name}1"), lane())
        return graph.matmul(context.rows(layer, f"time_mix_{name}2"), inner)

    receptance = graph.matmul(width, lane())
    inner = graph.inplace(graph.matmul(context.rows(layer, "time_mix_w1"), lane()))
    decay = graph.inplace(graph.inplace(graph.matmul(width, inner)))
    key = graph.matmul(width, lane())
    value = graph.matmul(width, lane())
    if not first:
        first.append(value)
    else:
        gap = graph.inplace(first[0], value)
        mixed = graph.inplace(gap, graph.inplace(low_rank("v")))
        value = graph.inplace(value, mixed)
    rate = graph.inplace(low_rank("a"))
    normed_key = graph.make(split, graph.view(graph.inplace(key, weights=True), *split))
    scaled = graph.inplace(key, weights=True)
    key = graph.inplace(key, graph.inplace(graph.inplace(rate, scaled), scaled))
    state = load_state(context, shape.recurrent_state)
    size = width * tokens + width * length * sequences
    parts = [graph.view(part, *split) for part in (receptance, decay, key, value)]
    out = graph.make(
        (size,),
        *parts,
        graph.inplace(normed_key),
        graph.inplace(normed_key, graph.view(rate, *split)),
        state,
    )
    save_state(context, out)
    if context.has(layer, "time_mix_ln"):
        mixed = graph.view(out, *split)
        mixed = graph.view(graph.make(split, mixed), width, tokens)
        mixed = graph.inplace(mixed, weights=True)
    else:
        mixed = graph.view(out, width, tokens)
    bonus = graph.inplace(parts[2], parts[0])
    bonus = graph.inplace(bonus, graph.outside(layer, 4 * width))
    bonus = graph.make((1, *split[1:]), bonus)
    weighted = graph.view(graph.inplace(parts[3], bonus), width, tokens)
    mixed = graph.inplace(mixed, weighted)
    if gated:
        inner = graph.inplace(graph.matmul(context.rows(layer, "time_mix_g1"), lane()))
        mixed = graph.inplace(mixed, graph.matmul(width, inner))
    return graph.view(graph.matmul(width, mixed), width, each, sequences)


def _time_mix6(context: GraphContext, layer: int, x: Node, before: Node) -> Node:
    graph, shape = context.graph, context.shape
    width, tokens, sequences = shape.embedding_length, context.tokens, context.sequences
    each = tokens // sequences
    length = shape.wkv_head_size
    split = (length, width // length, tokens)
    difference = graph.view(graph.inplace(before, x), width, tokens)
    current = graph.view(x, width, tokens)
    base = graph.inplace(graph.inplace(difference, weights=True), current)
    low = context.rows(layer, "time_mix_w1")
    inner = graph.inplace(graph.matmul(low, base))
    inner = graph.make((low // 5, 1, tokens, 5), graph.view(inner, low // 5, 1, 5, tokens))
    matrices = graph.outside(layer, context.tensor(layer, "time_mix_w2").size_bytes)
    opened = graph.make((width, 1, tokens, 5), matrices, inner)
    fused = context.has(layer, "time_mix_lerp_fused")
    if fused:
        opened = graph.inplace(graph.inplace(opened, weights=True), difference)
        opened = graph.inplace(opened, current)

    def lane() -> Node:
        part = graph.view(opened, width, tokens)
        if fused:
            return part
        part = graph.inplace(graph.inplace(part, weights=True), difference)
        return graph.inplace(part, current)

    decay_in, key_in, value_in, receptance_in, gate_in = (lane() for _ in range(5))
    receptance = graph.matmul(width, receptance_in)
    key = graph.matmul(context.rows(layer, "time_mix_key"), key_in)
    value = graph.matmul(context.rows(layer, "time_mix_value"), value_in)
    if key.ne[0] != width:
        key, value = graph.make((width, tokens), key), graph.make((width, tokens), value)
    inner = graph.inplace(graph.matmul(context.rows(layer, "time_mix_decay_w1"), decay_in))
    decay = graph.inplace(graph.inplace(graph.matmul(width, inner)))
    parts = [graph.view(part, *split) for part in (key, value, receptance, decay)]
    if _distilled(context):
        parts[0] = graph.inplace(parts[0], graph.inplace(parts[0], parts[3]))
    state = load_state(context, shape.recurrent_state)
    size = width * tokens + width * length * sequences
    out = graph.make((size,), *parts, state, weights=not _distilled(context))
    save_state(context, out)
    if _distilled(context):
        mixed = graph.view(out, width, tokens)
    else:
        mixed = graph.view(graph.make(split, graph.view(out, *split)), width, tokens)
        mixed = graph.inplace(mixed, weights=True)
    gate = graph.inplace(graph.matmul(width, gate_in))
    mixed = graph.inplace(mixed, gate)
    return graph.view(graph.matmul(width, mixed), width, each, sequences)
