"""Which device computes what, and what is copied from one to another.

Follows ``ggml_backend_sched_split_graph`` in ggml/src/ggml-backend.cpp. Operations run where
their weights or their cache lie. Those without follow their neighbours, a GPU's before the CPU's:
so the sum that ends the last layer on the CPU runs with the first one on the GPU. Where the device
changes a split begins, and what it needs from elsewhere is copied when it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gguf_tools.compute.graph import ANYWHERE, HOST, Graph, Node

__all__ = ["Schedule", "Step", "devices_of", "schedule"]

_CPU: Final = 0
_UNKNOWN: Final = -1

Step: TypeAlias = tuple[Node | None, tuple[Node, ...], int]
"""A result, what it is made from, and its device; None for the last use of what is copied."""


@dataclass(slots=True)
class Schedule:
    """Leaves with their devices, then steps in the order in which they are allocated.

    ``copies`` are those of results on other devices, and the inputs of other batches, by what they
    are copies of.
    """

    leaves: list[tuple[Node, int]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    copies: dict[Node, Node] = field(default_factory=dict)


def schedule(graph: Graph, layers: Sequence[int], *, copies: int = 1) -> Schedule:
    """Return the order of a graph's steps over the devices, copies between them included.

    Args:
        graph: the results.
        layers: device of each layer, the output last; nothing if all lie on the CPU.
        copies: how many batches are under way at once, each with its own inputs.
    """
    plan = Schedule()
    if not any(layers):
        plan.leaves = [(leaf, _CPU) for leaf in graph.leaves]
        plan.steps = [(node, node.sources, _CPU) for node in graph.nodes]
        return plan
    home = devices_of(graph, layers)
    crossing = _steps(graph, home, plan, early=copies > 1)
    if copies > 1:
        _multiply(graph, home, crossing, plan, copies)
        inputs = [leaf for leaf in graph.leaves if leaf.place != HOST]
    else:
        inputs = graph.leaves
    plan.leaves += [(leaf, home[leaf]) for leaf in inputs]
    return plan


def devices_of(graph: Graph, layers: Sequence[int]) -> dict[Node, int]:
    """Return the device of each result."""
    home: dict[Node, int] = {}
    waiting: list[Node] = []
    before = _UNKNOWN
    for node in graph.nodes:
        if node.view:
            continue
        if node.place == ANYWHERE:
            waiting.append(node)
            continue
        device = _CPU if node.place == HOST else layers[node.place]
        # A GPU takes what follows, else one takes what precedes; the CPU takes the rest.
        runs_on = before if before > _CPU else device if device > _CPU else max(before, _CPU)
        for free in waiting:
            home[free] = runs_on
        waiting.clear()
        home[node] = before = device
    for free in waiting:
        home[free] = max(before, _CPU)
    for leaf in graph.leaves:
        if leaf.place == HOST:
            home[leaf] = _CPU
    for node in graph.nodes:
        if node.view:
            root = node.root
            if node.place != ANYWHERE:  # a view of a cache
                home[node] = _CPU if node.place == HOST else layers[node.place]
            else:
                home[node] = home.get(root, _CPU) if root is not None else _CPU
            continue
        for source in node.sources:
            if source not in home and not source.sources:
                home[source] = home[node]
    return home


def _steps(graph: Graph, home: dict[Node, int], plan: Schedule, *, early: bool) -> list[Node]:
    """Add the steps of all splits and return the copies made for them.

    ``early``: memory for copies is taken before everything else, not when a split begins.
    """
    copied: dict[tuple[Node, int], Node] = {}
    made: list[Node] = []
    inputs: list[Step] = []
    split: list[Step] = []
    current = next((home[node] for node in graph.nodes if not node.view), _CPU)
    # Views before the first operation, and between splits, stay with what came before them.
    for node in graph.nodes:
        if node.view:
            split.append((node, node.sources, home[node]))
            continue
        device = home[node]
        if device != current:
            plan.steps += inputs
            plan.steps += split
            inputs, split = [], []
            current = device
        sources = node.sources
        if any(home[source] != device for source in sources):
            here = []
            for source in sources:
                if home[source] != device:
                    copy = copied.get((source, device))
                    if copy is None:
                        copy = copied[source, device] = _copy(source)
                        plan.copies[copy] = source
                        made.append(copy)
                        home[copy] = device
                        inputs.append((None, (source,), home[source]))
                        if not early:
                            inputs.append((copy, (), device))
                    here.append(copy)
                else:
                    here.append(source)
            sources = tuple(here)
        split.append((node, sources, device))
    plan.steps += inputs
    plan.steps += split
    return made


def _copy(source: Node) -> Node:
    """Return a copy with the layout of what it is a copy of."""
    copy = Node(source.ne, unit=source.unit)
    copy.span = source.span
    if source.span != Node(source.ne, unit=source.unit).span:
        copy.unit = -source.unit  # gaps in its rows: nothing can be written over it
    return copy


def _multiply(
    graph: Graph, home: dict[Node, int], crossing: list[Node], plan: Schedule, copies: int
) -> None:
    """Let every batch under way have its own inputs and copies, which are never given back."""
    inputs = [leaf for leaf in graph.leaves if leaf.place == HOST]
    for node in (*inputs, *crossing):
        node.output = True
        device = home[node]
        plan.leaves.append((node, device))
        for _ in range(copies - 1):
            twin = Node(node.ne, unit=node.unit)
            plan.copies[twin] = plan.copies.get(node, node)
            plan.leaves.append((twin, device))
