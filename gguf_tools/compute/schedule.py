"""Which device computes what, and what is copied from one to another.

Follows ``ggml_backend_sched_split_graph`` in ggml/src/ggml-backend.cpp. Operations run where
their weights or their cache lie. Those without follow their neighbours, a GPU's before the CPU's:
so the sum that ends the last layer on the CPU runs with the first one on the GPU. Where the device
changes a split begins, and what it needs from elsewhere is copied when it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from gguf_tools.compute.graph import ANYWHERE, HOST, Graph, Node

__all__ = ["Schedule", "Step", "assign_devices", "schedule"]

_CPU: Final = 0
_UNKNOWN: Final = -1

Step: TypeAlias = tuple[Node | None, tuple[Node, ...], int]
"""A result, what it is made from, and its device; None for the last use of what is copied."""


@dataclass(slots=True)
class Schedule:
    """Leaves with their devices, then steps in the order in which they are allocated."""

    leaves: list[tuple[Node, int]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def schedule(graph: Graph, layers: Sequence[int], *, copies: int = 1) -> Schedule:
    """Return the order of a graph's steps over the devices, copies between them included.

    Copies bear the number of what they are copies of. With several batches under way the graph's
    inputs are marked as never given back, so it is of use for that many batches only.

    Args:
        graph: the results.
        layers: device of each layer, the output last; nothing if all lie on the CPU.
        copies: how many batches are under way at once, each with its own inputs.
    """
    for number, node in enumerate(chain(graph.leaves, graph.nodes)):
        node.number = number
    plan = Schedule()
    if not any(layers):
        plan.leaves = [(leaf, _CPU) for leaf in graph.leaves]
        plan.steps = [(node, node.sources, _CPU) for node in graph.nodes]
        return plan
    assign_devices(graph, layers)
    crossing = _steps(graph, plan, early=copies > 1)
    if copies > 1:
        _multiply(graph, crossing, plan, copies)
        inputs = [leaf for leaf in graph.leaves if leaf.place != HOST]
    else:
        inputs = graph.leaves
    plan.leaves += [(leaf, leaf.device) for leaf in inputs]
    return plan


def assign_devices(graph: Graph, layers: Sequence[int]) -> None:
    """Set the device of each leaf and result; ``layers`` as those of `schedule`."""
    waiting: list[Node] = []
    before = _UNKNOWN
    for leaf in graph.leaves:
        leaf.device = _CPU if leaf.place == HOST else _UNKNOWN
    for node in graph.nodes:
        if node.view:
            continue
        if node.place == ANYWHERE:
            waiting.append(node)
            continue
        device = _CPU if node.place == HOST else layers[node.place]
        if waiting:
            # A GPU takes what follows, else one takes what precedes; the CPU takes the rest.
            runs_on = before if before > _CPU else device if device > _CPU else max(before, _CPU)
            for free in waiting:
                free.device = runs_on
            waiting.clear()
        node.device = before = device
    for free in waiting:
        free.device = max(before, _CPU)
    for node in graph.nodes:
        if not node.view:
            for source in node.sources:
                if not source.sources and source.device == _UNKNOWN:
                    source.device = node.device
        elif node.place != ANYWHERE:  # a view of a cache
            node.device = _CPU if node.place == HOST else layers[node.place]
        else:
            node.device = _CPU if node.root is None else max(node.root.device, _CPU)


def _steps(graph: Graph, plan: Schedule, *, early: bool) -> list[Node]:
    """Add the steps of all splits and return the copies made for them.

    ``early``: memory for copies is taken before everything else, not when a split begins.
    """
    copied: dict[tuple[Node, int], Node] = {}
    made: list[Node] = []
    inputs: list[Step] = []
    split: list[Step] = []
    current = next((node.device for node in graph.nodes if not node.view), _CPU)
    # Views before the first operation, and between splits, stay with what came before them.
    for node in graph.nodes:
        device = node.device
        if node.view:
            split.append((node, node.sources, device))
            continue
        if device != current:
            plan.steps += inputs
            plan.steps += split
            inputs, split = [], []
            current = device
        sources = node.sources
        for index, source in enumerate(sources):
            if source.device == device:
                continue
            copy = copied.get((source, device))
            if copy is None:
                copy = copied[source, device] = _copy(source, device)
                made.append(copy)
                inputs.append((None, (source,), source.device))
                if not early:
                    inputs.append((copy, (), device))
            sources = (*sources[:index], copy, *sources[index + 1 :])
        split.append((node, sources, device))
    plan.steps += inputs
    plan.steps += split
    return made


def _copy(source: Node, device: int) -> Node:
    """Return a copy with the layout of what it is a copy of."""
    copy = Node(source.ne, unit=source.unit)
    copy.number = source.number
    copy.device = device
    copy.span = source.span
    if source.span != Node(source.ne, unit=source.unit).span:
        copy.unit = -source.unit  # gaps in its rows: nothing can be written over it
    return copy


def _multiply(graph: Graph, crossing: list[Node], plan: Schedule, copies: int) -> None:
    """Let every batch under way have its own inputs and copies, which are never given back."""
    inputs = [leaf for leaf in graph.leaves if leaf.place == HOST]
    for node in (*inputs, *crossing):
        node.output = True
        plan.leaves.append((node, node.device))
        for _ in range(copies - 1):
            twin = Node(node.ne, unit=node.unit)
            twin.number = node.number
            plan.leaves.append((twin, node.device))
