"""Memories that devices draw on: what a model takes of them, and how much more they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gguf_tools.facts import ModelFacts
from gguf_tools.machine import LOAD_LINE
from gguf_tools.memory import DeviceMemory, MemoryPlan
from gguf_tools.placement import CPU

__all__ = [
    "MOST_SEQUENCES",
    "PoolUse",
    "context_in_memory",
    "longest_context",
    "most_sequences",
    "pools_of",
]

MOST_SEQUENCES: Final = 256  # LLAMA_MAX_SEQ
_STEP: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """Devices that draw on one memory, together."""

    name: str
    total_bytes: int | None
    free_bytes: int | None
    used_bytes: int
    others_bytes: int | None

    @property
    def left_bytes(self) -> int | None:
        """Return what is left, negative if it doesn't fit, None if the probe failed."""
        return None if self.free_bytes is None else self.free_bytes - self.used_bytes

    @property
    def headroom_bytes(self) -> int | None:
        """Return what may still be taken before the load line, negative past it.

        Where the whole size is unknown there is no line: then it is what is left.
        """
        left = self.left_bytes
        if left is None or self.total_bytes is None:
            return left
        taken = self.used_bytes + (self.others_bytes or 0)
        return min(left, int(LOAD_LINE * self.total_bytes) - taken)

    @property
    def over_load_line(self) -> bool:
        """Tell whether the model and others together pass the load line."""
        if self.total_bytes is None:
            return False
        taken = self.used_bytes + (self.others_bytes or 0)
        return taken > LOAD_LINE * self.total_bytes


def pools_of(memory: MemoryPlan, freed: dict[str, int]) -> tuple[PoolUse, ...]:
    """Return each memory with what is used of it; ``freed`` bytes by pool are free besides."""
    grouped: dict[str, list[DeviceMemory]] = {}
    for item in memory.devices:
        grouped.setdefault(item.device.memory_pool, []).append(item)
    pools = []
    for name, items in grouped.items():
        totals = [item.device.total_bytes for item in items if item.device.total_bytes]
        frees = [item.device.free_bytes for item in items if item.device.free_bytes is not None]
        total = max(totals, default=None)
        free = max(frees, default=None)
        if free is not None:
            free += freed.get(name, 0)
            free = min(free, total) if total is not None else free
        others = None if total is None or free is None else max(total - free, 0)
        used = sum(item.total_bytes for item in items)
        pools.append(
            PoolUse(
                name=name, total_bytes=total, free_bytes=free, used_bytes=used, others_bytes=others
            )
        )
    return tuple(pools)


def _growth(memory: MemoryPlan, heads: int) -> dict[str, float]:
    """Return bytes that one more cell of context takes in each pool, over all sequences."""
    settings = memory.settings
    growth: dict[str, float] = {}
    devices = memory.devices
    pools = [item.device.memory_pool for item in devices]
    places = memory.placement.layers
    for cache in memory.caches:
        if not cache.grows:
            continue
        streams, each = cache.streams, cache.tokens_per_cell
        for layer in cache.layers:
            pool = pools[places[layer.layer]]
            row = (layer.k_row_bytes + layer.v_row_bytes) * streams / each
            growth[pool] = growth.get(pool, 0.0) + row
    if memory.draft is not None:
        for index, row in enumerate(memory.draft.growth):
            growth[pools[index]] = growth.get(pools[index], 0.0) + row * settings.streams
    if not growth:
        return {}
    mask = settings.prompt_tokens * (2 if settings.flash_attention else 4)
    scores = 0 if settings.flash_attention else 4 * settings.prompt_tokens * heads
    for index, item in enumerate(devices):
        if item.kv_bytes or index == CPU:
            pool = pools[index]
            extra = mask + (scores if item.kv_bytes else 0)
            growth[pool] = growth.get(pool, 0.0) + extra / settings.streams
    return growth


def longest_context(
    facts: ModelFacts,
    memory: MemoryPlan,
    pools: tuple[PoolUse, ...],
    *,
    below_line: bool = False,
) -> int | None:
    """Return the longest context of a sequence that fits, at most the trained one.

    None if a pool's free memory is unknown, 0 if not even the weights fit. ``below_line``: that
    keeps below the load line.
    """
    trained = facts.context_length or memory.settings.context_sequence
    return context_in_memory(facts, memory, pools, most=trained, below_line=below_line)


def context_in_memory(
    facts: ModelFacts,
    memory: MemoryPlan,
    pools: tuple[PoolUse, ...],
    *,
    most: int,
    below_line: bool = False,
) -> int | None:
    """Return the longest context of a sequence that memory holds, at most ``most`` tokens.

    Memory grows evenly with the context, so one step from the planned context finds the end. None
    if a pool's free memory is unknown, 0 if not even the weights fit. ``below_line``: that keeps
    below the load line, 0 if the weights don't.
    """
    growth = _growth(memory, facts.heads or 0)
    current = memory.settings.context_sequence
    longest = float(most)
    for pool in pools:
        rate = growth.get(pool.name, 0.0)
        if pool.used_bytes == 0:
            continue
        room = pool.headroom_bytes if below_line else pool.left_bytes
        if room is None:
            return None
        if rate == 0:
            if room < 0:
                return 0
            continue
        longest = min(longest, current + room / rate)
    return max(int(longest) // _STEP * _STEP, 0)


def most_sequences(memory: MemoryPlan, pools: tuple[PoolUse, ...]) -> int | None:
    """Return how many sequences of the planned length fit at once below the load line."""
    settings = memory.settings
    one: dict[str, float] = {}
    for item in memory.devices:
        share = item.kv_bytes / settings.streams + item.state_bytes / settings.sequences
        pool = item.device.memory_pool
        one[pool] = one.get(pool, 0.0) + share
    best: float | None = None
    for pool_use in pools:
        if pool_use.used_bytes == 0:
            continue
        room = pool_use.headroom_bytes
        if room is None:
            return None
        share = one.get(pool_use.name, 0.0)
        if share == 0:
            if room < 0:
                return 0
            continue
        here = settings.streams + room / share
        best = here if best is None else min(best, here)
    if best is None:
        return None
    return max(min(int(best), MOST_SEQUENCES), 0)
