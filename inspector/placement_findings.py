"""Findings about where layers lie: on accelerators, the processor, other computers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gguf_tools.plan import DecodePlan
from gguf_tools.units import counted, format_bytes, format_percent, format_rate
from inspector.causes import network_words
from inspector.effects import planned_again
from inspector.fixes import fix, smaller_cache, smaller_context, without
from inspector.plan_record import FindingRecord, FixRecord, PlanRecord, RatePoint
from inspector.records import LoadRecord
from inspector.session import Session

__all__ = ["placement_findings"]

_NETWORK_SHARE: Final = 0.2  # of a token's time from which the network is worth a word


def placement_findings(session: Session, load: LoadRecord) -> Iterator[FindingRecord]:
    """Yield what is worth saying about where the layers of a load lie."""
    plan = session.plan
    accelerators = [] if plan is None else [item for item in plan.devices if item.kind != "cpu"]
    if load.gpu_layers_asked > 0 and load.layers_offloaded == 0:
        yield FindingRecord(
            id="gpu_unused",
            severity="warning",
            text=(
                f"{counted(load.gpu_layers_asked, 'layer')} "
                f"{'was' if load.gpu_layers_asked == 1 else 'were'} asked onto a GPU, and none is "
                "there."
            ),
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
            text=(
                f"The network to {device.description} takes {format_percent(share)} of each "
                "token's time."
            ),
            cause=f"{words[0].upper()}{words[1:]}.",
            fixes=(without(session, plan, device),),
        )


def _offload(
    session: Session, load: LoadRecord, plan: PlanRecord, accelerator: str
) -> FindingRecord:
    on_cpu = load.layers_total - load.layers_offloaded
    depth = session.used_tokens
    now = plan.rate_at(depth)
    whole = None
    gains: bool | None = None
    every = None
    fixes = []
    if session.planner is not None:
        every = planned_again(session.planner, {"gpu_layers": -1}, depth=depth)
        if every is not None:
            whole = every.decode
        gains = _gains(now, whole)
        if 0 <= load.gpu_layers_asked < load.layers_total and gains is not False:
            fixes.append(fix(session, "All layers onto it", {"gpu_layers": -1}))
    fixes += [*smaller_cache(session), *smaller_context(session)]
    cost = ""
    if now is not None and now.low and now.high:
        cost = f"Predicted {now.low:.3g} to {format_rate(now.high)}"
        if whole is not None and whole.expected_low and whole.expected_high:
            other = f"{whole.expected_low:.3g} to {format_rate(whole.expected_high)}"
            where = f"; with all layers on {accelerator} it would be"
            cost += f"{where if gains is False else ' instead of'} {other}"
        cost += "."
    slow = sum(layer.size_bytes for layer in plan.layers if layer.device != accelerator)
    host = next(item for item in plan.devices if item.kind == "cpu")
    cause = f"Each token reads {format_bytes(slow)} from main memory"
    if host.bandwidth_bytes_per_s:
        cause += f" at {host.bandwidth_bytes_per_s / 1e9:.3g} GB/s"
    if every is not None and every.fits is False and every.max_context:
        cause += f". All layers fit up to a context of {every.max_context:,} tokens"
    asked = load.gpu_layers_asked
    if asked >= 0 and load.layers_offloaded < min(asked, load.layers_total):
        were = "was" if asked == 1 else "were"
        fit_ = f"{counted(asked, 'layer')} {were} asked for and {load.layers_offloaded} fit."
        cause = f"{fit_} {cause}"
    return FindingRecord(
        id="offload",
        severity="note" if gains is False else "warning",
        text=f"{on_cpu} of {load.layers_total} layers run on the processor.",
        cause=cause + ".",
        cost=cost,
        fixes=tuple(fixes),
    )


def _gains(now: RatePoint | None, whole: DecodePlan | None) -> bool | None:
    """Tell whether all layers on the accelerator would be faster, None if that is not known.

    A device behind a network may well be slower than this computer's own processor.
    """
    if now is None or whole is None or not now.high or not whole.expected_high:
        return None
    return whole.expected_high > now.high


def _experts(plan: PlanRecord) -> Iterator[FindingRecord]:
    split = [layer for layer in plan.layers if layer.split_bytes]
    if split:
        size = sum(layer.split_bytes for layer in split)
        yield FindingRecord(
            id="experts_on_cpu",
            severity="note",
            text=f"The experts of {counted(len(split), 'layer')} stay in main memory.",
            cause=(
                f"They take {format_bytes(size)}, of which a token reads "
                f"{plan.model.experts_used} of {plan.model.experts} parts."
            ),
        )
