"""Replays ggml's graph allocator: where each intermediate result of a graph would lie.

Follows ggml/src/ggml-alloc.c: ``ggml_dyn_tallocr_*`` (best fit over free blocks, the last one
growing) and ``ggml_gallocr_alloc_graph_impl`` (leaves first, results written over a parent that
nobody else needs, parents freed after their last use).
"""

from __future__ import annotations

from typing import Final

from gguf_tools.compute.graph import Graph, Node

__all__ = ["BlockAllocator", "peak_bytes"]

_ENDLESS: Final = 1 << 62


class BlockAllocator:
    """Best fit over free blocks, sorted by address; ``peak`` is the size the buffer needs."""

    __slots__ = ("_alignment", "_offsets", "_sizes", "peak")

    def __init__(self, alignment: int) -> None:
        self._alignment = alignment
        self._offsets = [0]
        self._sizes = [_ENDLESS]
        self.peak = 0

    def allocate(self, size: int) -> int:
        """Return the offset of a new block of ``size`` bytes, rounded up to the alignment."""
        size = -(-size // self._alignment) * self._alignment
        sizes = self._sizes
        best = len(sizes) - 1
        best_size = _ENDLESS * 2
        for index in range(best):
            # On a tie the later block wins, as in ggml.
            if size <= sizes[index] <= best_size:
                best_size = sizes[index]
                best = index
        offset = self._offsets[best]
        if sizes[best] == size:
            del sizes[best]
            del self._offsets[best]
        else:
            sizes[best] -= size
            self._offsets[best] = offset + size
        self.peak = max(self.peak, offset + size)
        return offset

    def release(self, offset: int, size: int) -> None:
        """Give a block back and merge it with its neighbours."""
        size = -(-size // self._alignment) * self._alignment
        if size == 0:
            return
        offsets, sizes = self._offsets, self._sizes
        index = 0
        while index < len(offsets) and offsets[index] < offset:
            index += 1
        if index > 0 and offsets[index - 1] + sizes[index - 1] == offset:
            sizes[index - 1] += size
            if index < len(offsets) and offset + size == offsets[index]:
                sizes[index - 1] += sizes[index]
                del offsets[index]
                del sizes[index]
        elif index < len(offsets) and offset + size == offsets[index]:
            offsets[index] = offset
            sizes[index] += size
        else:
            offsets.insert(index, offset)
            sizes.insert(index, size)


def peak_bytes(graph: Graph, alignment: int = 32) -> int:
    """Return the bytes of the compute buffer that a graph needs on one device."""
    allocator = BlockAllocator(alignment)
    children: dict[Node, int] = {}
    views: dict[Node, int] = {}
    address: dict[Node, int] = {}
    owned: set[Node] = set()

    def allocate(node: Node) -> None:
        if node in owned or node.root is not None:
            return
        owned.add(node)
        if node.inplace:
            for parent in node.sources:
                if (
                    parent in owned
                    and parent.ne == node.ne
                    and parent.unit == node.unit
                    and children[parent] == 1
                    and not views.get(parent)
                ):
                    address[node] = address[parent]
                    owned.discard(parent)
                    return
        address[node] = allocator.allocate(node.size)

    for leaf in graph.leaves:
        allocate(leaf)
    for node in graph.nodes:
        if node.root is not None:
            views[node.root] = views.get(node.root, 0) + 1
        for source in node.sources:
            children[source] = children.get(source, 0) + 1
    for node in graph.nodes:
        allocate(node)
        for parent in node.sources:
            left = children[parent] - 1
            children[parent] = left
            if left or views.get(parent):
                continue
            root = parent.root
            if root is None:
                root = parent
            else:
                views[root] -= 1
                if views[root] or children.get(root):
                    continue
            if root in owned and not root.output:
                owned.discard(root)
                allocator.release(address[root], root.size)
    return allocator.peak
