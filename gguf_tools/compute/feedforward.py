"""Feed-forward layers, dense and with experts.

Follows ``build_ffn`` and ``build_moe_ffn`` in src/llama-graph.cpp.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.graph import Node
from gguf_tools.compute.traits import ExpertTraits, Gating
from gguf_tools.hparams import Hyperparameters

__all__ = ["bounded", "dense", "experts", "experts_in_two_steps", "shared_expert"]

_GATINGS: Final[dict[int, Gating]] = {
    1: "softmax",
    2: "sigmoid",
    3: "weights",
    4: "sqrt_softplus",
}
_SIGMOID_BY_DEFAULT: Final = frozenset({"glm4moe", "glm-dsa", "step35", "hy_v3"})


def dense(
    context: GraphContext,
    layer: int,
    x: Node,
    *,
    prefix: str = "ffn",
    suffix: str = "",
    activation_steps: int = 1,
) -> Node:
    """Return the output of a dense feed-forward layer.

    A gate beside ``up`` gives a gated product, one new result; without a gate ``up`` is either
    twice as wide and gates itself, or goes through an activation in place.
    """
    graph = context.graph
    up_rows = context.rows(layer, f"{prefix}_up{suffix}")
    down = context.tensor(layer, f"{prefix}_down{suffix}")
    up = graph.matmul(up_rows, x) if up_rows else x
    if context.has(layer, f"{prefix}_gate{suffix}"):
        gate = graph.matmul(context.rows(layer, f"{prefix}_gate{suffix}"), x)
        hidden = graph.make(gate.ne, gate, up)
    elif up_rows == 2 * down.extent(0):
        hidden = graph.make((up_rows // 2, *up.ne[1:]), up)
    else:
        hidden = up
        for _ in range(activation_steps):
            hidden = graph.inplace(hidden)
    return graph.matmul(down.extent(1), hidden)


def shared_expert(context: GraphContext, layer: int, x: Node) -> Node | None:
    """Return the output of the expert that all tokens use, None if there is none."""
    if not context.has(layer, "ffn_up_shexp"):
        return None
    graph = context.graph
    out = dense(context, layer, x, suffix="_shexp")
    if not context.has(layer, "ffn_gate_inp_shexp"):
        return out
    gate = graph.matmul(1, x)
    if context.shape.architecture == "qwen2moe":  # silu(g) / g stands for a sigmoid there
        return graph.inplace(out, graph.inplace(graph.inplace(gate), gate))
    return graph.inplace(out, graph.inplace(gate))


def experts(
    context: GraphContext,
    layer: int,
    x: Node,
    traits: ExpertTraits,
    *,
    logits: Node | None = None,
    used: int | None = None,
    suffix: str = "exps",
    by_group: bool = False,
) -> Node:
    """Return the weighted sum of the chosen experts' outputs.

    ``by_group``: one expert stands for a group of those that were chosen (GroveMoE).
    """
    graph, shape = context.graph, context.shape
    tokens = x.ne[1]
    count = shape.experts
    used = shape.experts_used[layer] if used is None else used
    gating = traits.gating or _GATINGS.get(shape.experts_gating) or _default_gating(shape)
    normed = shape.experts_normed if traits.normed is None else traits.normed
    if logits is None:
        logits = graph.matmul(count, x)
    probs = logits if gating == "weights" else graph.inplace(logits)
    if gating == "sqrt_softplus":
        probs = graph.inplace(probs)
    selection = logits if traits.before else probs
    if shape.architecture == "grovemoe":
        selection = graph.inplace(logits)
    if context.has(layer, "exp_probs_b", "bias"):
        selection = graph.inplace(probs, weights=True)
    if shape.expert_groups > 1:
        selection = _grouped(context, selection, count)
    chosen = graph.view(graph.make((count, tokens), selection), used, tokens)
    if by_group:  # divided as floats
        divided = graph.inplace(graph.make(chosen.ne, chosen))
        chosen = graph.make(chosen.ne, divided)
    weights = graph.make((1, used, tokens), graph.view(probs, 1, count, tokens), chosen)
    if gating == "weights":
        weights = graph.inplace(graph.view(weights, used, tokens))
        weights = graph.view(weights, 1, used, tokens)
    if normed:
        flat = graph.view(weights, used, tokens)
        total = graph.inplace(graph.make((1, tokens), flat))
        weights = graph.view(graph.inplace(flat, total), 1, used, tokens)
    if shape.experts_scale not in {0.0, 1.0}:
        weights = graph.inplace(weights)
    graph.expand(weights)
    spread = graph.view(x, x.ne[0], 1, tokens)
    if traits.before:
        repeated = graph.make((x.ne[0], used, tokens), spread)
        spread = graph.inplace(repeated, weights)
    hidden = _hidden(context, layer, spread, chosen, used, suffix, traits.activation_steps)
    down = context.tensor(layer, f"ffn_down_{suffix}")
    out = context.routed(down.extent(1), used, hidden, chosen)
    if not traits.before:
        out = graph.inplace(out, weights)
    graph.expand(out)
    return _summed(context, out, used)


def experts_in_two_steps(context: GraphContext, layer: int, x: Node, traits: ExpertTraits) -> Node:
    """Return the experts' output with that of smaller ones that see it (GroveMoE)."""
    graph, shape = context.graph, context.shape
    logits = graph.matmul(shape.experts, x)
    first = experts(context, layer, x, traits, logits=logits)
    most = context.tensor(layer, "ffn_up_chexps").extent(2)
    used = min(shape.experts_used[layer], most)
    second = experts(
        context, layer, first, traits, logits=logits, used=used, suffix="chexps", by_group=True
    )
    return graph.inplace(first, graph.inplace(second))


