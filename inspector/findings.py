"""What is worth saying about a load and its turns: cause, cost, and fixes with their effect.

Before loading these are the planner's findings. After loading only what the engine and the
measurements show is said, so that a plan that came out otherwise leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from gguf_tools.machine import LOAD_LINE, MEASURED_BUSY
from gguf_tools.units import counted, format_bandwidth, format_bytes, format_percent
from inspector.budget import budgets
from inspector.causes import SHORT_TOKENS
from inspector.fixes import PLAIN_TYPES, fix, smaller_cache, smaller_context, without
from inspector.placement_findings import placement_findings
from inspector.plan_record import BUSY, FindingRecord, FixRecord
from inspector.records import LoadRecord
from inspector.session import Session
from inspector.speed import judge
from inspector.views import BudgetView

__all__ = ["WINDOW_NEAR", "findings_of"]

WINDOW_NEAR: Final = 0.85
"""Share of the window from which its end is worth a warning."""

_STAY: Final = frozenset({"flash_off", "old_mla", "swa_full", "beyond_trained"})
_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


def findings_of(session: Session) -> tuple[FindingRecord, ...]:
    """Return the findings, the worst first; each id occurs once.

    Findings of a device carry its name in the id: "over_load_line/CUDA0".
    """
    found: list[FindingRecord] = []
    plan, load = session.plan, session.load
    if session.state == "lost" and session.loss is not None:
        found += _lost(session, session.loss[0])
    if load is None:
        found += () if plan is None else plan.findings
    else:
        found += placement_findings(session, load)
        found += _settings(session, load)
        if plan is not None:
            stay = _STAY - {"flash_off"} if session.tuned else _STAY
            found += (item for item in plan.findings if item.id in stay)
        if session.state != "lost":
            found += _memory(session)
            found += _speed(session)
    found += _bandwidth(session)
    found += _window(session)
    unique: dict[str, FindingRecord] = {}
    for item in found:
        unique.setdefault(item.id, item)
    # Of those that are alike, what can be mended by a click comes first.
    told = sorted(unique.values(), key=lambda item: (_ORDER[item.severity], not item.fixes))
    if session.state == "replay":
        # What was measured then can't be mended now.
        return tuple(msgspec.structs.replace(item, fixes=()) for item in told)
    return tuple(told)


def _lost(session: Session, sentence: str) -> Iterator[FindingRecord]:
    """Yield why the engine ended and what helps; what helps alone where the rest is told beside."""
    plan = session.plan
    gone = [
        item
        for item in (() if plan is None else plan.devices)
        if item.kind == "rpc" and item.description in sentence
    ]
    if plan is not None and gone:
        fixes = tuple(without(session, plan, item) for item in gone)
    elif session.loss_can_mend:
        fixes = (*smaller_context(session), *smaller_cache(session))
    else:
        fixes = ()
    if not session.loss_is_told:
        cause = "What it held is free again; its last words are in the log."
        yield FindingRecord(
            id="engine_lost", severity="error", text=sentence, cause=cause, fixes=fixes
        )
    elif fixes:
        text = "It can run without what was lost." if gone else "It may run with less memory."
        yield FindingRecord(id="engine_lost", severity="warning", text=text, fixes=fixes)


# --- settings that the engine runs with


def _settings(session: Session, load: LoadRecord) -> Iterator[FindingRecord]:
    settings = load.settings
    if settings.type_v not in PLAIN_TYPES and settings.flash_attention is False:
        yield FindingRecord(
            id="v_without_flash",
            severity="error",
            text=f"A V cache in {settings.type_v} needs flash attention, which is off.",
            fixes=(
                fix(session, "Turn flash attention on", {"flash_attention": "on"}),
                fix(session, "V cache to f16", {"type_v": "f16"}),
            ),
        )
    if settings.swa_full and load.swa_window:
        yield FindingRecord(
            id="swa_full",
            severity="note",
            text="Sliding-window layers keep the whole context.",
            cause=f"They only look back {load.swa_window:,} tokens; going back costs nothing so.",
            fixes=(fix(session, "Keep only the sliding window", {"swa_full": False}),),
        )
    if load.n_ctx_train and settings.n_ctx > load.n_ctx_train + 255:
        trained = load.n_ctx_train
        yield FindingRecord(
            id="beyond_trained",
            severity="warning",
            text=f"The context is longer than the {trained:,} tokens the model was trained for.",
            cause="Replies get worse beyond them.",
            fixes=(fix(session, f"Context to {trained:,}", {"n_ctx": trained}),),
        )
    if settings.compatibility:
        yield FindingRecord(
            id="compatibility",
            severity="note",
            text="Compatibility mode is on.",
            cause=(
                "The engine met an instruction that this processor does not have, so its fastest "
                "kernels are left out; reading prompts is slower on some models."
            ),
        )
    yield from _threads(session, settings.threads)


def _threads(session: Session, threads: int) -> Iterator[FindingRecord]:
    cores = session.cores
    if not cores or not threads or session.tuned:
        return
    best = max(1, cores - 1) if cores <= 4 else cores
    fewer = fix(session, f"Use {best}", {"threads": best, "threads_batch": best})
    if threads > cores:
        yield FindingRecord(
            id="threads",
            severity="warning",
            text=f"{threads} threads share {counted(cores, 'fast core')}.",
            cause="Decoding waits for memory, so more threads than cores only hold each other up.",
            fixes=(fewer,),
        )
    elif threads * 2 < cores:
        yield FindingRecord(
            id="threads",
            severity="note",
            text=f"{threads} of {cores} fast cores are used.",
            fixes=(fewer,),
        )


# --- memory and window


def _memory(session: Session) -> Iterator[FindingRecord]:
    for budget in budgets(session):
        yield from _over(session, budget)
    sample = session.sample
    for device in () if sample is None else sample.devices:
        if device.spilled_bytes and device.spilled_bytes >= 64 << 20:
            yield FindingRecord(
                id=f"spill/{device.name}",
                severity="warning",
                text=f"{format_bytes(device.spilled_bytes)} of {device.name} lie in main memory.",
                cause=(
                    "The device is full, and its driver moved memory out, which makes every "
                    "token that reads it many times slower."
                ),
                fixes=(*smaller_cache(session), *smaller_context(session)),
            )
        if device.limited_by:
            yield FindingRecord(
                id=f"limited/{device.name}",
                severity="note",
                text=f"{device.name} is held back by {device.limited_by}.",
            )


def _over(session: Session, budget: BudgetView) -> Iterator[FindingRecord]:
    if budget.total_bytes is None or not budget.over_load_line:
        return
    used = budget.used_bytes
    share = used / budget.total_bytes
    others = sum(item.size_bytes for item in budget.segments if item.kind == "other_programs")
    fixes = [*smaller_cache(session), *smaller_context(session)]
    if others > 0.1 * budget.total_bytes:
        fixes.append(
            FixRecord(
                text="Unload the model",
                action="unload",
                effect="gives its memory back until other programs need less",
            )
        )
    yield FindingRecord(
        id=f"over_load_line/{budget.name}",
        severity="error" if budget.over_bytes else "warning",
        text=(
            f"{budget.name} is {format_percent(share)} full, above the load line of "
            f"{format_percent(LOAD_LINE)}."
        ),
        cause=(
            f"{format_bytes(used)} of {format_bytes(budget.total_bytes)} are taken, "
            f"{format_bytes(others)} by other programs; when it is full, parts of the model are "
            "moved out or the engine ends."
        ),
        fixes=tuple(fixes),
    )


def _window(session: Session) -> Iterator[FindingRecord]:
    settings = session.settings
    if settings is None or not settings.n_ctx or session.load is None:
        return
    used, window = session.used_tokens, settings.n_ctx
    if used < WINDOW_NEAR * window:
        return
    trained = session.load.n_ctx_train
    double = min(window * 2, trained) if trained else window * 2
    fixes = []
    if double > window:
        fixes.append(fix(session, f"Context to {double:,}", {"n_ctx": double}))
    fixes.append(
        FixRecord(
            text="New chat with a summary",
            action="new_chat",
            effect="written by the model",
        )
    )
    yield FindingRecord(
        id="window",
        severity="warning",
        text=f"{used:,} of {window:,} tokens of the context are taken.",
        cause=(
            "The oldest turns will be left out of what the model sees, and then the prompt is "
            "read again from where it was cut."
        ),
        cost=_reread(session, window),
        fixes=tuple(fixes),
    )


def _reread(session: Session, window: int) -> str:
    rate = session.prefill_per_s
    if not rate:
        return ""
    return f"Reading a full context takes about {window / rate:.0f} s."


# --- speed


def _bandwidth(session: Session) -> Iterator[FindingRecord]:
    """Yield that the ceilings rest on a measurement that other programs slowed down."""
    for device in () if session.plan is None else session.plan.devices:
        if MEASURED_BUSY in device.bandwidth_note and device.weights_bytes:
            figure = format_bandwidth(device.bandwidth_bytes_per_s)
            yield FindingRecord(
                id="bandwidth_busy",
                severity="note",
                text=f"{device.name} was measured while busy.",
                cause=(
                    f"Its memory gave {figure} while other programs ran, so ceilings and "
                    "predictions may be too low."
                ),
                fixes=(_probe_fix(session, "Measure again"),),
            )


def _probe_fix(session: Session, text: str) -> FixRecord:
    if session.measuring:
        return FixRecord(text="Measuring…", action=BUSY)
    return FixRecord(text=text, action="probe")


def _speed(session: Session) -> Iterator[FindingRecord]:
    verdict = judge(session)
    if verdict.kind == "above":
        yield FindingRecord(
            id="above_ceiling",
            severity="warning",
            text="Decoding was measured faster than its ceiling.",
            cause=verdict.sentence,
            fixes=(_probe_fix(session, "Measure bandwidth again"),),
        )
    elif verdict.kind == "below" and session.last is not None:
        is_short = session.last.stats.reply_tokens < SHORT_TOKENS
        yield FindingRecord(
            id="slow",
            severity="note" if is_short else "warning",
            text="Decoding is slower than predicted.",
            cause=verdict.sentence,
            cost=" ".join(verdict.causes[1:]),
        )
