"""What changed load settings would do, by a plan made with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gguf_tools.machine import Machine
from gguf_tools.plan import Plan, make_plan
from gguf_tools.split import device_names, is_named
from gguf_tools.units import format_bytes
from inspector.plan_record import Changes

__all__ = ["PLANNED_KEYS", "effect_of", "planned_again"]

PLANNED_KEYS: Final = {
    "n_batch": "batch",
    "n_ubatch": "ubatch",
    "type_k": "type_k",
    "type_v": "type_v",
    "gpu_layers": "gpu_layers",
    "flash_attention": "flash_attention",
    "swa_full": "swa_full",
    "mmap": "mmap",
    "experts_on_cpu": "experts_on_cpu",
}
"""Names of load settings as the planner calls them, by their keys here."""


def planned_again(
    plan: Plan, changes: Changes, machine: Machine | None = None, *, depth: int = 0
) -> Plan | None:
    """Return the plan with other load settings, None where they can't be planned."""
    chosen = {PLANNED_KEYS[key]: changes[key] for key in changes if key in PLANNED_KEYS}
    if changes.get("n_ctx") is not None:
        chosen["context"] = changes["n_ctx"]
    if "compatibility" in changes:
        chosen["extra_buffers"] = not changes["compatibility"]
    if "draft" in changes and changes["draft"] is None:
        chosen["draft"] = None
    machine = machine or plan.machine
    if "devices" in changes:
        text = changes["devices"]
        names = device_names(None if text is None else str(text))
        left = (
            item for item in machine.accelerators if is_named(names, item.name, item.description)
        )
        machine = replace(machine, accelerators=tuple(left))
    elif not chosen:
        return None
    try:
        load = replace(plan.load, **chosen)  # type: ignore[arg-type]
        return make_plan(plan.facts, load, machine, depth=depth)
    except ValueError:
        return None


def effect_of(plan: Plan, changes: Changes, depth: int = 0) -> str:
    """Return in words what changed load settings would do by the plan; empty if unknown.

    Rates are those with ``depth`` tokens in the cache.
    """
    after = planned_again(plan, changes, depth=depth)
    if after is None:
        return ""
    if after.refusal is not None:
        return f"The engine would refuse: {after.refusal.text}"
    parts = []
    saved = sum(item.total_bytes for item in plan.memory.devices) - sum(
        item.total_bytes for item in after.memory.devices
    )
    if abs(saved) >= 1 << 20:
        parts.append(f"{'frees' if saved > 0 else 'takes'} {format_bytes(abs(saved))}")
    if plan.fits is False and after.fits:
        parts.append("then it fits")
    elif after.fits is False:
        parts.append("it does not fit then")
    before, now = plan.decode, after.decode
    if depth:
        before = make_plan(plan.facts, plan.load, plan.machine, depth=depth).decode
    if before.expected_high and now.expected_high and now.expected_low:
        ratio = now.expected_high / before.expected_high
        if abs(ratio - 1) >= 0.02:
            parts.append(f"{now.expected_low:.0f} to {now.expected_high:.0f} tok/s")
    return ", ".join(parts)