def _hidden(
    context: GraphContext,
    layer: int,
    x: Node,
    chosen: Node,
    used: int,
    suffix: str,
    activation_steps: int,
) -> Node:
    graph = context.graph
    tokens = chosen.ne[1]
    both = context.tensors.get(f"blk.{layer}.ffn_gate_up_{suffix}.weight")
    if both is not None:
        fused = context.routed(both.extent(1), used, x, chosen)
        half = both.extent(1) // 2
        gate = graph.view(fused, half, used, tokens)
        up = graph.view(fused, half, used, tokens)
        return graph.make((half, used, tokens), gate, up)
    width = context.tensor(layer, f"ffn_up_{suffix}").extent(1)
    up = context.routed(width, used, x, chosen)
    if not context.has(layer, f"ffn_gate_{suffix}"):
        for _ in range(activation_steps):
            up = graph.inplace(up)
        return up
    gate = context.routed(width, used, x, chosen)
    if context.shape.architecture == "kimi-k3":
        return bounded(context, gate, up)
    return graph.make((width, used, tokens), gate, up)


def bounded(context: GraphContext, gate: Node, up: Node) -> Node:
    """Return a gated product of which both sides are bounded by a tangent (``LLM_FFN_SITU``)."""
    graph = context.graph
    opened = graph.inplace(graph.inplace(gate), graph.inplace(gate))
    return graph.inplace(opened, up)


def _default_gating(shape: Hyperparameters) -> Gating:
    return "sigmoid" if shape.architecture in _SIGMOID_BY_DEFAULT else "softmax"


def _grouped(context: GraphContext, selection: Node, count: int) -> Node:
    """Return the scores with all but the best groups of experts struck out."""
    graph = context.graph
    tokens = selection.ne[1]
    groups = context.shape.expert_groups
    each = count // groups
    split = graph.view(selection, each, groups, tokens)
    best = graph.view(graph.make((each, groups, tokens), split), 2, groups, tokens)
    scores = graph.make((1, 2, groups, tokens), graph.view(split, 1, each, groups, tokens), best)
    total = graph.make((1, groups, tokens), graph.view(scores, 2, groups, tokens))
    order = graph.make((groups, tokens), graph.view(total, groups, tokens))
    kept = graph.view(order, context.shape.expert_groups_used, tokens)
    picked = graph.make((each, context.shape.expert_groups_used, tokens), split, kept)
    struck = graph.inplace(split)
    # set_rows(destination, rows, indices) writes into the struck-out scores; its order of sources
    # is rows, indices, destination.
    merged = Node(struck.ne, (picked, kept, struck), root=struck)
    return graph.view(merged, count, tokens)


def _summed(context: GraphContext, out: Node, used: int) -> Node:
    graph = context.graph
    width, tokens = out.ne[0], out.ne[2]
    parts = []
    for _ in range(used):
        part = graph.view(out, width, tokens)
        graph.expand(part)
        parts.append(part)
    total = parts[0]
    for part in parts[1:]:
        total = graph.inplace(total, part)
        graph.expand(total)
    return graph.make((width, tokens), total) if used == 1 else total
