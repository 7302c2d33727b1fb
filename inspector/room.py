"""Why a model does not fit: the rule, the numbers, and the smallest change that would pass.

Each candidate change is planned again, so that what is offered does fit by the plan, and by how
much is known before it is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gguf_tools.plan import Plan, PoolUse, make_plan
from gguf_tools.units import counted, format_bytes
from inspector.effects import effect_of
from inspector.plan_record import Changes, FindingRecord, FixRecord

__all__ = ["RoomFix", "lacking", "room_fixes"]

_LEAST_CONTEXT: Final = 512
_CELLS: Final = 256
_PLAIN_TYPES: Final = frozenset({"f32", "f16", "bf16"})
_SMALLER_TYPES: Final = ("q8_0", "q4_0")
_MOST: Final = 4


@dataclass(frozen=True, slots=True)
class RoomFix:
    """Changed load settings with which everything fits; ``given_up_bytes`` is what they save."""

    text: str
    changes: Changes
    given_up_bytes: int


def lacking(plan: Plan) -> tuple[FindingRecord, ...]:
    """Return a finding for every memory that is too small."""
    short = [pool for pool in plan.pools if pool.left_bytes is not None and pool.left_bytes < 0]
    if not short:
        return ()
    fixes = room_fixes(plan)
    offered = tuple(
        FixRecord(
            text=fix.text[0].upper() + fix.text[1:],
            changes=fix.changes,
            effect=effect_of(plan, fix.changes),
        )
        for fix in fixes
    )
    return tuple(
        FindingRecord(
            id="does_not_fit" if index == 0 else f"does_not_fit/{pool.name}",
            severity="error",
            text=f"{pool.name} lacks {format_bytes(-(pool.left_bytes or 0))} for this.",
            cause=_cause(plan, pool, fixes),
            fixes=offered if index == 0 else (),
        )
        for index, pool in enumerate(short)
    )


def _cause(plan: Plan, pool: PoolUse, fixes: tuple[RoomFix, ...]) -> str:
    """Return the rule and the numbers by which a memory is too small, and what would pass."""
    parts = [item for item in plan.memory.devices if item.device.memory_pool == pool.name]
    sums = {
        "weights": sum(item.weights_bytes for item in parts),
        "cache": sum(item.kv_bytes + item.state_bytes for item in parts),
        "compute and the rest": sum(item.compute_bytes + item.other_bytes for item in parts),
        "draft model": sum(item.draft_bytes for item in parts),
    }
    terms = " + ".join(f"{name} {format_bytes(size)}" for name, size in sums.items() if size)
    free = pool.free_bytes or 0
    text = f"Rule: {terms} = {format_bytes(pool.used_bytes)} must fit into what is free"
    text += f", and {format_bytes(free)} are"
    if pool.total_bytes is not None:
        others = format_bytes(pool.others_bytes or 0)
        text += f" ({format_bytes(pool.total_bytes)} less {others} of others)"
    text += "."
    if fixes:
        return f"{text} Smallest change that passes: {fixes[0].text}."
    if sums["weights"] > free:
        return f"{text} The weights alone are larger: a smaller quantisation is needed."
    return f"{text} No setting makes it fit: free some memory or take a smaller quantisation."


def room_fixes(plan: Plan) -> tuple[RoomFix, ...]:
    """Return changes with which the plan fits, the one that gives up least first."""
    found = []
    total = sum(item.total_bytes for item in plan.memory.devices)
    for text, changes, after in _candidates(plan):
        if after.fits and after.refusal is None:
            saved = total - sum(item.total_bytes for item in after.memory.devices)
            found.append(RoomFix(text, changes, saved))
    # What only moves layers elsewhere gives up speed, not memory: it comes last.
    found.sort(key=lambda fix: (fix.given_up_bytes <= 0, fix.given_up_bytes))
    return tuple(found[:_MOST])


def _again(plan: Plan, **changes: object) -> Plan:
    load = replace(plan.load, **changes)  # type: ignore[arg-type]
    return make_plan(plan.facts, load, plan.machine)


def _candidates(plan: Plan) -> Iterator[tuple[str, Changes, Plan]]:
    context = plan.memory.settings.context_sequence
    shorter = _longest(plan, context)
    if shorter is not None:
        tokens, after = shorter
        yield f"context to {tokens:,}", {"n_ctx": tokens}, after
    if plan.load.type_k in _PLAIN_TYPES and plan.memory.kv_bytes:
        for name in _SMALLER_TYPES:
            smaller = _again(plan, type_k=name, type_v=name)
            if smaller.refusal is not None:
                continue
            changes: Changes = {"type_k": name, "type_v": name}
            yield f"KV cache to {name}", changes, smaller
            if smaller.fits:
                break
            both = _longest(smaller, context)
            if both is not None:
                tokens, after = both
                text = f"KV cache to {name} and context to {tokens:,}"
                yield text, changes | {"n_ctx": tokens}, after
    if plan.load.draft is not None:
        yield "no draft model", {"draft": None}, _again(plan, draft=None)
    if plan.layers_offloaded:
        yield from _fewer_layers(plan)


def _longest(plan: Plan, context: int) -> tuple[int, Plan] | None:
    """Return the longest context below ``context`` that fits, with its plan."""
    if not plan.max_context:
        return None
    tokens = min(plan.max_context, context - _CELLS) // _CELLS * _CELLS
    if tokens < _LEAST_CONTEXT:
        return None
    asked = tokens * plan.memory.settings.sequences
    after = _again(plan, context=asked)
    return (asked, after) if after.fits else None


def _fewer_layers(plan: Plan) -> Iterator[tuple[str, Changes, Plan]]:
    """Yield the most layers on accelerators that fit, by halving."""
    low, high = 0, plan.layers_offloaded - 1
    best: tuple[int, Plan] | None = None
    while low <= high:
        middle = (low + high) // 2
        after = _again(plan, gpu_layers=middle)
        if after.fits:
            best, low = (middle, after), middle + 1
        else:
            high = middle - 1
    if best is not None:
        layers, after = best
        yield f"{counted(layers, 'layer')} on the accelerator", {"gpu_layers": layers}, after
    if plan.facts.experts:
        after = _again(plan, experts_on_cpu=True)
        yield "experts in main memory", {"experts_on_cpu": True}, after
