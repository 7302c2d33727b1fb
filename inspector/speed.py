"""Measured rates beside predicted ones, and the likely reason where they differ.

The ceiling moves: a token reads every weight and the cache as far as it is filled, so each
measurement is held against the prediction at its own depth. A rate above the ceiling means that
the byte count or the bandwidth is wrong, never that the machine is good; a rate far below it is
explained by evidence, or said to be unexplained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gguf_tools.machine import bandwidth_how
from gguf_tools.units import (
    counted,
    format_bandwidth,
    format_bytes,
    format_decimal_bytes,
    format_percent,
    format_rate,
    format_seconds,
)
from inspector.batching import LEAST_TOKENS, alone_per_s, batch_sentence, draft_sentence
from inspector.ceiling import decode_equation, decode_limit, prefill_equation
from inspector.first_token import draft_first_token, first_token
from inspector.plan_record import PlannedDevice, PlanRecord, RatePoint
from inspector.records import TurnStats
from inspector.session import Session, spread
from inspector.views import (
    Basis,
    DepthPoint,
    PredictedPoint,
    RateView,
    SpeedView,
)

__all__ = ["ABOVE", "BELOW", "SHORT_TOKENS", "Verdict", "judge", "network_words", "speed_view"]

ABOVE: Final = 1.02
"""Measured over ceiling from which a figure must be wrong."""

BELOW: Final = 0.8
"""Measured over the low end of the prediction below which a reason is looked for."""

SHORT_TOKENS: Final = 32  # the figure of a shorter one is uncertain
_SPILL_BYTES: Final = 64 << 20
_RESIDENT: Final = 0.9
_SAMPLER_SHARE: Final = 0.15
_FELL: Final = 0.8
_PREDICTED_POINTS: Final = 48
_MOST_TURNS: Final = 240  # more could not be told apart in the chart
_PLAIN_TYPES: Final = frozenset({"f32", "f16", "bf16"})

Kind: TypeAlias = Literal["unknown", "inside", "above", "below", "shared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a measured decode rate stands to the prediction at its depth.

    ``causes`` are sentences, the most telling first; empty where nothing explains the gap. A
    ``shared`` one is of a batch or a draft, where a reading of the weights served several tokens:
    the ceiling of one token a reading says nothing about it.
    """

    kind: Kind
    measured: float | None = None
    point: RatePoint | None = None
    causes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Say what it means; empty if there is nothing to say."""
        point, measured = self.point, self.measured
        if self.kind == "shared":
            return self.causes[0]
        if point is None or measured is None or point.ceiling is None or point.low is None:
            return ""
        if self.kind == "above":
            over = measured / point.ceiling - 1
            return (
                f"{format_rate(measured)} is {format_percent(over)} above the ceiling of "
                f"{format_rate(point.ceiling)}, which can't be: the byte count or the bandwidth "
                "is wrong. " + " ".join(self.causes)
            ).strip()
        if self.kind == "below":
            least = max(point.low, point.likely_low or 0.0)
            head = (
                f"{format_rate(measured)} is {format_percent(measured / point.ceiling)} of the "
                f"ceiling, and at least {format_rate(least)} "
                f"{'was expected' if least == point.low else 'would be usual'}. "
            )
            return head + (self.causes[0] if self.causes else "The reason is unknown.")
        return ""


def judge(session: Session) -> Verdict:
    """Return how the last turn's decode rate stands to the prediction at its depth."""
    turn = session.last
    plan = session.judging_plan
    if turn is None or plan is None:
        return Verdict(kind="unknown")
    stats = turn.stats
    measured = stats.decode_per_s
    point = plan.rate_at(stats.mean_depth_tokens)
    shared = _shared(session, stats)
    if shared:
        return Verdict(kind="shared", measured=measured, point=point, causes=(shared,))
    if measured is None or stats.reply_tokens < LEAST_TOKENS or point is None:
        return Verdict(kind="unknown", measured=measured, point=point)
    if point.ceiling is None or point.low is None:
        return Verdict(kind="unknown", measured=measured, point=point)
    if measured > ABOVE * point.ceiling:
        causes = tuple(_too_fast(plan))
        return Verdict(kind="above", measured=measured, point=point, causes=causes)
    if measured < BELOW * max(point.low, point.likely_low or 0.0):
        causes = tuple(_too_slow(session, plan, stats))
        return Verdict(kind="below", measured=measured, point=point, causes=causes)
    return Verdict(kind="inside", measured=measured, point=point)


def _shared(session: Session, stats: TurnStats) -> str:
    """Say what a reading of the weights gave that served several tokens; empty if none did."""
    last = session.last
    alone = None if last is None else alone_per_s(session.comparable_alone, last)
    return batch_sentence(stats, alone) or draft_sentence(stats, alone)


def _too_fast(plan: PlanRecord) -> Iterator[str]:
    for device in plan.devices:
        if device.bandwidth_bytes_per_s is None or not device.weights_bytes:
            continue
        source = {
            "measured": "was measured while the machine may have been busy",
            "table": "is of a data sheet",
        }.get(device.bandwidth_basis, "is assumed")
        figure = format_bandwidth(device.bandwidth_bytes_per_s)
        yield f"The {figure} of {device.name} {source}."


