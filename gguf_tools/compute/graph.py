"""A compute graph as far as memory goes: results, their sizes and who uses them.

Stands for ``ggml_cgraph``: nodes in the order in which ``ggml_build_forward_expand`` visits them.
Weights and caches live elsewhere and are left out. So are operations that ggml always writes over
their input (adding a bias, multiplying by a norm's weights), because they change nothing here; and
chains of views count as one view of what they show.
"""

from __future__ import annotations

from math import prod
from typing import Final

__all__ = ["INPUT", "Graph", "Node"]

INPUT: Final = -1
"""The place of what comes before the first layer."""


class Node:
    """One result: its extents, bytes per element, and the results it is made from.

    ``root`` is set for views, which take no memory. ``inplace`` marks operations that ggml may
    write over an input of the same shape. ``place`` is the layer it belongs to, ``ends_layer``
    marks the sum that closes a layer.
    """

    __slots__ = (
        "ends_layer",
        "inplace",
        "ne",
        "output",
        "place",
        "root",
        "seen",
        "size",
        "sources",
        "unit",
    )

    def __init__(
        self,
        ne: tuple[int, ...],
        sources: tuple[Node, ...] = (),
        *,
        unit: int = 4,
        inplace: bool = False,
        root: Node | None = None,
        place: int = INPUT,
    ) -> None:
        self.ne = ne
        self.sources = sources
        self.unit = unit
        self.inplace = inplace
        self.root = root
        self.output = False
        self.ends_layer = False
        self.place = place
        self.seen = False
        self.size = 0 if root is not None else prod(ne) * unit


class Graph:
    """Collects nodes in the order of execution. ``owner`` is the layer under construction."""

    __slots__ = ("leaves", "nodes", "owner")

    def __init__(self) -> None:
        self.owner = INPUT
        self.nodes: list[Node] = []
        self.leaves: list[Node] = []

    # --- making results

    def leaf(self, *ne: int, unit: int = 4) -> Node:
        """Return an input of the graph; it counts once something that uses it is expanded."""
        return Node(ne, unit=unit)

    def make(self, ne: tuple[int, ...], *sources: Node, unit: int = 4) -> Node:
        """Return a result that gets memory of its own."""
        return Node(ne, sources, unit=unit, place=self.owner)

    def inplace(self, *sources: Node) -> Node:
        """Return a result of the first source's shape that may be written over a source."""
        first = sources[0]
        return Node(first.ne, sources, unit=first.unit, inplace=True, place=self.owner)

    def matmul(self, rows: int, x: Node, *more: Node) -> Node:
        """Return a weight matrix of ``rows`` rows times ``x``."""
        return Node((rows, *x.ne[1:]), (x, *more), place=self.owner)

    def view(self, source: Node, *ne: int) -> Node:
        """Return another way to see a result, or a part of it."""
        root = source if source.root is None else source.root
        return Node(ne, (source,), unit=source.unit, root=root, place=self.owner)

    # --- order

    def expand(self, *ends: Node) -> None:
        """Add results and everything they need, in ggml's order: inputs first, left to right."""
        for end in ends:
            self._visit(end)

    def _visit(self, node: Node) -> None:
        if node.seen:
            return
        node.seen = True
        for source in node.sources:
            if not source.seen:
                self._visit(source)
        (self.nodes if node.sources else self.leaves).append(node)

    def output(self, node: Node) -> Node:
        """Mark a result that the caller reads: its memory is never given to others."""
        node.output = True
        return node
