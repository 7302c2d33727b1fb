"""What is worth saying about a plan: a cause, what it costs, and what would help.

Each fix names a setting and a value that a window can apply with one click.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from gguf_tools.facts import ModelFacts
from gguf_tools.kv import window_cells
from gguf_tools.machine import LOAD_LINE, Machine
from gguf_tools.memory import MemoryPlan
from gguf_tools.rates import TokenBytes
from gguf_tools.settings import LoadSettings, Refusal
from gguf_tools.units import format_bytes, format_rate

__all__ = ["Finding", "Fix", "Severity", "find"]

Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Fix:
    """A setting that would help; ``value`` is what to set it to."""

    text: str
    setting: str
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth saying. ``cost`` is in words, with its unit; empty if there is none."""

    id: str
    severity: Severity
    text: str
    cost: str = ""
    fixes: tuple[Fix, ...] = ()


def find(
    *,
    facts: ModelFacts,
    load: LoadSettings,
    machine: Machine,
    memory: MemoryPlan,
    refused: Refusal | None,
    pools: tuple[tuple[str, int | None, bool], ...],
    max_context: int | None,
    safe_context: int | None,
    expected_high: float | None,
    reads: tuple[TokenBytes, ...],
) -> tuple[Finding, ...]:
    """Return the findings of a plan, the worst first."""
    found = []
    if refused is not None:
        found.append(_refused(refused))
    found += _room(load, memory, pools, max_context, safe_context)
    found += _offload(load, machine, memory, expected_high, reads)
    found += _model(facts, load, memory)
    found += _draft(memory, pools)
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(found, key=lambda item: order[item.severity]))


def _refused(refused: Refusal) -> Finding:
    fixes = {
        "flash_on": Fix("Turn flash attention on", "flash_attention", "on"),
        "v_f16": Fix("Keep V in f16", "type_v", "f16"),
        "kv_f16": Fix("Keep the cache in f16", "type_k", "f16"),
        "kv_same": Fix("Use one type for K and V", "type_v", "same"),
        "fewer_sequences": Fix("256 chats at once", "sequences", 256),
        "context": Fix("Choose a context", "context", 4096),
        "one_sequence": Fix("One chat at once", "sequences", 1),
        "flash_off": Fix("Turn flash attention off", "flash_attention", "off"),
    }
    fix = fixes.get(refused.fix)
    return Finding("refused", "error", refused.text, fixes=() if fix is None else (fix,))


def _room(
    load: LoadSettings,
    memory: MemoryPlan,
    pools: tuple[tuple[str, int | None, bool], ...],
    max_context: int | None,
    safe_context: int | None,
) -> list[Finding]:
    found = []
    for name, left, over in pools:
        if left is None:
            found.append(
                Finding("memory_unknown", "note", f"How much memory of {name} is free is unknown.")
            )
        elif left < 0:
            found.append(
                Finding(
                    "does_not_fit",
                    "error",
                    f"{name} lacks {format_bytes(-left)} for this.",
                    cost=format_bytes(-left),
                    fixes=_shrink(load, memory, safe_context or max_context),
                )
            )
        elif over:
            found.append(
                Finding(
                    "over_load_line",
                    "warning",
                    f"{name} would be filled above {LOAD_LINE:.0%}: other programs may push parts "
                    "of the model out.",
                    fixes=_shrink(load, memory, safe_context),
                )
            )
    return found