def _too_slow(session: Session, plan: PlanRecord, stats: TurnStats) -> Iterator[str]:
    """Yield what the evidence says about a slow turn, the most telling first."""
    load, settings, sample = session.load, session.settings, session.sample
    for device in () if sample is None else sample.devices:
        if device.spilled_bytes and device.spilled_bytes >= _SPILL_BYTES:
            size = format_bytes(device.spilled_bytes)
            yield f"The driver moved {size} of {device.name} to system memory, which is far slower."
        if device.limited_by:
            yield f"{device.name} is held back by {device.limited_by}."
    mapped = _mapped_weights(session)
    resident = None if sample is None else sample.mapped_bytes
    if mapped and resident is not None and resident < _RESIDENT * mapped:
        yield (
            f"Only {format_bytes(resident)} of the model's {format_bytes(mapped)} lie in memory: "
            "the rest is read from disk for every token."
        )
    if load is not None and load.layers_offloaded < plan.layers_offloaded:
        yield (
            f"Of {counted(plan.layers_offloaded, 'layer')} planned on the accelerator "
            f"{load.layers_offloaded:,} came there."
        )
    for item in plan.devices:
        if item.network_s:
            yield (
                f"Layers lie on {item.name}, and {network_words(item)} when it was measured: a "
                "network that is slower now, or another user of that computer, would explain it."
            )
    if session.cores and stats.threads > session.cores and not session.tuned:
        cores = counted(session.cores, "fast core")
        yield f"{stats.threads} threads share {cores} and wait for each other."
    if session.busy:
        yield session.busy
    if stats.decode_s and stats.sample_s > _SAMPLER_SHARE * stats.decode_s:
        share = stats.sample_s / stats.decode_s
        yield (
            f"Drawing tokens took {format_percent(share)} of the time: a grammar or many samplers "
            "do that."
        )
    fell = _fell(plan, stats)
    if fell is not None:
        yield (
            f"Within the reply the rate fell from {format_rate(fell[0])} to "
            f"{format_rate(fell[1])}, more than the longer context explains: heat, power or "
            "another program."
        )
    if settings is not None:
        on_cpu = plan.layers_offloaded < plan.layers_total
        if settings.compatibility and on_cpu:
            yield "Compatibility mode leaves out this processor's fastest kernels."
        if settings.type_k not in _PLAIN_TYPES and on_cpu:
            yield f"A cache in {settings.type_k} is unpacked for every token on the processor."
        if session.cores and 0 < stats.threads * 2 < session.cores and not session.tuned:
            yield f"Only {stats.threads} of {session.cores} fast cores are used."
    if stats.reply_tokens < SHORT_TOKENS:
        tokens = counted(stats.reply_tokens, "token")
        yield f"The reply is short ({tokens}), so the figure is uncertain."


def network_words(device: PlannedDevice) -> str:
    """Say what the network to a device gives, and what it adds to each token."""
    figures = []
    if device.round_trip_s is not None:
        figures.append(f"{format_seconds(device.round_trip_s)} a round trip")
    if device.link_bytes_per_s is not None:
        figures.append(format_bandwidth(device.link_bytes_per_s))
    return (
        f"the network to {device.description}: {', '.join(figures)}, "
        f"{format_seconds(device.network_s)} of each token"
    )


def _mapped_weights(session: Session) -> int:
    """Return bytes of weights that decoding reads from mapped pages, 0 if some were repacked."""
    load = session.load
    if load is None:
        return 0
    weights = [item for item in load.buffers if item.what == "weights"]
    if any("_Mapped" not in item.device for item in weights):
        return 0
    return sum(item.size_bytes for item in weights)


def _fell(plan: PlanRecord, stats: TurnStats) -> tuple[float, float] | None:
    """Return the rates at a reply's beginning and end if the end is slower than predicted."""
    rates = stats.rates_along()
    if len(rates) < 6:
        return None
    third = len(rates) // 3
    first, last = rates[:third], rates[-third:]
    start = third / sum(1 / rate for _, rate in first)
    end = third / sum(1 / rate for _, rate in last)
    before, after = plan.rate_at(first[0][0]), plan.rate_at(last[-1][0])
    usual = 1.0
    if before is not None and after is not None and before.low and after.low:
        usual = after.low / before.low
    return (start, end) if end < _FELL * usual * start else None


# --- the view


def speed_view(session: Session) -> SpeedView | None:
    """Return measured beside predicted rates, None without a plan and without a turn."""
    if session.plan is None and session.last is None:
        return None
    verdict = judge(session)
    is_writing = session.live is not None and session.live.decode_per_s is not None
    return SpeedView(
        decode=_decode(session),
        prefill=_prefill(session),
        measured_over_depth=tuple(_along(session)),
        predicted_over_depth=_predicted(session.plan),
        explanation="" if is_writing else verdict.sentence,  # it is of the turn before
        alarming=verdict.kind in {"above", "below"} and not is_writing,
        first_token=first_token(session),
        draft_first_token=draft_first_token(session),
    )


