"""Changes of load settings that findings offer, with their effect by the plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from inspector.effects import effect_of, planned_again
from inspector.plan_record import Changes, FixRecord, PlannedDevice, PlanRecord
from inspector.session import Session

__all__ = ["PLAIN_TYPES", "fix", "smaller_cache", "smaller_context", "without"]

PLAIN_TYPES: Final = frozenset({"f32", "f16", "bf16"})
"""Cache types that are not quantised."""


def fix(session: Session, text: str, changes: Changes) -> FixRecord:
    """Return a fix with what it would do by the plan."""
    effect = ""
    if session.planner is not None:
        effect = effect_of(session.planner, changes, session.used_tokens)
    return FixRecord(text=text, changes=changes, effect=effect)


def smaller_cache(session: Session) -> Iterator[FixRecord]:
    """Yield the fix that quantises the cache, where that can be done."""
    settings = session.settings
    if settings is None or settings.type_k not in PLAIN_TYPES:
        return
    changes: Changes = {"type_k": "q8_0", "type_v": "q8_0"}
    if session.planner is not None:
        after = planned_again(session.planner, changes)
        if after is None or after.refusal is not None:
            return
    yield fix(session, "KV cache to q8_0", changes)


def smaller_context(session: Session) -> Iterator[FixRecord]:
    """Yield the fix that halves the context, where the conversation fits into that."""
    settings = session.settings
    if settings is None:
        return
    half = settings.n_ctx // 2 // 256 * 256
    if half >= 2048 and half > session.used_tokens:
        yield fix(session, f"Context to {half:,}", {"n_ctx": half})


def without(session: Session, plan: PlanRecord, device: PlannedDevice) -> FixRecord:
    """Return the fix that loads the model on the other devices."""
    others = [
        item.description if item.kind == "rpc" else item.name
        for item in plan.devices
        if item.kind != "cpu" and item.name != device.name
    ]
    return fix(session, f"Load without {device.name}", {"devices": ",".join(others) or "none"})
