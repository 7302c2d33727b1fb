"""The bars of a planner's row: what the model takes of each memory, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gguf_tools.machine import Basis
from gguf_tools.plan import Plan, PoolUse
from gguf_tools.units import format_bytes
from inspector.growth import kv_formula
from inspector.planner_setup import PlannerSettings

__all__ = ["Bar", "BarKind", "BarSegment", "bars_of", "shown_pools"]

BarKind: TypeAlias = Literal["weights", "kv_used", "compute", "other_programs", "free"]

_SHOWN_SHARE: Final = 0.1  # a memory that holds less of the model than this has no bar
_MOST_BARS: Final = 2


@dataclass(frozen=True, slots=True)
class BarSegment:
    """A part of a bar; ``formula`` says where its figure comes from."""

    kind: BarKind
    size_bytes: int
    basis: Basis
    formula: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One memory (several cards of a kind together, when there are many)."""

    name: str
    total_bytes: int | None
    segments: tuple[BarSegment, ...]
    cards: int = 1

    @property
    def used_bytes(self) -> int:
        """Return everything but what is free."""
        return sum(item.size_bytes for item in self.segments if item.kind != "free")

    @property
    def over_bytes(self) -> int:
        """Return what does not fit, 0 if all does or the capacity is unknown."""
        return 0 if self.total_bytes is None else max(self.used_bytes - self.total_bytes, 0)


def shown_pools(plan: Plan) -> tuple[PoolUse, ...]:
    """Return the memories the model really uses: not those that hold an input table alone."""
    whole = sum(pool.used_bytes for pool in plan.pools) or 1
    host = plan.machine.cpu.memory_pool
    used = [pool for pool in plan.pools if pool.used_bytes]
    return tuple(
        pool
        for pool in used
        if pool.name != host or pool.used_bytes >= _SHOWN_SHARE * whole or len(used) == 1
    )


def bars_of(plan: Plan, settings: PlannerSettings) -> tuple[Bar, ...]:
    """Return a bar for each memory that holds a part worth showing, cards before main memory."""
    host = plan.machine.cpu.memory_pool
    shown = shown_pools(plan)
    cards = [pool for pool in shown if pool.name != host]
    groups = [cards] if len(cards) > _MOST_BARS else [[pool] for pool in cards]
    groups += [[pool] for pool in shown if pool.name == host]
    return tuple(_bar(plan, settings, group) for group in groups)


def _bar(plan: Plan, settings: PlannerSettings, pools: list[PoolUse]) -> Bar:
    names = {pool.name for pool in pools}
    members = [item for item in plan.memory.devices if item.device.memory_pool in names]
    weights = sum(item.weights_bytes for item in members)
    kv = sum(item.kv_bytes for item in members)
    state = sum(item.state_bytes for item in members)
    compute = sum(item.compute_bytes for item in members)
    other = sum(item.other_bytes for item in members)
    totals = [pool.total_bytes for pool in pools]
    total = None if None in totals else sum(size or 0 for size in totals)
    others = sum(pool.others_bytes or 0 for pool in pools)
    segments = [
        BarSegment("weights", weights, "planned", _weights_formula(plan, weights)),
        BarSegment("kv_used", kv + state, "planned", _kv_formula(plan, settings, kv, state)),
        BarSegment(
            "compute",
            compute + other,
            "planned",
            f"{format_bytes(compute)} for a batch of {plan.memory.settings.prompt_tokens:,} tokens"
            f" + {format_bytes(other)} of output rows, driver and working copies",
        ),
        BarSegment("other_programs", others, "read", "held by other programs now"),
    ]
    if total is not None:
        free = max(total - weights - kv - state - compute - other - others, 0)
        segments.append(
            BarSegment("free", free, "planned", f"what is left of {format_bytes(total)}")
        )
    kept = tuple(item for item in segments if item.size_bytes > 0)
    return Bar(_bar_name(plan, pools), total, kept, len(pools))


def _bar_name(plan: Plan, pools: list[PoolUse]) -> str:
    if len(pools) > 1:
        return f"{len(pools)} cards"
    return "main memory" if pools[0].name == plan.machine.cpu.memory_pool else pools[0].name


def _weights_formula(plan: Plan, here: int) -> str:
    facts = plan.facts
    bits = facts.bits_per_weight
    whole = (
        f"{facts.parameters / 1e9:.3g} billion parameters × {bits:.2f} bits ÷ 8 = "
        f"{format_bytes(facts.weights_bytes)}"
        if bits
        else format_bytes(facts.weights_bytes)
    )
    return (
        whole if here >= 0.98 * facts.weights_bytes else f"{whole}, {format_bytes(here)} of it here"
    )


def _kv_formula(plan: Plan, settings: PlannerSettings, kv: int, state: int) -> str:
    one = plan.memory.settings.context_sequence
    chats = settings.conversations
    many = f" × {chats:,} chats" if chats > 1 else ""
    text = f"{kv_formula(plan)}; × {one:,} tokens{many} = {format_bytes(plan.memory.kv_bytes)}"
    if kv < plan.memory.kv_bytes:
        text += f", {format_bytes(kv)} of it here"
    if state:
        text += f"; recurrent state {format_bytes(state)}, whatever the length"
    return text
