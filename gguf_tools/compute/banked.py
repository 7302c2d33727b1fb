"""Kimi K3: layers that see a mix of what entered earlier ones, experts in a narrower space.

Follows src/models/kimi-k3.cpp: every so-manieth layer banks its input and starts the residual
stream anew; what a layer reads is weighted over all that was banked and the stream itself.
"""

from __future__ import annotations

from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.feedforward import bounded, experts
from gguf_tools.compute.graph import Node
from gguf_tools.compute.latent import latent_attention
from gguf_tools.compute.recurrent import kda
from gguf_tools.compute.traits import Traits
from gguf_tools.compute.transformer import finish, pick_outputs

__all__ = ["build_banked"]


def build_banked(context: GraphContext, layers: tuple[int, ...], traits: Traits) -> None:
    """Add the graph of a model that mixes earlier layers' inputs."""
    graph, shape = context.graph, context.shape
    x = context.embedded()
    bank: Node | None = None
    for layer in layers:
        graph.owner = layer
        mixed = _mixed(context, x, bank)
        banks = shape.residual_block > 0 and layer % shape.residual_block == 0
        if banks:
            bank = _banked(context, x, bank)
        normed = graph.inplace(mixed, weights=True)
        graph.expand(normed)
        if shape.recurrent[layer]:
            out = kda(context, layer, normed)
        else:
            out = latent_attention(context, layer, normed, rope=False)
        x = out if banks else graph.inplace(x, out)
        normed = graph.inplace(_mixed(context, x, bank), weights=True)
        x = graph.inplace(x, _fed(context, layer, normed, traits))
    graph.owner = shape.layers_all
    finish(context, pick_outputs(context, _mixed(context, x, bank)), traits)


def _banked(context: GraphContext, x: Node, bank: Node | None) -> Node:
    graph = context.graph
    width, tokens = x.ne
    added = graph.view(x, width, 1, tokens)
    return added if bank is None else graph.make((width, bank.ne[1] + 1, tokens), bank, added)


def _mixed(context: GraphContext, x: Node, bank: Node | None) -> Node:
    """Return the weighted sum of what was banked and the stream (``res_mix``)."""
    if bank is None:
        return x
    graph = context.graph
    width, count, tokens = bank.ne
    scored = graph.make((1, count, tokens), graph.inplace(bank, weights=True))
    current = graph.make((1, tokens), graph.inplace(x, weights=True))
    scores = graph.make((count + 1, tokens), graph.view(scored, count, tokens), current)
    shares = graph.inplace(scores)
    of_bank = graph.make((count, tokens), graph.view(shares, count, tokens))
    of_stream = graph.make((1, tokens), graph.view(shares, 1, tokens))
    total = graph.make((width, tokens), bank, of_bank)
    return graph.inplace(total, graph.inplace(x, of_stream))


def _fed(context: GraphContext, layer: int, x: Node, traits: Traits) -> Node:
    graph = context.graph
    if not context.has(layer, "ffn_gate_inp"):
        return _dense(context, layer, x, "")
    entered = x
    if context.has(layer, "ffn_routed_down"):
        entered = graph.matmul(context.rows(layer, "ffn_routed_down"), x)
    logits = graph.matmul(context.shape.experts, x)
    out = experts(context, layer, entered, traits.experts, logits=logits)
    if context.has(layer, "ffn_routed_norm"):
        out = graph.inplace(out, weights=True)
    if context.has(layer, "ffn_routed_up"):
        out = graph.matmul(context.rows(layer, "ffn_routed_up"), out)
    if context.has(layer, "ffn_gate_shexp"):
        out = graph.inplace(out, _dense(context, layer, x, "_shexp"))
    return out


def _dense(context: GraphContext, layer: int, x: Node, suffix: str) -> Node:
    graph = context.graph
    rows = context.rows(layer, f"ffn_up{suffix}")
    gate = graph.matmul(rows, x)
    hidden = bounded(context, gate, graph.matmul(rows, x))
    return graph.matmul(context.rows(layer, f"ffn_down{suffix}"), hidden)
