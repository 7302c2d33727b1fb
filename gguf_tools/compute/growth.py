"""Compute buffers of one way of loading at every context, from graphs at two of them.

A context changes how large results are, not which there are: masks, scores and copies of caches
grow by a fixed number of bytes a cell. So the order of a buffer's steps is recorded at the first
context, the growth is known at the second, and no graph is built for any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from gguf_tools.compute.allocator import record, spans_of
from gguf_tools.compute.graph import Graph

__all__ = ["Growth"]


class Growth:
    """The buffers of graphs that differ in nothing but the cells of the cache.

    Args:
        cells: of one sequence's cache in the first graph.
        graph: the first graph.
        alignments: of each device's buffers, the CPU first.
        layers: device of each layer, the output last.
        copies: how many batches are under way at once.
    """

    def __init__(
        self,
        cells: int,
        graph: Graph,
        alignments: tuple[int, ...],
        layers: Sequence[int],
        *,
        copies: int = 1,
    ) -> None:
        self._alignments = alignments
        self._layers = layers
        self._copies = copies
        self._start(cells, graph)

    def _start(self, cells: int, graph: Graph) -> None:
        self._cells = cells
        self._spans = spans_of(graph)
        self._extents = _compared(graph)
        self._slopes: list[int] = []
        self._tape = record(graph, len(self._alignments), self._layers, copies=self._copies)

    @property
    def first(self) -> tuple[int, ...]:
        """Return the bytes of each device's buffer for the graph that was recorded."""
        return self._tape.play(self._spans, self._alignments)

    def at(self, cells: int) -> tuple[int, ...] | None:
        """Return the bytes of each device's buffer, None if it takes the graph to know them."""
        if not self._slopes or cells in self._extents:
            return None
        more = cells - self._cells
        spans = [span + slope * more for span, slope in zip(self._spans, self._slopes, strict=True)]
        return self._tape.play(spans, self._alignments)

    def learn(self, cells: int, graph: Graph) -> tuple[int, ...]:
        """Return the bytes of each device's buffer for another graph, and learn from it."""
        spans = spans_of(graph)
        fixed = self._extents if self._slopes else self._extents & _compared(graph)
        more = cells - self._cells
        grown = [new - old for old, new in zip(self._spans, spans, strict=False)]
        alike = len(spans) == len(self._spans) and not any(size % more for size in grown)
        # Extents that happen to equal the cells may let results be written over others.
        if not alike or cells in fixed:
            tape = record(graph, len(self._alignments), self._layers, copies=self._copies)
            return tape.play(spans, self._alignments)
        if self._cells in fixed:
            self._start(cells, graph)
            return self.first
        self._slopes = [size // more for size in grown]
        self._extents = fixed
        return self._tape.play(spans, self._alignments)


def _compared(graph: Graph) -> set[int]:
    """Return the extents that decide whether a result is written over what it is made from."""
    found: set[int] = set()
    for node in graph.nodes:
        if node.inplace and len(node.sources) > 1:
            for source in node.sources:
                found.update(source.ne)
    return found
