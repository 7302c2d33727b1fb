"""Layers that carry a state: Mamba, Mamba 2, short convolutions, delta nets.

Follows src/models/mamba-base.cpp, lfm2.cpp, delta-net-base.cpp, qwen3next.cpp, qwen35.cpp and
kimi-linear.cpp, and ``build_rs`` in src/llama-graph.cpp.
"""

from __future__ import annotations

from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.graph import Node

__all__ = [
    "delta_net",
    "kda",
    "lightning",
    "load_state",
    "mamba",
    "mamba2",
    "plamo2_mamba",
    "save_state",
    "short_convolution",
]


def load_state(context: GraphContext, size: int) -> Node:
    """Return the sequences' states, read out of the state buffer."""
    graph = context.graph
    graph.write(context.cache_place(graph.owner))  # clears one state
    states = graph.make((size, context.sequences), _state_rows(context))
    graph.expand(states)
    _move_rest(context, size)
    return states


def _state_rows(context: GraphContext) -> Node:
    """Return where the states of the batch's sequences lie, the same view each time."""
    return _rows_of(context, "state_rows_main", context.sequences)


def _rows_of(context: GraphContext, name: str, count: int) -> Node:
    rows = context.inputs.get(name)
    if rows is None:
        every = context.input("state_rows", context.sequences)
        rows = context.inputs[name] = context.graph.view(every, count)
    return rows


def _move_rest(context: GraphContext, size: int) -> None:
    """Add the copy of states that the batch leaves alone; none are, when memory is reserved."""
    graph = context.graph
    rest = graph.make((size, 0), _rows_of(context, "state_rows_extra", 0))
    graph.write(context.cache_place(graph.owner), rest)


def save_state(context: GraphContext, x: Node) -> None:
    """Add the copy of a state back into its buffer."""
    graph = context.graph
    graph.write(context.cache_place(graph.owner), graph.view(x, *x.ne))


def _convolved(context: GraphContext, x: Node, kernel: int, channels: int) -> Node:
    """Return channels after their short causal convolution; the tail of the input is saved."""
    graph = context.graph
    sequences = context.sequences
    each = context.tokens // sequences
    tail = load_state(context, (kernel - 1) * channels)
    tail = graph.view(tail, kernel - 1, channels, sequences)
    joined = graph.make((kernel - 1 + each, channels, sequences), tail, x)
    save_state(context, joined)
    return graph.make((channels, each, sequences), joined, weights=True)


def mamba(context: GraphContext, layer: int, x: Node) -> Node:
    """Return the output of a Mamba block."""
    graph, shape = context.graph, context.shape
    inner, state, rank = shape.inner_size, shape.state_size, shape.time_step_rank
    sequences = context.sequences
    each = context.tokens // sequences
    pair = graph.matmul(2 * inner, graph.view(x, x.ne[0], each, sequences))
    signal = graph.view(pair, inner, each, sequences)
    gate = graph.view(pair, inner, each, sequences)
    signal = graph.inplace(_convolved(context, signal, shape.conv_kernel, inner))
    mixed = graph.matmul(rank + 2 * state, signal)
    step = graph.make((rank, each, sequences), graph.view(mixed, rank, each, sequences))
    b: Node = graph.view(mixed, state, 1, each, sequences)
    c: Node = graph.view(mixed, state, 1, each, sequences)
    if context.has(layer, "ssm_dt_norm"):
        step = graph.inplace(step, weights=True)
        b, c = graph.inplace(b, weights=True), graph.inplace(c, weights=True)
    step = graph.matmul(inner, step)
    scanned = _scan(context, graph.view(signal, 1, inner, each, sequences), step, b, c)
    y = graph.view(scanned, inner, each, sequences)
    y = graph.inplace(y, graph.inplace(signal, weights=True))
    y = graph.make(y.ne, graph.make(y.ne, gate), y)
    out = graph.matmul(context.rows(layer, "ssm_out"), y)
    return graph.view(out, out.ne[0], context.tokens)


