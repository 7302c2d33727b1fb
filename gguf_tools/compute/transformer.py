"""The graph of a model made of layers: embedding, layers, output.

Follows the ``graph`` constructors in src/models/*.cpp, which differ in few things; `traits`
holds those.
"""

from __future__ import annotations

from gguf_tools.compute.attention import attend, project
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.feedforward import (
    dense,
    experts,
    experts_in_two_steps,
    shared_expert,
)
from gguf_tools.compute.graph import Node
from gguf_tools.compute.latent import latent_attention
from gguf_tools.compute.recurrent import (
    delta_net,
    kda,
    lightning,
    mamba,
    mamba2,
    plamo2_mamba,
    short_convolution,
)
from gguf_tools.compute.traits import Traits

__all__ = ["build_transformer", "feed_forward", "finish", "norm", "pick_outputs"]


def norm(context: GraphContext, x: Node, traits: Traits) -> Node:
    """Return ``x`` normed; RMS norms may overwrite it, others never do."""
    graph = context.graph
    if context.shape.loops > 1:
        # Weights of another layer may follow, and then the norm runs where its input does.
        return graph.inplace(graph.inplace(x), weights=True)
    if traits.layer_norm:
        return graph.make(x.ne, x, weights=True)
    return graph.inplace(x, weights=True)


def pick_outputs(context: GraphContext, x: Node) -> Node:
    """Return the rows of ``x`` that are wanted."""
    return context.graph.make((x.ne[0], context.outputs), x, context.output_ids)


def finish(context: GraphContext, x: Node, traits: Traits) -> None:
    """Add the last norm and the output matrix."""
    graph = context.graph
    graph.owner = context.shape.layers_all
    if traits.pick == "before_norm":
        x = pick_outputs(context, graph.output(x))
    last = graph.output(norm(context, x, traits))
    if traits.pick == "after_norm":
        last = graph.output(pick_outputs(context, last))
    if not context.generates:
        graph.expand(last)
        return
    logits = graph.matmul(context.vocabulary, last)
    for _ in range(traits.logit_steps):
        logits = graph.inplace(logits)
    graph.expand(graph.output(logits))


