"""Replays ggml's graph allocator: where each intermediate result of a graph would lie.

Follows ggml/src/ggml-alloc.c: ``ggml_dyn_tallocr_*`` (best fit over free blocks, the last one
growing) and ``ggml_gallocr_alloc_graph_impl`` (leaves first, results written over a parent that
nobody else needs, parents freed after their last use).

What is taken and given back, and in which order, follows from the graph alone; a `Tape` holds
that, and is played with the sizes of the results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gguf_tools.compute.graph import OUTSIDE, Graph, Node
from gguf_tools.compute.schedule import Schedule, schedule

__all__ = ["Tape", "buffer_bytes", "peak_bytes", "record", "spans_of"]

_ENDLESS: Final = 1 << 62
_LARGEST: Final = 1 << 61  # of blocks with an end
_FREE: Final = -1


@dataclass(frozen=True, slots=True)
class Tape:
    """What each device's buffer is asked for while a graph runs.

    ``slots`` are pieces of memory, each by the index of the result whose span it holds, in the
    order of `spans_of`; ``homes`` are their devices. ``devices`` are the steps of each device: a
    slot is taken, or (its complement ``~slot``) given back.
    """

    slots: tuple[int, ...]
    homes: tuple[int, ...]
    devices: tuple[tuple[int, ...], ...]

    def play(self, spans: Sequence[int], alignments: Sequence[int]) -> tuple[int, ...]:
        """Return the bytes of each device's buffer for results of the given spans."""
        sizes = [
            -(-spans[index] // alignments[home]) * alignments[home]
            for index, home in zip(self.slots, self.homes, strict=True)
        ]
        return tuple(peak_bytes(steps, sizes) for steps in self.devices)


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
    tape = record(graph, len(alignments), layers, copies=copies)
    return tape.play(spans_of(graph), alignments)


def spans_of(graph: Graph) -> list[int]:
    """Return the bytes that each leaf and then each result spans, in order."""
    spans = [leaf.span for leaf in graph.leaves]
    spans += [node.span for node in graph.nodes]
    return spans


def record(graph: Graph, devices: int, layers: Sequence[int] = (), *, copies: int = 1) -> Tape:
    """Return what a graph's run asks for; arguments as those of `buffer_bytes`."""
    return _recorded(schedule(graph, layers, copies=copies), devices)


def _recorded(plan: Schedule, devices: int) -> Tape:
    slots: list[int] = []
    homes: list[int] = []
    taken: list[list[int]] = [[] for _ in range(devices)]
    OUTSIDE.views = OUTSIDE.children = 0
    for leaf, device in plan.leaves:
        leaf.children = leaf.views = 0
        leaf.slot = len(slots)
        taken[device].append(leaf.slot)
        homes.append(device)
        slots.append(leaf.number)
    steps = plan.steps
    for node, _, _ in steps:
        if node is not None:
            node.children = node.views = 0
            node.slot = _FREE
    for node, sources, _ in steps:
        if node is not None and node.root is not None:
            node.root.views += 1
        for source in sources:
            source.children += 1
    for node, sources, device in steps:
        if node is not None and node.root is None:
            parent = _overwritten(node, sources) if node.inplace else None
            if parent is not None:
                node.slot = parent.slot
                parent.slot = _FREE
            else:
                node.slot = len(slots)
                taken[device].append(node.slot)
                homes.append(device)
                slots.append(node.number)
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
            if root.slot >= 0 and not root.output:
                taken[homes[root.slot]].append(~root.slot)
                root.slot = _FREE
    return Tape(tuple(slots), tuple(homes), tuple(tuple(steps) for steps in taken))


def _overwritten(node: Node, sources: tuple[Node, ...]) -> Node | None:
    """Return the parent whose memory a result takes over, None if there is none."""
    for parent in sources:
        if (
            parent.children == 1
            and parent.slot >= 0
            and not parent.views
            and parent.unit == node.unit
            and parent.ne == node.ne
            and not parent.output
        ):
            return parent
    return None


def peak_bytes(steps: Sequence[int], sizes: Sequence[int]) -> int:
    """Return the bytes that a buffer grows to: best fit over free blocks, sorted by address.

    Args:
        steps: slots that are taken, and complements of those that are given back.
        sizes: bytes of each slot, rounded up to the buffer's alignment.
    """
    # One loop without calls: it runs for every step of a slider.
    free_at, free = [0], [_ENDLESS]
    places = [0] * len(sizes)
    peak = 0
    for step in steps:
        if step >= 0:
            size = sizes[step]
            best = -1
            best_size = _LARGEST
            for index, block in enumerate(free):
                # On a tie the later block wins, as in ggml; the endless one is its last resort.
                if size <= block <= best_size:
                    best_size = block
                    best = index
            offset = places[step] = free_at[best]
            if free[best] == size:
                del free[best]
                del free_at[best]
            else:
                free[best] -= size
                free_at[best] = offset + size
            if offset + size > peak:  # noqa: PLR1730  a call for each step would show
                peak = offset + size
            continue
        size = sizes[~step]
        if size == 0:
            continue
        offset = places[~step]
        index = bisect_left(free_at, offset)
        follows = index < len(free_at) and offset + size == free_at[index]
        if index > 0 and free_at[index - 1] + free[index - 1] == offset:
            free[index - 1] += size
            if follows:
                free[index - 1] += free[index]
                del free_at[index]
                del free[index]
        elif follows:
            free_at[index] = offset
            free[index] += size
        else:
            free_at.insert(index, offset)
            free.insert(index, size)
    return peak
