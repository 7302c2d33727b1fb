"""How the KV cache grows with the conversation, for the chosen type and the usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gguf_tools.kv import KvCache, kv_caches
from gguf_tools.plan import Plan
from gguf_tools.quants import cache_type
from gguf_tools.settings import refusal
from gguf_tools.units import ceil_div, counted
from inspector.plan_record import GrowthLine, PlanRecord
from inspector.views import BudgetView

__all__ = ["growth_lines", "kv_formula", "more_chats"]

_CACHE_TYPES: Final = ("f16", "q8_0", "q4_0")


def growth_lines(plan: Plan) -> tuple[GrowthLine, ...]:
    """Return the cache's growth to the trained length, for the chosen type and the usual ones."""
    shape, load = plan.facts.shape, plan.load
    assert shape is not None
    settings = plan.memory.settings.kv
    chosen = settings.type_k.name.lower()
    if settings.type_v is not settings.type_k:
        chosen = f"{chosen}/{settings.type_v.name.lower()}"
    end = max(settings.context, plan.facts.context_length or 0)
    lines = [GrowthLine(cache_type=chosen, points=_corners(plan.memory.caches, plan, end))]
    for name in _CACHE_TYPES:
        if name == chosen or refusal(shape, replace(load, type_k=name, type_v=name)) is not None:
            continue
        kind = cache_type(name)
        caches = kv_caches(shape, replace(settings, type_k=kind, type_v=kind))
        lines.append(GrowthLine(cache_type=name, points=_corners(caches, plan, end)))
    return tuple(lines)


def _corners(caches: tuple[KvCache, ...], plan: Plan, end: int) -> tuple[tuple[int, int], ...]:
    """Return where the line of bytes over tokens bends: where a window is full."""
    state = plan.memory.state_bytes // max(plan.memory.settings.sequences, 1)
    bends = {0, end}
    for cache in caches:
        if not cache.grows:
            bends.add(min(cache.cells * cache.tokens_per_cell, end))
    corners = []
    for tokens in sorted(bends):
        used = state
        for cache in caches:
            cells = ceil_div(tokens, cache.tokens_per_cell)
            if not cache.grows:
                cells = min(cells, cache.cells)
            used += cells * cache.bytes_per_cell
        corners.append((tokens, used))
    return tuple(corners)


def kv_formula(plan: Plan) -> str:
    """Return the cache's size per token with its values filled in."""
    facts, memory = plan.facts, plan.memory
    growing = [cache for cache in memory.caches if cache.grows]
    if not growing:
        return "This model keeps no cache that grows with the context."
    main = growing[0]
    rows = {(layer.k_row_bytes, layer.v_row_bytes) for layer in main.layers}
    total = f"{memory.kv_bytes_per_token:,} B a token"
    kv_heads = set(facts.kv_heads or ()) - {0}
    kind = memory.settings.kv.type_k
    even = len(rows) == 1 and len(kv_heads) == 1 and len(growing) == 1
    if even:
        k_row, v_row = next(iter(rows))
        heads = next(iter(kv_heads))
        if k_row == v_row and facts.key_length == facts.value_length:
            each = kind.block_bytes / kind.block
            formula = (
                f"2 (K and V) × {counted(len(main.layers), 'layer')} × "
                f"{counted(heads, 'KV head')} × "
                f"{facts.key_length} values × {each:g} B ({kind.name.lower()}) = {total}"
            )
        else:
            layers = counted(len(main.layers), "layer")
            formula = f"{layers} × ({k_row:,} B of K + {v_row:,} B of V) = {total}"
    else:
        count = sum(len(cache.layers) for cache in growing)
        formula = f"K and V rows of {counted(count, 'layer')}, summed: {total}"
    windows = [cache for cache in memory.caches if not cache.grows]
    if windows:
        count = sum(len(cache.layers) for cache in windows)
        stop = "stops" if count == 1 else "stop"
        formula += f"; {counted(count, 'sliding layer')} {stop} growing at "
        formula += f"{windows[0].cells:,} tokens"
    return formula


def more_chats(plan: PlanRecord | None, shown: Sequence[BudgetView]) -> int | None:
    """Return how many more chats of this context fit below the load line, None if unknown.

    Each takes what one takes now of each memory; the engine takes 256 at once at most. What goes
    past the load line is called unsafe elsewhere, so it is not offered here. ``shown`` are the
    memories as they are now: what this chat, its engine and other programs took since the plan was
    made is no room any more. (Where the engine is gone they lack the model, and so say nothing.)
    """
    if plan is None or plan.max_sequences is None:
        return None
    now = plan.settings.sequences
    most = plan.max_sequences - now
    for pool in {item.pool for item in plan.devices}:
        here = [item for item in plan.devices if item.pool == pool]
        share = sum(item.kv_bytes + item.state_bytes for item in here) / max(now, 1)
        titles = {item.title for item in here}
        budget = next((item for item in shown if item.name in titles), None)
        if share and budget is not None and budget.headroom_bytes is not None:
            most = min(most, int(budget.headroom_bytes // share))
    return max(most, 0)
