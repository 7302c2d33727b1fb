"""The planner's two curves: memory as the context grows, and what more conversations give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gguf_tools.machine import LOAD_LINE
from gguf_tools.memory import MemoryPlan, memory_plan
from gguf_tools.plan import PoolUse
from inspector.planner_rates import Rates, rates_at
from inspector.planner_setup import PlannerSettings
from inspector.planning import Cause, RowPlan, Steps, load_of

__all__ = ["BatchingCurve", "GrowthCurve", "GrowthPoint", "batching_curve", "growth_curve"]

_SAMPLES: Final = 8
_LEAST_CONTEXT: Final = 4096
_LEAST_USERS: Final = 8
_MOST_USERS: Final = 256
_STEP: Final = 256


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """What one memory holds at a context of ``tokens`` a conversation, in bytes."""

    tokens: int
    weights_bytes: int
    cache_bytes: int
    rest_bytes: int

    @property
    def total_bytes(self) -> int:
        """Return all of it."""
        return self.weights_bytes + self.cache_bytes + self.rest_bytes


@dataclass(frozen=True, slots=True)
class GrowthCurve:
    """Memory against context, for the memory that ends first.

    ``room_bytes`` is what the model may take of it, ``line_bytes`` what it may take below the load
    line; None where unknown. ``breaks_tokens`` is where the curve passes ``room_bytes`` (None: not
    up to the end of the axis).
    """

    pool: str
    points: tuple[GrowthPoint, ...]
    room_bytes: int | None
    line_bytes: int | None
    breaks_tokens: int | None
    cause: Cause
    now_tokens: int
    trained_tokens: int | None

    @property
    def last_tokens(self) -> int:
        """Return the end of the axis."""
        return self.points[-1].tokens


@dataclass(frozen=True, slots=True)
class BatchingCurve:
    """Rates of all conversations together against their number, each with a full context.

    ``fit`` is how many caches fit (None: unknown), ``balance`` from how many on arithmetic is the
    limit (None: unknown or beyond the axis).
    """

    points: tuple[Rates, ...]
    fit: int | None
    balance: int | None
    context_tokens: int

    @property
    def last_conversations(self) -> int:
        """Return the end of the axis."""
        return self.points[-1].conversations


def growth_curve(row: RowPlan, settings: PlannerSettings) -> Steps[GrowthCurve]:
    """Return how a row's memory grows with the context, step by step."""
    plan = row.plan
    now = plan.memory.settings.context_sequence
    trained = plan.facts.context_length
    last = _last_context(now, min(row.memory_ends or 0, trained or now), trained)
    samples = sorted({_STEP, *(last * index // _SAMPLES for index in range(1, _SAMPLES + 1))})
    plans: list[tuple[int, MemoryPlan]] = []
    for tokens in samples:
        load = load_of(settings, context=tokens, engine=plan.load)
        plans.append((tokens, memory_plan(plan.facts, load, plan.machine)))
        yield
    pool = _first_to_end(plan.pools, plans)
    points = [_point(tokens, memory, pool.name) for tokens, memory in plans]
    # A cache of no tokens: the line is straight at its beginning.
    first = points[0]
    points.insert(0, GrowthPoint(0, first.weights_bytes, 0, first.rest_bytes))
    line = None
    if pool.total_bytes is not None:
        line = int(LOAD_LINE * pool.total_bytes) - (pool.others_bytes or 0)
    return GrowthCurve(
        pool=pool.name,
        points=tuple(points),
        room_bytes=pool.free_bytes,
        line_bytes=line,
        breaks_tokens=_crossing(points, pool.free_bytes),
        cause=row.cause,
        now_tokens=now,
        trained_tokens=trained,
    )


def _last_context(now: int, breaks: int, trained: int | None) -> int:
    """Return the axis' end: a power of two that shows the present context and the break."""
    wanted = max(now * 3 // 2, breaks * 3 // 2, _LEAST_CONTEXT)
    end = 1 << (wanted - 1).bit_length()
    return min(end, max(trained or end, now))


def _first_to_end(pools: tuple[PoolUse, ...], plans: list[tuple[int, MemoryPlan]]) -> PoolUse:
    """Return the pool that is full first; where none is, the one that gets fullest."""
    used = [pool for pool in pools if pool.used_bytes] or list(pools)

    def key(pool: PoolUse) -> tuple[float, float]:
        points = [_point(tokens, memory, pool.name) for tokens, memory in plans]
        end = _crossing(points, pool.free_bytes)
        fullest = points[-1].total_bytes / pool.free_bytes if pool.free_bytes else 0.0
        return (float("inf") if end is None else end, -fullest)

    return min(used, key=key)


def _point(tokens: int, memory: MemoryPlan, pool: str) -> GrowthPoint:
    members = [item for item in memory.devices if item.device.memory_pool == pool]
    return GrowthPoint(
        tokens,
        sum(item.weights_bytes for item in members),
        sum(item.kv_bytes + item.state_bytes for item in members),
        sum(item.compute_bytes + item.other_bytes for item in members),
    )


def _crossing(points: list[GrowthPoint], room: int | None) -> int | None:
    if room is None:
        return None
    before: GrowthPoint | None = None
    for point in points:
        if point.total_bytes > room:
            if before is None or before.total_bytes >= room:
                return 0
            share = (room - before.total_bytes) / (point.total_bytes - before.total_bytes)
            return round(before.tokens + share * (point.tokens - before.tokens))
        before = point
    return None


def batching_curve(row: RowPlan) -> Steps[BatchingCurve]:
    """Return what more conversations give on a row's machine, step by step."""
    plan = row.working
    context = plan.memory.settings.context_sequence
    last = max(_LEAST_USERS, min((row.users or 0) * 5 // 4, _MOST_USERS))
    last = min(1 << (last - 1).bit_length(), _MOST_USERS)
    points = []
    for count in _counts(last, row.users):
        points.append(rates_at(plan, context - 1, count))
        if len(points) % 4 == 0:
            yield
    balance = next((item.conversations for item in points if item.arithmetic), None)
    return BatchingCurve(tuple(points), row.users, balance, context)


def _counts(last: int, fit: int | None) -> list[int]:
    """Return numbers of conversations, each about a fifth above the one before."""
    counts, value = {1, last}, 1.0
    while value < last:
        counts.add(round(value))
        value = max(value * 1.2, value + 1)
    if fit and fit <= last:
        counts.add(fit)
    return sorted(counts)
