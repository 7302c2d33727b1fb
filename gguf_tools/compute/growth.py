"""Compute buffers of one way of loading, at every context and placement, from one or two graphs.

A context changes how large results are, not which there are: masks, scores and copies of caches
grow by a fixed number of bytes a cell. So the growth is known from graphs at two contexts, or from
one at a context so long that the part of a size that grows stands apart from the part that does
not, as the digits of a number do. A placement changes in which order memory is taken and given
back, not what is computed: that order is recorded once for each placement, and no graph is built
for any other context.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gguf_tools.compute.allocator import Tape, record, spans_of
from gguf_tools.compute.graph import Graph, Node

__all__ = ["ENDLESS_CELLS", "Growth"]

ENDLESS_CELLS: Final = 1 << 44
"""Cells of one sequence's cache that no context has: bytes that don't grow are far fewer."""

_MOST_SLOPE: Final = 1 << 40  # bytes a cell; more would grow with the square of the cells
_MOST_TAPES: Final = 64  # placements of a model in turn, as a slider asks for them


class Growth:
    """The buffers of graphs that differ in nothing but the cells of the cache.

    Recording leaves notes on the graph's nodes, so one thread at a time.

    Args:
        cells: of one sequence's cache in the first graph.
        graph: the first graph.
        alignments: of each device's buffers, the CPU first.
        copies: how many batches are under way at once.
    """

    def __init__(
        self, cells: int, graph: Graph, alignments: tuple[int, ...], *, copies: int = 1
    ) -> None:
        self._alignments = alignments
        self._copies = copies
        self._start(cells, graph)

    def _start(self, cells: int, graph: Graph) -> None:
        self._cells = cells
        self._graph = graph
        self._spans = spans_of(graph)
        self._slopes: list[tuple[int, int]] | None = None
        self._apart: set[int] = set()
        self._tapes: dict[tuple[int, ...], Tape] = {}

    @classmethod
    def endless(
        cls, graph: Graph, alignments: tuple[int, ...], *, copies: int = 1
    ) -> Growth | None:
        """Return the growth of a graph of `ENDLESS_CELLS`, None if it does not grow evenly."""
        growth = cls(ENDLESS_CELLS, graph, alignments, copies=copies)
        # To the nearest: a view may lack some bytes of whole cells.
        slopes = [(span + ENDLESS_CELLS // 2) // ENDLESS_CELLS for span in growth._spans]
        if max(slopes, default=0) >= _MOST_SLOPE:
            return None
        growth._slopes = [(index, slope) for index, slope in enumerate(slopes) if slope]
        growth._apart = _coincidences(
            (node, _grows(node), [_grows(part) for part in node.sources])
            for node in graph.nodes
            if node.inplace and len(node.sources) > 1
        )
        return growth

    def at(self, cells: int, layers: tuple[int, ...] = ()) -> tuple[int, ...] | None:
        """Return the bytes of each device's buffer, None if it takes the graph to know them.

        Args:
            cells: of one sequence's cache.
            layers: device of each layer, the output last; nothing if all lie on the CPU.
        """
        spans = self._spans
        if cells != self._cells:
            if self._slopes is None or cells in self._apart:
                return None
            more = cells - self._cells
            spans = spans.copy()
            for index, slope in self._slopes:
                spans[index] += slope * more
        tape = self._tapes.get(layers)
        if tape is None:
            if len(self._tapes) >= _MOST_TAPES:
                self._tapes.clear()
            tape = self._tapes[layers] = self._recorded(self._graph, layers)
        return tape.play(spans, self._alignments)

    def learn(self, cells: int, graph: Graph, layers: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return the bytes of each device's buffer for another graph, and learn from it.

        Arguments as those of `at`, which has no answer for them yet.
        """
        spans = spans_of(graph)
        more = cells - self._cells
        grown = [new - old for old, new in zip(self._spans, spans, strict=False)]
        alike = len(spans) == len(self._spans) and not any(size % more for size in grown)
        apart = _apart(self._graph, graph) if alike else set()
        if not alike or cells in apart:
            return self._recorded(graph, layers).play(spans, self._alignments)
        if self._cells in apart:
            self._start(cells, graph)
        else:
            self._slopes = [(index, size // more) for index, size in enumerate(grown) if size]
            self._apart = apart
        sizes = self.at(cells, layers)
        assert sizes is not None
        return sizes

    def _recorded(self, graph: Graph, layers: Sequence[int]) -> Tape:
        return record(graph, len(self._alignments), layers, copies=self._copies)


def _grows(node: Node) -> bool:
    """Tell whether an extent of a result in a graph of `ENDLESS_CELLS` grows with the cells."""
    return max(node.ne) >= _MOST_SLOPE


def _apart(first: Graph, second: Graph) -> set[int]:
    """Return what `_coincidences` does, for graphs of two contexts."""
    return _coincidences(
        (
            one,
            one.ne != other.ne,
            [part.ne != same.ne for part, same in zip(one.sources, other.sources, strict=True)],
        )
        for one, other in zip(first.nodes, second.nodes, strict=True)
        if one.inplace and len(one.sources) > 1
    )


def _coincidences(nodes: Iterable[tuple[Node, bool, list[bool]]]) -> set[int]:
    """Return the cells at which a result may be written over another part than at other cells.

    It is written over a part of its own shape. Where one of the two grows with the cells and the
    other doesn't, they are of one shape when the cells happen to equal an extent of the other.

    Args:
        nodes: results that may be written over one of several parts, whether each grows, and
            whether its parts do.
    """
    found: set[int] = set()
    for node, grows, parts_grow in nodes:
        for part, part_grows in zip(node.sources, parts_grow, strict=True):
            if part_grows != grows:
                found.update(part.ne if grows else node.ne)
    return found
