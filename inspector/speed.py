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
    format_decimal_bytes,
    format_percent,
    format_rate,
)
from inspector.batching import LEAST_TOKENS, alone_per_s, batch_sentence, draft_sentence
from inspector.causes import is_slow, network_words, slow_causes
from inspector.ceiling import decode_equation, decode_limit, prefill_equation
from inspector.first_token import draft_first_token, first_token
from inspector.plan_record import PlanRecord, RatePoint
from inspector.records import TurnStats
from inspector.session import Session, spread
from inspector.views import (
    Basis,
    DepthPoint,
    PredictedPoint,
    RateView,
    SpeedView,
)

__all__ = ["ABOVE", "Verdict", "judge", "speed_view"]

ABOVE: Final = 1.02
"""Measured over ceiling from which a figure must be wrong."""

_PREDICTED_POINTS: Final = 48
_MOST_TURNS: Final = 240  # more could not be told apart in the chart

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
            head = (
                f"{format_rate(measured)} is {format_percent(measured / point.ceiling)} of the "
                f"ceiling, and at least {format_rate(point.low)} was expected. "
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
    if is_slow(plan, stats):
        kept = None if stats.judged is None else stats.judged.causes
        # What is known of this moment says nothing of a turn that ended before it.
        causes = tuple(slow_causes(session, plan, stats)) if kept is None else kept
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
        plan = session.plan
        measured = live.decode_per_s
        depth = live.prompt_tokens + live.reply_tokens // 2
    elif last is not None:
        measured = last.stats.decode_per_s
        depth = last.stats.mean_depth_tokens if measured is not None else depth
    point = None if plan is None else plan.rate_at(depth)
    if plan is None or point is None:
        is_now = live is not None and live.decode_per_s is not None
        is_before = live is not None and not is_now and measured is not None
        held_up = is_now and live is not None and live.is_held_up
        return RateView(measured=measured, live=is_now, earlier=is_before, held_up=held_up)
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
    if point.likely_low and point.high and point.likely_low > point.high:
        # A computer that is always slow must not pass for a sound one.
        usual = format_rate(point.likely_low)
        formula += f" Of the memory's bandwidth alone at least {usual} would be likely."
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
        held_up=live is not None and live.decode_per_s is not None and live.is_held_up,
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
        said = f"By {rates} of this model with other settings on this computer."
    elif not fit.own:
        said = f"By {rates} of another model on this computer."
    else:
        deep = counted(fit.deepest, "token")
        said = f"By {rates} of this model on this computer, up to {deep} deep."
    return f"{said} Other programs ran meanwhile, so it may be faster." if fit.busy else said


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