def _along(session: Session) -> Iterator[DepthPoint]:
    """Yield the rates of replies that were written alone, at last of the one being written."""
    told = [turn.stats for turn in spread(session.comparable, _MOST_TURNS)]
    plan = session.plan
    if session.live is not None and not (plan is not None and plan.draft):
        told.append(session.live.stats)
    for stats in told:
        if stats.is_alone:
            yield from (DepthPoint(depth, rate) for depth, rate in stats.rates_along())


def _predicted(plan: PlanRecord | None) -> tuple[PredictedPoint, ...]:
    return tuple(
        PredictedPoint(point.depth, point.low, point.high, point.ceiling)
        for point in (() if plan is None else plan.curve)
        if point.low is not None and point.high is not None and point.ceiling is not None
    )


def _decode(session: Session) -> RateView:
    plan, live, last = session.judging_plan, session.live, session.last
    depth = session.used_tokens
    measured = None
    if live is not None and live.decode_per_s is not None:
        measured = live.decode_per_s
        depth = live.prompt_tokens + live.reply_tokens // 2
    elif last is not None:
        measured = last.stats.decode_per_s
        depth = last.stats.mean_depth_tokens if measured is not None else depth
    point = None if plan is None else plan.rate_at(depth)
    if plan is None or point is None:
        is_now = live is not None and live.decode_per_s is not None
        is_before = live is not None and not is_now and measured is not None
        return RateView(measured=measured, live=is_now, earlier=is_before)
    parts = []
    for device in plan.devices:
        if device.bandwidth_bytes_per_s and device.weights_bytes + device.kv_bytes:
            figure = format_bandwidth(device.bandwidth_bytes_per_s)
            how = bandwidth_how(device.bandwidth_basis, device.bandwidth_note)
            parts.append(f"{device.name} {figure} ({how})")
    formula = f"{format_decimal_bytes(point.bytes_per_token)} a token at a depth of {depth:,}"
    parts += [f"{network_words(item)} (measured)" for item in plan.devices if item.network_s]
    if parts:
        formula += f"; {', '.join(parts)}"
    formula += f". {_expectation(plan)}"
    return RateView(
        measured=measured,
        predicted_low=point.low,
        predicted_high=point.high,
        ceiling=point.ceiling,
        limit=decode_limit(plan, point),
        formula=formula,
        predicted_basis="measured" if plan.fit is not None and plan.fit.own else "assumed",
        ceiling_basis=_bandwidth_basis(plan),
        live=live is not None and live.decode_per_s is not None,
        earlier=live is not None and live.decode_per_s is None and measured is not None,
        equation=decode_equation(plan, point),
    )


def _expectation(plan: PlanRecord) -> str:
    """Say on what the predicted range rests."""
    fit = plan.fit
    if fit is None:
        return (
            "Nothing was measured of this model here yet: what is likely of its types of weights "
            "and of its cache, within a wide range."
        )
    rates = counted(fit.count, "measured rate")
    if fit.runs:
        rates += f" of {counted(fit.runs, 'run')}"
    if fit.other_settings:
        return f"By {rates} of this model with other settings on this computer."
    if not fit.own:
        return f"By {rates} of another model on this computer."
    return f"By {rates} of this model on this computer, up to {counted(fit.deepest, 'token')} deep."


def _bandwidth_basis(plan: PlanRecord) -> Basis:
    busiest = max(plan.devices, key=lambda item: item.weights_bytes, default=None)
    basis = "unknown" if busiest is None else busiest.bandwidth_basis
    if busiest is not None and busiest.bandwidth_bytes_per_s is None:
        basis = "unknown"
    return _as_basis(basis)


def _as_basis(basis: str) -> Basis:
    match basis:
        case "measured" | "engine" | "read" | "table" | "planned" | "assumed":
            return basis
        case _:
            return "unknown"


def _prefill(session: Session) -> RateView:
    plan, live, last = session.plan, session.live, session.last
    measured = None if last is None else last.stats.prefill_per_s
    is_before = live is not None and measured is not None  # the engine tells it at the turn's end
    if plan is None:
        return RateView(measured=measured, earlier=is_before)
    working = [item for item in plan.devices if item.flops_per_s and item.weights_bytes]
    lead = max(working, key=lambda item: item.weights_bytes, default=None)
    ceiling = plan.prefill_ceiling
    if ceiling is None and lead is not None and lead.flops_per_s and plan.prefill_flops_per_token:
        # A record of an earlier version has none.
        ceiling = lead.flops_per_s / plan.prefill_flops_per_token
    return RateView(
        measured=measured,
        predicted_low=plan.prefill_per_s,
        predicted_high=plan.prefill_per_s,
        ceiling=ceiling,
        limit="compute-bound",
        predicted_basis="unknown" if lead is None else _as_basis(lead.flops_basis),
        ceiling_basis="unknown" if lead is None else _as_basis(lead.flops_basis),
        earlier=is_before,
        equation=prefill_equation(
            None if lead is None else lead.flops_per_s, plan.prefill_flops_per_token, ceiling
        ),
    )