def build_transformer(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of a model that has the given layers."""
    graph = context.graph
    x = context.embedded(scale=traits.scaled_embedding)
    if traits.position_table and "position_embd.weight" in context.tensors:
        positions = graph.make(x.ne, context.positions, weights=True)
        x = graph.inplace(x, positions)
    if traits.embedding_norm:
        graph.owner = 0
        x = norm(context, x, traits)
    embedded = x
    each = context.shape.layers // context.shape.loops
    for layer in layers:
        last = layer == layers[-1] and traits.pick == "last_layer"
        graph.owner = layer % each  # looped models run the same matrices again
        before = context.shape.architecture.startswith("granite")
        if before:
            x = _with_image(context, layer, x)
        x = _layer(context, layer, x, traits, last=last)
        if not before:
            x = _with_image(context, layer, x)
        if context.shape.architecture == "talkie":  # every layer sees the embedding again
            again = pick_outputs(context, embedded) if last else embedded
            x = graph.inplace(x, graph.inplace(again, weights=True))
        if context.shape.loops > 1 and (layer + 1) % each == 0 and layer != layers[-1]:
            graph.owner = context.shape.layers_all
            x = norm(context, x, traits)
    finish(context, x, traits)


def _with_image(context: GraphContext, layer: int, x: Node) -> Node:
    """Return ``x`` with the part of the input that the layer takes, where there are such parts."""
    if context.wide is None or layer not in context.shape.deepstack:
        return x
    return context.graph.inplace(x, context.graph.view(context.wide, *x.ne))


def _layer(context: GraphContext, layer: int, x: Node, traits: Traits, *, last: bool) -> Node:
    graph, shape = context.graph, context.shape
    if shape.heads[layer] == 0 and shape.architecture == "deci":
        return _headless(context, layer, x, traits, last=last)
    if shape.architecture == "falcon-h1":
        return _two_mixers(context, layer, x, traits, last=last)
    if traits.residual_normed:
        return _normed_residual(context, layer, x, traits, last=last)
    if traits.single_block:
        build = feed_forward if shape.feed_forward[layer] else mix
        return graph.inplace(build(context, layer, norm(context, x, traits), traits), x)
    router = graph.matmul(shape.experts, x) if traits.early_router else None
    normed = norm(context, x, traits) if traits.pre_norm else x
    if traits.norm_first:
        graph.expand(normed)
    inner = normed
    if context.has(layer, "attn_norm_2") and traits.parallel:
        inner = norm(context, x, traits)
    attended = mix(context, layer, inner, traits)
    residual = x
    if last:
        attended = pick_outputs(context, attended)
        residual = pick_outputs(context, residual)
        if traits.parallel == "shared":
            normed = pick_outputs(context, normed)
        if router is not None:
            router = pick_outputs(context, router)
    if traits.parallel:
        fed_in = normed if traits.parallel == "shared" else norm(context, residual, traits)
        fed = feed_forward(context, layer, fed_in, traits)
        if traits.parallel_order == "ffn_first":
            return graph.inplace(graph.inplace(fed, residual), attended)
        if traits.parallel_order == "ffn_attention":
            return graph.inplace(graph.inplace(fed, attended), residual)
        return graph.inplace(graph.inplace(attended, fed), residual)
    if traits.post_norm or _post_attention(context, layer):
        attended = norm(context, attended, traits)
    if traits.residual_first in {"attention", "both"}:
        middle = graph.inplace(residual, attended)
    else:
        middle = graph.inplace(attended, residual)
    if not _feeds(context, layer):
        return middle
    if context.has(layer, "ffn_norm_exps"):
        return _experts_beside(context, layer, middle, residual, traits)
    fed = norm(context, middle, traits) if traits.pre_norm else middle
    fed = feed_forward(context, layer, fed, traits, router=router)
    if traits.post_norm or context.has(layer, "post_ffw_norm"):
        fed = norm(context, fed, traits)
    if traits.residual_first in {"ffn", "both"}:
        return graph.inplace(middle, fed)
    return graph.inplace(fed, middle)


def _two_mixers(context: GraphContext, layer: int, x: Node, traits: Traits, *, last: bool) -> Node:
    """Return a layer of attention beside a state (Falcon H1), which norms its input for each."""
    graph = context.graph
    attended = _attention(context, layer, norm(context, x, traits), traits)
    mixed = mamba2(context, layer, norm(context, x, traits))
    middle = graph.inplace(graph.inplace(attended, mixed), x)
    if last:
        middle = pick_outputs(context, middle)
    fed = feed_forward(context, layer, norm(context, middle, traits), traits)
    return graph.inplace(fed, middle)


def _normed_residual(
    context: GraphContext, layer: int, x: Node, traits: Traits, *, last: bool
) -> Node:
    """Return a layer whose parts are added to their normed input, scaled (MiniMax 01)."""
    graph = context.graph
    residual = norm(context, x, traits)
    mixed = mix(context, layer, residual, traits)
    if last:
        mixed, residual = pick_outputs(context, mixed), pick_outputs(context, residual)
    middle = graph.inplace(mixed, graph.inplace(residual))
    residual = norm(context, middle, traits)
    fed = feed_forward(context, layer, residual, traits)
    return graph.inplace(fed, graph.inplace(residual))


def _experts_beside(
    context: GraphContext, layer: int, x: Node, inputs: Node, traits: Traits
) -> Node:
    """Return a dense layer's output plus that of experts that see the layer's input (Arctic)."""
    graph = context.graph
    fed = graph.inplace(dense(context, layer, norm(context, x, traits)), x)
    routed = experts(context, layer, norm(context, inputs, traits), traits.experts)
    return graph.inplace(routed, fed)


def _post_attention(context: GraphContext, layer: int) -> bool:
    """Tell whether a norm follows attention; some models call their second norm so."""
    return context.has(layer, "post_attention_norm") and context.has(layer, "ffn_norm")


def _feeds(context: GraphContext, layer: int) -> bool:
    return any(
        context.has(layer, name)
        for name in ("ffn_down", "ffn_down_exps", "ffn_gate_inp", "ffn_up_shexp")
    )


def _headless(context: GraphContext, layer: int, x: Node, traits: Traits, *, last: bool) -> Node:
    """Return a layer that only feeds forward (Deci's pruned layers)."""
    if last:
        x = pick_outputs(context, x)
    if not _feeds(context, layer):
        return x
    fed = feed_forward(context, layer, norm(context, x, traits), traits)
    return context.graph.inplace(fed, x)


def mix(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    """Return what a layer takes from other tokens: by attention, by a state, or by both."""
    shape = context.shape
    if shape.recurrent[layer]:
        if shape.architecture == "plamo2":
            return plamo2_mamba(context, layer, x)
        if shape.kda_head_length:
            return kda(context, layer, x)
        if shape.shortconv_cache:
            return short_convolution(context, x)
        if shape.linear_head_length:
            return lightning(context, layer, x)
        if context.has(layer, "attn_gate"):
            return delta_net(context, layer, x)
        return mamba2(context, layer, x) if shape.group_count else mamba(context, layer, x)
    if context.has(layer, "attn_kv_a_mqa"):
        return latent_attention(context, layer, x, rope=traits.attention.rope != "never")
    return _attention(context, layer, x, traits)


def _attention(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    graph, shape = context.graph, context.shape
    rows = context.rows(layer, "attn_output")
    if shape.kv_heads[layer] == 0:  # Deci: attention replaced by one matrix
        return graph.matmul(rows, x)
    head = shape.head_k(layer)
    gated = context.rows(layer, "attn_q") == 2 * shape.heads[layer] * head
    if gated:
        return _gated_query(context, layer, x)
    q, k, v = project(context, layer, x, traits.attention)
    if traits.scaled_q:
        q = graph.inplace(q)
    out = attend(context, layer, q, k, v, soft_cap=traits.soft_cap)
    if context.has(layer, "attn_gate"):
        gate_rows = context.rows(layer, "attn_gate")
        gate = graph.inplace(graph.matmul(gate_rows, x))
        heads, value = shape.heads[layer], shape.head_v(layer)
        if gate_rows == heads:
            split = graph.view(out, value, heads, context.tokens)
            gated_out = graph.inplace(split, graph.view(gate, 1, heads, context.tokens))
            out = graph.view(gated_out, *out.ne)
        else:
            out = graph.inplace(out, gate)
    if context.has(layer, "attn_sub_norm"):
        out = graph.inplace(out, weights=True)
    return graph.matmul(rows, out) if rows else out


def _gated_query(context: GraphContext, layer: int, x: Node) -> Node:
    """Return attention whose query matrix holds a gate as well (Qwen3-Next, Qwen3.5)."""
    graph, shape = context.graph, context.shape
    heads, kv_heads, tokens = shape.heads[layer], shape.kv_heads[layer], context.tokens
    head, value = shape.head_k(layer), shape.head_v(layer)
    both = graph.matmul(2 * heads * head, x)
    q = graph.inplace(graph.view(both, head, heads, tokens), weights=True)
    q = graph.inplace(q, context.positions)
    k = graph.view(graph.matmul(kv_heads * head, x), head, kv_heads, tokens)
    k = graph.inplace(graph.inplace(k, weights=True), context.positions)
    v = graph.view(graph.matmul(kv_heads * value, x), value, kv_heads, tokens)
    gate = graph.make((head * heads, tokens), graph.view(both, head, heads, tokens))
    out = attend(context, layer, q, k, v)
    out = graph.inplace(out, graph.inplace(gate))
    return graph.matmul(context.rows(layer, "attn_output"), out)


def _is_passed_over(context: GraphContext, layer: int) -> bool:
    """Tell whether a layer has experts and runs an activation alone (src/models/ernie4-5-moe.cpp).

    The file has experts in every layer past the lead; with a step of more than 1 the graph runs a
    dense layer in between, of which there are no matrices.
    """
    shape = context.shape
    if shape.architecture != "ernie4_5-moe" or shape.expert_step <= 1:
        return False
    return layer >= shape.dense_lead and (layer + 1) % shape.expert_step != 0


def feed_forward(
    context: GraphContext, layer: int, x: Node, traits: Traits, *, router: Node | None = None
) -> Node:
    """Return the output of a layer's feed-forward part, dense or with experts."""
    if _is_passed_over(context, layer):
        return context.graph.inplace(x)
    if context.has(layer, "ffn_up_chexps"):
        return experts_in_two_steps(context, layer, x, traits.experts)
    if not context.has(layer, "ffn_gate_inp"):
        return dense(context, layer, x, activation_steps=traits.activation_steps)
    routed = experts(context, layer, x, traits.experts, logits=router)
    shared = shared_expert(context, layer, x)
    return routed if shared is None else context.graph.inplace(routed, shared)
