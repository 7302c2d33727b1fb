"""Replays ggml's graph allocator: where each intermediate result of a graph would lie.

Follows ggml/src/ggml-alloc.c: ``ggml_dyn_tallocr_*`` (best fit over free blocks, the last one
growing) and ``ggml_gallocr_alloc_graph_impl`` (leaves first, results written over a parent that
nobody else needs, parents freed after their last use).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from gguf_tools.compute.graph import OUTSIDE, Graph, Node
from gguf_tools.compute.schedule import Schedule, schedule

__all__ = ["BlockAllocator", "buffer_bytes"]

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
        index = bisect_left(offsets, offset)
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


def buffer_bytes(
    graph: Graph, alignments: Sequence[int], layers: Sequence[int] = (), *, copies: int = 1
) -> tuple[int, ...]:
    """Return the bytes of the compute buffers that a graph needs, one a device.

    Args:
        graph: the results, in the order in which they are computed.
        alignments: of each device's buffers, the CPU first.
        layers: device of each layer, the output last; nothing if all lie on the CPU.
        copies: how many batches are under way at once, each with its own inputs.
    """
    plan = schedule(graph, layers, copies=copies)
    allocators = [BlockAllocator(alignment) for alignment in alignments]
    _replay(plan, allocators)
    return tuple(allocator.peak for allocator in allocators)


def _replay(plan: Schedule, allocators: list[BlockAllocator]) -> None:
    OUTSIDE.views = OUTSIDE.children = 0
    for leaf, device in plan.leaves:
        leaf.children = leaf.views = 0
        leaf.pool = device
        leaf.offset = allocators[device].allocate(leaf.size)
    steps = plan.steps
    for node, _, _ in steps:
        if node is not None:
            node.children = node.views = 0
            node.offset = -1
    for node, sources, _ in steps:
        if node is not None and node.root is not None:
            node.root.views += 1
        for source in sources:
            source.children += 1
    for node, sources, device in steps:
        if node is not None and node.root is None:
            parent = _overwritten(node, sources) if node.inplace else None
            if parent is not None:
                node.pool, node.offset = parent.pool, parent.offset
                parent.offset = -1
            else:
                node.pool = device
                node.offset = allocators[device].allocate(node.size)
        for parent in sources:
            parent.children -= 1
            if parent.children or parent.views:
                continue
            root = parent.root
            if root is None:
                root = parent
            else:
                root.views -= 1
                if root.views or root.children:
                    continue
            if root.offset >= 0 and not root.output:
                allocators[root.pool].release(root.offset, root.size)
                root.offset = -1


def _overwritten(node: Node, sources: tuple[Node, ...]) -> Node | None:
    """Return the parent whose memory a result takes over, None if there is none."""
    for parent in sources:
        if (
            parent.children == 1
            and parent.offset >= 0
            and not parent.views
            and parent.unit == node.unit
            and parent.ne == node.ne
            and not parent.output
        ):
            return parent
    return None
