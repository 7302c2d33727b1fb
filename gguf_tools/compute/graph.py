"""A compute graph as far as memory goes: results, their sizes, who uses them and where they run.

Stands for ``ggml_cgraph``: nodes in the order in which ``ggml_build_forward_expand`` visits them.
Weights and caches live elsewhere and are left out; what they decide is the place of the operations
that use them. So are operations that ggml always writes over their input (adding a bias,
multiplying by a norm's weights), because they change nothing here; and chains of views count as
one view of what they show.
"""

from __future__ import annotations

from math import prod
from typing import Final

__all__ = ["ANYWHERE", "HOST", "OUTSIDE", "Graph", "Node"]

ANYWHERE: Final = -2
"""The place of an operation without weights: it runs where its neighbours do."""
HOST: Final = -1
"""The place of inputs, and of operations on tables that stay on the CPU."""


class Node:
    """One result: its extents, bytes per element, and the results it is made from.

    ``root`` is set for what lies in another result or outside the graph, and takes no memory;
    ``view`` says that nothing is computed either. ``inplace`` marks operations that ggml may write
    over an input of the same shape. ``place`` is the layer whose weights or cache an operation
    uses, `ANYWHERE` or `HOST`. ``span`` is how many bytes lie between the first and the last
    element, which is what a copy of a view takes.

    What works through a graph keeps its notes on the nodes: ``number`` counts leaves and then
    nodes, ``device`` is where a result is computed, and the allocator has ``children``, ``views``
    and ``slot``: uses to come, views in use, and the piece of memory held, -1 while there is none.
    """

    __slots__ = (
        "children",
        "device",
        "inplace",
        "ne",
        "number",
        "output",
        "place",
        "root",
        "seen",
        "slot",
        "sources",
        "span",
        "unit",
        "view",
        "views",
    )
    children: int
    device: int
    number: int
    slot: int
    views: int

    def __init__(
        self,
        ne: tuple[int, ...],
        sources: tuple[Node, ...] = (),
        *,
        unit: int = 4,
        inplace: bool = False,
        root: Node | None = None,
        view: bool = False,
        place: int = ANYWHERE,
    ) -> None:
        self.ne = ne
        self.sources = sources
        self.unit = unit
        self.inplace = inplace
        self.root = root
        self.view = view
        self.output = False
        self.place = place
        self.seen = False
        self.span = prod(ne) * unit


class Graph:
    """Collects nodes in the order of execution. ``owner`` is the layer under construction."""

    __slots__ = ("leaves", "nodes", "owner")

    def __init__(self) -> None:
        self.owner = HOST
        self.nodes: list[Node] = []
        self.leaves: list[Node] = []

    # --- making results

    def leaf(self, *ne: int, unit: int = 4, place: int = HOST) -> Node:
        """Return an input of the graph; it counts once something that uses it is expanded."""
        return Node(ne, unit=unit, place=place)

    def make(
        self, ne: tuple[int, ...], *sources: Node, unit: int = 4, weights: bool = False
    ) -> Node:
        """Return a result that gets memory of its own; ``weights`` if the layer's are used."""
        return Node(ne, sources, unit=unit, place=self.owner if weights else ANYWHERE)

    def inplace(self, *sources: Node, weights: bool = False) -> Node:
        """Return a result of the first source's shape that may be written over a source."""
        first = sources[0]
        place = self.owner if weights else ANYWHERE
        return Node(first.ne, sources, unit=first.unit, inplace=True, place=place)

    def matmul(self, rows: int, x: Node, *more: Node) -> Node:
        """Return a weight matrix of ``rows`` rows times ``x``."""
        return Node((rows, *x.ne[1:]), (x, *more), place=self.owner)

    def view(self, source: Node, *ne: int) -> Node:
        """Return another way to see a result, or a part of it."""
        root = source if source.root is None else source.root
        node = Node(ne, (source,), unit=source.unit, root=root, view=True)
        if node.span < root.span:
            node.span += _gaps(ne, root.ne) * node.unit
        return node

    def outside(self, place: int, size: int) -> Node:
        """Return a view of a cache, of ``size`` bytes; it is copied if it is used elsewhere."""
        return Node((size,), root=OUTSIDE, unit=1, view=True, place=place)

    def write(self, place: int, *sources: Node) -> None:
        """Add a copy into a cache or a state, which lies outside the graph."""
        self.expand(Node((1,), sources, root=OUTSIDE, place=place))

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
        (self.leaves if node.root is None and not node.sources else self.nodes).append(node)

    def output(self, node: Node) -> Node:
        """Mark a result that the caller reads: its memory is never given to others."""
        node.output = True
        return node


def _gaps(ne: tuple[int, ...], whole: tuple[int, ...]) -> int:
    """Return the elements between the parts that a view shows of each row, 0 if it shows rows."""
    for axis in range(1, len(whole)):
        rows = prod(whole[axis:])
        count, at = 1, len(ne)
        while at and count < rows:
            at -= 1
            count *= ne[at]
        if count == rows > 1:
            return (rows - 1) * (prod(whole) - prod(ne)) // rows
    return 0


OUTSIDE: Final = Node((0,))
OUTSIDE.device = OUTSIDE.slot = -1
"""Stands for everything that lies outside the graph: caches and states."""