def _shrink(load: LoadSettings, memory: MemoryPlan, max_context: int | None) -> tuple[Fix, ...]:
    fixes = []
    current = memory.settings.context_sequence
    if max_context and 0 < max_context < current:
        fixes.append(Fix(f"Use a context of {max_context:,}", "context", max_context))
    if load.type_k == "f16" and memory.kv_bytes:
        half = format_bytes(memory.kv_bytes * 15 // 32)
        fixes.append(Fix(f"Keep the cache in q8_0, which saves {half}", "cache_type", "q8_0"))
    if memory.placement.offloaded > 1:
        fewer = memory.placement.offloaded - 1
        fixes.append(Fix("Offload fewer layers", "gpu_layers", fewer))
    return tuple(fixes)


def _offload(
    load: LoadSettings,
    machine: Machine,
    memory: MemoryPlan,
    expected_high: float | None,
    reads: tuple[TokenBytes, ...],
) -> list[Finding]:
    placement = memory.placement
    count = len(placement.layers)
    if not machine.accelerators or placement.offloaded == count:
        return []
    whole = _all_offloaded(machine, reads)
    cost = ""
    if whole is not None and expected_high:
        cost = f"{format_rate(expected_high)} instead of about {format_rate(whole)}"
    if placement.offloaded == 0:
        text = (
            f"All {count} layers stay on the CPU although there is {machine.accelerators[0].name}."
        )
    else:
        text = f"{count - placement.offloaded} of {count} layers stay on the CPU."
    fixes = () if load.gpu_layers < 0 else (Fix("Offload all layers", "gpu_layers", -1),)
    return [Finding("offload", "warning", text, cost=cost, fixes=fixes)]


def _all_offloaded(machine: Machine, reads: tuple[TokenBytes, ...]) -> float | None:
    """Return the decode rate if one device read everything at three quarters of its bandwidth."""
    bandwidths = [device.bandwidth_bytes_per_s for device in machine.accelerators]
    if not bandwidths[0]:
        return None
    return 0.75 * bandwidths[0] / sum(item.total for item in reads)


def _model(facts: ModelFacts, load: LoadSettings, memory: MemoryPlan) -> list[Finding]:
    found = []
    settings = memory.settings
    trained = facts.context_length
    if trained and settings.context_sequence > trained + 255:
        found.append(
            Finding(
                "beyond_trained",
                "warning",
                f"{settings.context_sequence:,} tokens are asked for and the model was trained for "
                f"{trained:,}: further positions are new to it, so replies get worse there.",
                fixes=(Fix(f"Use {trained:,}", "context", trained),),
            )
        )
    saved = _full_window_cost(facts, memory) if load.swa_full else 0
    if saved:
        found.append(
            Finding(
                "swa_full",
                "note",
                "Sliding layers keep the whole context: going back in a chat costs nothing then.",
                cost=format_bytes(saved),
                fixes=(Fix("Keep only the sliding window", "swa_full", False),),
            )
        )
    if not settings.flash_attention and memory.kv_bytes:
        scores = 4 * settings.prompt_tokens * settings.kv.context * (facts.heads or 0)
        found.append(
            Finding(
                "flash_off",
                "note",
                "Without flash attention the scores of a whole micro-batch are kept.",
                cost=format_bytes(scores),
                fixes=(Fix("Turn flash attention on", "flash_attention", "on"),),
            )
        )
    shape = facts.shape
    if shape is not None and shape.architecture == "deepseek2" and not shape.mla:
        found.append(
            Finding("old_mla", "warning", "A newly converted file would need far less cache.")
        )
    if memory.compute_trust == "rough":
        found.append(
            Finding(
                "rough_compute",
                "note",
                "The compute buffer of this architecture is only roughly known before loading.",
                cost=f"may differ by {memory.compute_margin:.0%}",
            )
        )
    return found


def _draft(memory: MemoryPlan, pools: tuple[tuple[str, int | None, bool], ...]) -> list[Finding]:
    """Say what a draft model takes, or why the engine will go on without it."""
    draft = memory.draft
    if draft is None:
        return []
    without = Fix("Load without a draft model", "draft", "")
    if draft.problem:
        text = f"{draft.problem} The chat goes on without a draft model."
        return [Finding("draft_refused", "warning", text, fixes=(without,))]
    text = (
        f"The draft model {draft.name} takes {format_bytes(draft.total_bytes)}: weights "
        f"{format_bytes(draft.weights_bytes)}, cache {format_bytes(draft.cache_bytes)}, compute "
        f"{format_bytes(draft.compute_bytes)}."
    )
    held: dict[str, int] = {}
    for item in memory.devices:
        pool = item.device.memory_pool
        held[pool] = held.get(pool, 0) + item.draft_bytes
    short = [(name, left) for name, left, _ in pools if left is not None and left < 0]
    if short and all(held.get(name, 0) + left >= 0 for name, left in short):
        return [Finding("draft", "warning", f"{text} Without it this fits.", fixes=(without,))]
    return [Finding("draft", "note", text)]


def _full_window_cost(facts: ModelFacts, memory: MemoryPlan) -> int:
    """Return what the cache of sliding layers takes beyond a window's."""
    assert facts.shape is not None  # nothing else is planned
    enough = window_cells(facts.shape, replace(memory.settings.kv, swa_full=False))
    return sum(
        cache.bytes_per_cell * cache.streams * (cache.cells - enough)
        for cache in memory.caches
        if cache.name == "swa"
    )