def _scan(
    context: GraphContext, x: Node, step: Node, b: Node, c: Node, decay: Node | None = None
) -> Node:
    """Return the scan's output, followed by the new states, which are saved.

    ``decay`` is another view of that weight, which does not tie the scan to the layer's device.
    """
    graph, shape = context.graph, context.shape
    size = shape.inner_size * (context.tokens + shape.state_size * context.sequences)
    graph.write(context.cache_place(graph.owner))
    if decay is None:
        scanned = graph.make((size,), x, step, b, c, _state_rows(context), weights=True)
    else:
        scanned = graph.make((size,), x, step, decay, b, c, _state_rows(context))
    graph.expand(scanned)
    _move_rest(context, shape.recurrent_state)
    save_state(context, scanned)
    return scanned


def mamba2(context: GraphContext, layer: int, x: Node) -> Node:
    """Return the output of a Mamba 2 block."""
    graph, shape = context.graph, context.shape
    inner, state = shape.inner_size, shape.state_size
    heads, groups = shape.time_step_rank, shape.group_count
    sequences = context.sequences
    each = context.tokens // sequences
    length = inner // heads
    channels = inner + 2 * groups * state
    tail = load_state(context, (shape.conv_kernel - 1) * channels)
    mixed = graph.matmul(context.rows(layer, "ssm_in"), x)
    gate = graph.view(mixed, length, heads, each, sequences)
    signal = graph.view(mixed, channels, each, sequences)
    step = graph.view(mixed, heads, each, sequences)
    tail = graph.view(tail, shape.conv_kernel - 1, channels, sequences)
    joined = graph.make((shape.conv_kernel - 1 + each, channels, sequences), tail, signal)
    save_state(context, joined)
    signal = graph.inplace(graph.make((channels, each, sequences), joined, weights=True))
    part = graph.view(signal, length, heads, each, sequences)
    b = graph.view(signal, state, groups, each, sequences)
    c = graph.view(signal, state, groups, each, sequences)
    step = graph.make((heads, each, sequences), step, weights=True)
    scanned = _scan(context, part, step, b, c)
    y = graph.view(scanned, length, heads, each, sequences)
    y = graph.inplace(y, graph.inplace(part, weights=True))
    y = graph.make(y.ne, graph.make(y.ne, gate), y)
    if context.has(layer, "ssm_norm"):
        y = graph.view(y, inner // groups, groups, each, sequences)
        y = graph.inplace(y, weights=True)
    y = graph.view(y, inner, context.tokens)
    return graph.matmul(context.rows(layer, "ssm_out"), y)


def plamo2_mamba(context: GraphContext, layer: int, x: Node) -> Node:
    """Return the output of PLaMo 2's Mamba block, whose step, B and C are normed."""
    graph, shape = context.graph, context.shape
    inner, state, heads = shape.inner_size, shape.state_size, shape.time_step_rank
    sequences = context.sequences
    each = context.tokens // sequences
    grid = (inner // heads, heads, each, sequences)
    tail = load_state(context, (shape.conv_kernel - 1) * inner)
    mixed = graph.matmul(2 * inner, graph.view(x, x.ne[0], each, sequences))
    mixed = graph.make((2 * grid[0], *grid[1:]), mixed)
    signal = graph.make((inner, each, sequences), graph.view(mixed, *grid))
    tail = graph.view(tail, shape.conv_kernel - 1, inner, sequences)
    joined = graph.make((shape.conv_kernel - 1 + each, inner, sequences), tail, signal)
    save_state(context, joined)
    signal = graph.inplace(graph.make((inner, each, sequences), joined, weights=True))
    parts = graph.matmul(context.rows(layer, "ssm_x"), signal)
    rank = context.tensor(layer, "ssm_dt").extent(0)
    step = graph.inplace(graph.view(parts, rank, each, sequences), weights=True)
    b = graph.inplace(graph.view(parts, state, each, sequences), weights=True)
    c = graph.inplace(graph.view(parts, state, each, sequences), weights=True)
    step = graph.matmul(heads, step)
    part = graph.view(signal, *grid)
    b, c = (graph.view(item, state, 1, each, sequences) for item in (b, c))
    scanned = _scan(context, part, step, b, c, graph.outside(layer, 4 * heads))
    gate = graph.make(grid, graph.view(mixed, *grid))
    y = graph.inplace(part, graph.outside(layer, 4 * heads))
    y = graph.make(grid, gate, graph.inplace(graph.view(scanned, *grid), y))
    out = graph.matmul(context.rows(layer, "ssm_out"), graph.view(y, inner, each, sequences))
    return graph.view(out, out.ne[0], context.tokens)


def short_convolution(context: GraphContext, x: Node) -> Node:
    """Return the output of a gated short convolution."""
    graph, shape = context.graph, context.shape
    width, kernel = shape.embedding_length, shape.shortconv_cache
    sequences = context.sequences
    each = context.tokens // sequences
    mixed = graph.matmul(3 * width, x)
    b = graph.view(mixed, width, each, sequences)
    c = graph.view(mixed, width, each, sequences)
    signal = graph.view(mixed, width, each, sequences)
    product = graph.inplace(b, signal)
    tail = load_state(context, (kernel - 1) * width)
    tail = graph.view(tail, kernel - 1, width, sequences)
    joined = graph.make((kernel - 1 + each, width, sequences), tail, graph.view(product, *b.ne))
    save_state(context, joined)
    out = graph.make((width, each, sequences), joined, weights=True)
    y = graph.inplace(c, out)
    return graph.matmul(width, graph.view(y, width, context.tokens))


def _fused_delta(
    context: GraphContext, q: Node, k: Node, v: Node, gate: Node, beta: Node, state: Node
) -> Node:
    """Return the attention part of the fused delta rule; the new state behind it is saved."""
    graph = context.graph
    length, heads = v.ne[0], v.ne[1]
    size = length * heads * (context.tokens + length * context.sequences)
    fused = graph.make((size,), q, k, v, gate, beta, state)
    out = graph.view(fused, length, heads, context.tokens)
    save_state(context, fused)
    return out


def delta_net(context: GraphContext, layer: int, x: Node) -> Node:
    """Return the output of a gated delta net (Qwen3-Next, Qwen3.5)."""
    graph, shape = context.graph, context.shape
    heads, groups, key = shape.time_step_rank, shape.group_count, shape.state_size
    value = shape.inner_size // heads
    channels = shape.inner_size + 2 * groups * key
    tokens = context.tokens
    mixed = graph.matmul(channels, x)
    gate = graph.matmul(shape.inner_size, x)
    if context.has(layer, "ssm_ba"):
        both = graph.matmul(2 * heads, x)
        beta = graph.inplace(graph.make((heads, tokens), both))
        alpha = graph.make((heads, tokens), both)
    else:
        beta = graph.inplace(graph.matmul(heads, x))
        alpha = graph.matmul(heads, x)
    alpha = graph.inplace(alpha, weights=True)
    convolved = graph.inplace(_convolved(context, mixed, shape.conv_kernel, channels))
    state = load_state(context, shape.recurrent_state)
    q = graph.make((key, groups, tokens), graph.view(convolved, key, groups, tokens))
    k = graph.make((key, groups, tokens), graph.view(convolved, key, groups, tokens))
    if context.has(layer, "ssm_ba") and groups != heads:
        q = graph.view(graph.make((key, heads, tokens), q), key, heads, tokens)
        k = graph.view(graph.make((key, heads, tokens), k), key, heads, tokens)
    v = graph.view(convolved, value, heads, tokens)
    out = _fused_delta(context, q, k, v, alpha, beta, state)
    normed = graph.inplace(out, weights=True)
    gated = graph.inplace(normed, graph.inplace(graph.view(gate, value, heads, tokens)))
    out = graph.matmul(shape.embedding_length, graph.view(gated, shape.inner_size, tokens))
    return graph.view(out, shape.embedding_length, tokens)


def kda(context: GraphContext, layer: int, x: Node) -> Node:
    """Return the output of Kimi's delta attention, with a decay for every channel."""
    graph, shape = context.graph, context.shape
    heads, length = shape.heads[0], shape.kda_head_length
    width, tokens = heads * length, context.tokens
    kernel = shape.conv_kernel
    sequences = context.sequences
    each = tokens // sequences
    tail = load_state(context, 3 * (kernel - 1) * width)
    fused = graph.matmul(3 * width, x) if context.has(layer, "attn_qkv") else None
    parts = []
    for name in ("q", "k", "v"):
        if fused is not None:
            projected = graph.make((width, tokens), graph.view(fused, width, tokens))
        else:
            projected = graph.matmul(width, x)
        joined = graph.make(
            (kernel - 1 + each, width, sequences),
            graph.view(tail, kernel - 1, width, sequences),
            graph.view(projected, width, tokens),
        )
        save_state(context, joined)
        weights = graph.outside(layer, context.tensor(layer, f"ssm_conv1d_{name}").size_bytes)
        convolved = graph.make((width, each, sequences), joined, weights)
        convolved = graph.inplace(graph.view(convolved, width, tokens))
        parts.append(graph.view(convolved, length, heads, tokens))
    decay = graph.view(graph.inplace(_low_rank(context, layer, "f", x)), length, heads, tokens)
    decay = graph.inplace(decay, graph.outside(layer, 4 * heads))
    beta = graph.inplace(graph.view(graph.matmul(heads, x), 1, heads, tokens))
    q, k = (graph.inplace(part) for part in parts[:2])
    state = load_state(context, shape.recurrent_state)
    out = _fused_delta(context, q, k, parts[2], decay, beta, state)
    out = graph.make(out.ne, out)
    if context.has(layer, "ssm_g"):
        gate = graph.matmul(width, x)
    else:
        gate = _low_rank(context, layer, "g", x)
    normed = graph.inplace(graph.view(out, length, heads, tokens), weights=True)
    gated = graph.inplace(normed, graph.inplace(graph.view(gate, length, heads, tokens)))
    gated = graph.make((width, tokens), gated)
    return graph.matmul(shape.embedding_length, gated)


def _low_rank(context: GraphContext, layer: int, name: str, x: Node) -> Node:
    """Return ``x`` times a matrix that may be held as two narrow ones."""
    graph = context.graph
    out = graph.matmul(context.rows(layer, f"ssm_{name}_a"), x)
    rows = context.rows(layer, f"ssm_{name}_b")
    return graph.matmul(rows, out) if rows else out


def lightning(context: GraphContext, layer: int, x: Node) -> Node:
    """Return the output of a linear attention layer with decay (MiniMax 01)."""
    graph, shape = context.graph, context.shape
    heads, length = shape.heads[layer], shape.linear_head_length
    sequences = context.sequences
    each = context.tokens // sequences
    width = heads * length
    load_state(context, 0)
    state = load_state(context, shape.recurrent_state)
    x = graph.view(x, x.ne[0], each, 1, sequences)
    mixed = graph.inplace(graph.matmul(3 * width, x))
    grid = (length, heads, each, sequences)
    state = graph.view(state, length, length, heads, sequences)
    q, v, k = (graph.view(mixed, *grid) for _ in range(3))
    decay = graph.inplace(context.input("query_decay", 1, *grid[1:]))
    outer = graph.make((length, each, heads, sequences), state, graph.inplace(q, decay))
    values = graph.make((each, length, heads, sequences), v)
    pairs = (each, each, heads, sequences)
    scores = graph.make(pairs, k, q)
    scores = graph.inplace(scores, graph.inplace(context.input("diagonal_decay", *pairs)))
    inner = graph.make((length, each, heads, sequences), values, scores)
    summed = graph.inplace(outer, inner)
    graph.expand(summed)
    slopes = graph.inplace(context.input("slopes", heads))
    old = graph.inplace(state, graph.view(slopes, 1, 1, heads))
    decay = graph.inplace(context.input("key_decay", 1, *grid[1:]))
    kept = graph.inplace(k, decay)
    kept = graph.make((each, length, heads, sequences), kept)
    fresh = graph.make((length, length, heads, sequences), kept, values)
    save_state(context, graph.inplace(old, fresh))
    gate = graph.inplace(graph.matmul(width, x))
    out = graph.view(graph.make(grid, summed), width, each, 1, sequences)
    out = graph.inplace(gate, graph.inplace(out, weights=True))
    out = graph.matmul(shape.embedding_length, out)
    return graph.view(out, shape.embedding_length, context.tokens)
