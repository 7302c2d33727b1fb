"""What is worth saying about a load and its turns: cause, cost, and fixes with their effect.

Before loading these are the planner's findings. After loading only what the engine and the
measurements show is said, so that a plan that came out otherwise leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from gguf_tools.machine import LOAD_LINE
from gguf_tools.units import format_bytes, format_rate
from inspector.budget import budgets
from inspector.effects import effect_of, planned_again
from inspector.plan_record import Changes, FindingRecord, FixRecord, PlannedDevice, PlanRecord
from inspector.records import LoadRecord
from inspector.session import Session
from inspector.speed import judge, network_words
from inspector.views import BudgetView

__all__ = ["WINDOW_NEAR", "findings_of"]

WINDOW_NEAR: Final = 0.85
"""Share of the window from which its end is worth a warning."""

_WINDOW_FULL: Final = 0.97
_NETWORK_SHARE: Final = 0.2  # of a token's time from which the network is worth a word
_PLAIN_TYPES: Final = frozenset({"f32", "f16", "bf16"})
_STAY: Final = frozenset({"flash_off", "old_mla", "swa_full", "beyond_trained"})
_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


def findings_of(session: Session) -> tuple[FindingRecord, ...]:
    """Return the findings, the worst first; each id occurs once.

    Findings of a device carry its name in the id: "over_load_line/CUDA0".
    """
    found: list[FindingRecord] = []
    plan, load = session.plan, session.load
    if session.state == "lost" and session.loss is not None:
        found.append(_lost(session, *session.loss))
    if load is None:
        found += () if plan is None else plan.findings
    else:
        found += _placement(session, load)
        found += _settings(session, load)
        if plan is not None:
            found += (item for item in plan.findings if item.id in _STAY)
        if session.state != "lost":
            found += _memory(session)
            found += _speed(session)
    found += _window(session)
    unique: dict[str, FindingRecord] = {}
    for item in found:
        unique.setdefault(item.id, item)
    told = sorted(unique.values(), key=lambda item: _ORDER[item.severity])
    if session.state == "replay":
        # What was measured then can't be mended now.
        return tuple(msgspec.structs.replace(item, fixes=()) for item in told)
    return tuple(told)


def _fix(session: Session, text: str, changes: Changes) -> FixRecord:
    effect = ""
    if session.planner is not None:
        effect = effect_of(session.planner, changes, session.used_tokens)
    return FixRecord(text=text, changes=changes, effect=effect)


def _smaller_cache(session: Session) -> Iterator[FixRecord]:
    settings = session.settings
    if settings is None or settings.type_k not in _PLAIN_TYPES:
        return
    changes: Changes = {"type_k": "q8_0", "type_v": "q8_0"}
    if session.planner is not None:
        after = planned_again(session.planner, changes)
        if after is None or after.refusal is not None:
            return
    yield _fix(session, "KV cache to q8_0", changes)


def _smaller_context(session: Session) -> Iterator[FixRecord]:
    settings = session.settings
    if settings is None:
        return
    half = settings.n_ctx // 2 // 256 * 256
    if half >= 2048 and half > session.used_tokens:
        yield _fix(session, f"Context to {half:,}", {"n_ctx": half})


def _lost(session: Session, sentence: str, detail: str) -> FindingRecord:
    plan = session.plan
    gone = [
        item
        for item in (() if plan is None else plan.devices)
        if item.kind == "rpc" and item.description in sentence
    ]
    if plan is not None and gone:
        fixes = tuple(_without(session, plan, item) for item in gone)
    else:
        fixes = (*_smaller_context(session), *_smaller_cache(session))
    return FindingRecord(
        id="engine_lost", severity="error", text=sentence, cause=detail, fixes=fixes
    )


# --- where layers lie


def _placement(session: Session, load: LoadRecord) -> Iterator[FindingRecord]:
    plan = session.plan
    accelerators = [] if plan is None else [item for item in plan.devices if item.kind != "cpu"]
    if load.gpu_layers_asked > 0 and load.layers_offloaded == 0:
        yield FindingRecord(
            id="gpu_unused",
            severity="warning",
            text=f"{load.gpu_layers_asked} layers were asked onto a GPU, and none is there.",
            cause=(
                "The engine lists no accelerator: this build of llama.cpp has no backend for it, "
                "or its driver is missing."
                if not accelerators
                else f"{accelerators[0].name} is listed, but the engine put all on the processor. "
                + " ".join(load.notices)
            ).strip(),
            fixes=(FixRecord(text="How to get a GPU build", action="engine_build"),),
        )
        return
    if session.gpus and not accelerators:
        yield FindingRecord(
            id="gpu_unused",
            severity="warning",
            text=f"{session.gpus[0]} is in this computer, and the engine does not use it.",
            cause="This build of llama.cpp has no backend for it.",
            fixes=(FixRecord(text="How to get a GPU build", action="engine_build"),),
        )
    yield from _network(session, plan)
    if plan is None or not accelerators or load.layers_offloaded >= load.layers_total:
        return
    yield _offload(session, load, plan, accelerators[0].name)
    if plan.settings.experts_on_cpu or plan.model.experts:
        yield from _experts(plan)


def _network(session: Session, plan: PlanRecord | None) -> Iterator[FindingRecord]:
    """Tell where the network takes much of each token."""
    point = None if plan is None else plan.rate_at(session.used_tokens)
    if plan is None or point is None or not point.ceiling:
        return
    for device in plan.devices:
        share = device.network_s * point.ceiling
        if share < _NETWORK_SHARE:
            continue
        words = network_words(device)
        yield FindingRecord(
            id=f"network/{device.name}",
            severity="note",
            text=f"The network to {device.description} takes {share:.0%} of each token's time.",
            cause=f"{words[0].upper()}{words[1:]}.",
            fixes=(_without(session, plan, device),),
        )


def _without(session: Session, plan: PlanRecord, device: PlannedDevice) -> FixRecord:
    """Return the fix that loads the model on the other devices."""
    others = [
        item.description if item.kind == "rpc" else item.name
        for item in plan.devices
        if item.kind != "cpu" and item.name != device.name
    ]
    return _fix(session, f"Load without {device.name}", {"devices": ",".join(others) or "none"})


def _offload(
    session: Session, load: LoadRecord, plan: PlanRecord, accelerator: str
) -> FindingRecord:
    on_cpu = load.layers_total - load.layers_offloaded
    depth = session.used_tokens
    now = plan.rate_at(depth)
    whole = None
    fixes = []
    if session.planner is not None:
        every = planned_again(session.planner, {"gpu_layers": -1}, depth=depth)
        if every is not None:
            whole = every.decode
        if 0 <= load.gpu_layers_asked < load.layers_total:
            fixes.append(_fix(session, "All layers onto it", {"gpu_layers": -1}))
    fixes += [*_smaller_cache(session), *_smaller_context(session)]
    cost = ""
    if now is not None and now.low and now.high:
        cost = f"Predicted {now.low:.3g} to {format_rate(now.high)}"
        if whole is not None and whole.expected_low and whole.expected_high:
            cost += f" instead of {whole.expected_low:.3g} to {format_rate(whole.expected_high)}"
        cost += "."
    slow = sum(layer.size_bytes for layer in plan.layers if layer.device != accelerator)
    host = next(item for item in plan.devices if item.kind == "cpu")
    cause = f"Each token reads {format_bytes(slow)} from main memory"
    if host.bandwidth_bytes_per_s:
        cause += f" at {host.bandwidth_bytes_per_s / 1e9:.3g} GB/s"
    asked = load.gpu_layers_asked
    if asked >= 0 and load.layers_offloaded < min(asked, load.layers_total):
        cause = f"{asked} layers were asked for and {load.layers_offloaded} fit. {cause}"
    return FindingRecord(
        id="offload",
        severity="warning",
        text=f"{on_cpu} of {load.layers_total} layers run on the processor.",
        cause=cause + ".",
        cost=cost,
        fixes=tuple(fixes),
    )


def _experts(plan: PlanRecord) -> Iterator[FindingRecord]:
    split = [layer for layer in plan.layers if layer.split_bytes]
    if split:
        size = sum(layer.split_bytes for layer in split)
        yield FindingRecord(
            id="experts_on_cpu",
            severity="note",
            text=f"The experts of {len(split)} layers stay in main memory.",
            cause=(
                f"They take {format_bytes(size)}, of which a token reads "
                f"{plan.model.experts_used} of {plan.model.experts} parts."
            ),
        )


# --- settings that the engine runs with


def _settings(session: Session, load: LoadRecord) -> Iterator[FindingRecord]:
    settings = load.settings
    if settings.type_v not in _PLAIN_TYPES and settings.flash_attention is False:
        yield FindingRecord(
            id="v_without_flash",
            severity="error",
            text=f"A V cache in {settings.type_v} needs flash attention, which is off.",
            fixes=(
                _fix(session, "Turn flash attention on", {"flash_attention": "on"}),
                _fix(session, "V cache to f16", {"type_v": "f16"}),
            ),
        )
    if settings.swa_full and load.swa_window:
        yield FindingRecord(
            id="swa_full",
            severity="note",
            text="Sliding-window layers keep the whole context.",
            cause=f"They only look back {load.swa_window:,} tokens; going back costs nothing so.",
            fixes=(_fix(session, "Keep only the window", {"swa_full": False}),),
        )
    if load.n_ctx_train and settings.n_ctx > load.n_ctx_train + 255:
        trained = load.n_ctx_train
        yield FindingRecord(
            id="beyond_trained",
            severity="warning",
            text=f"The window is longer than the {trained:,} tokens the model was trained for.",
            cause="Replies get worse beyond them.",
            fixes=(_fix(session, f"Context to {trained:,}", {"n_ctx": trained}),),
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
    if not cores or not threads:
        return
    best = max(1, cores - 1) if cores <= 4 else cores
    fix = _fix(session, f"Use {best}", {"threads": best, "threads_batch": best})
    if threads > cores:
        yield FindingRecord(
            id="threads",
            severity="warning",
            text=f"{threads} threads share {cores} fast cores.",
            cause="Decoding waits for memory, so more threads than cores only hold each other up.",
            fixes=(fix,),
        )
    elif threads * 2 < cores:
        yield FindingRecord(
            id="threads",
            severity="note",
            text=f"{threads} of {cores} fast cores are used.",
            fixes=(fix,),
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
                fixes=(*_smaller_cache(session), *_smaller_context(session)),
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
    fixes = [*_smaller_cache(session), *_smaller_context(session)]
    if others > 0.1 * budget.total_bytes:
        fixes.append(FixRecord(text="Close other programs", action="free_memory"))
    yield FindingRecord(
        id=f"over_load_line/{budget.name}",
        severity="error" if budget.over_bytes else "warning",
        text=f"{budget.name} is {share:.0%} full, above the load line of {LOAD_LINE:.0%}.",
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
        fixes.append(_fix(session, f"Context to {double:,}", {"n_ctx": double}))
    fixes.append(FixRecord(text="New chat with a summary", action="new_chat"))
    full = used >= _WINDOW_FULL * window
    yield FindingRecord(
        id="window",
        severity="warning" if full else "note",
        text=f"{used:,} of {window:,} tokens of the window are taken.",
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
    return f"Reading a full window takes about {window / rate:.0f} s."


# --- speed


def _speed(session: Session) -> Iterator[FindingRecord]:
    verdict = judge(session)
    if verdict.kind == "above":
        yield FindingRecord(
            id="above_ceiling",
            severity="warning",
            text="Decoding was measured faster than its ceiling.",
            cause=verdict.sentence,
            fixes=(FixRecord(text="Measure bandwidth again", action="probe"),),
        )
    elif verdict.kind == "below":
        yield FindingRecord(
            id="slow",
            severity="warning",
            text="Decoding is slower than predicted.",
            cause=verdict.sentence,
            cost=" ".join(verdict.causes[1:]),
        )
