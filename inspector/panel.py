"""From the session to what the widgets draw; a pure function of the session.

``panel_view(session, before)`` hands on every part of ``before`` that did not change as the same
object, so that the widgets redraw only what differs. It takes a millisecond or two: call it when a
message came, at most some times a second.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeVar

from gguf_tools.header import Header
from gguf_tools.units import counted, format_bytes, format_count, format_decimal_bytes
from inspector.budget import budgets
from inspector.findings import findings_of
from inspector.growth import more_chats
from inspector.plan_errors import plan_errors, worst_error
from inspector.plan_record import FindingRecord, GrowthLine, ModelRecord, PlanRecord
from inspector.session import Session, spread
from inspector.speed import speed_view
from inspector.views import (
    AlternativeView,
    BudgetView,
    CurvePoint,
    FindingView,
    FixView,
    GrowthView,
    KinkView,
    LayerDevice,
    LayersView,
    LayerView,
    MetadataRow,
    ModelCardView,
    ModelRow,
    PanelState,
    PanelView,
    SpeedView,
    TypeShare,
)

__all__ = ["metadata_rows", "panel_view", "verify_line"]

_FAR_OFF = 0.02
_MOST_TURNS: Final = 240  # more could not be told apart in the chart

_VALUE_CHARACTERS: Final = 200
_STATES: Final[dict[str, PanelState]] = {
    "empty": "none",
    "planned": "planned",
    "loading": "planned",
    "ready": "loaded",
    "reading": "loaded",
    "writing": "loaded",
    "lost": "lost",
    "replay": "replayed",
}
_T = TypeVar("_T")


def panel_view(session: Session, before: PanelView | None = None) -> PanelView:
    """Return the whole panel as the session stands."""
    shown = budgets(session)
    told = findings_of(session)
    layers = _layers(session)
    view = PanelView(
        state=_STATES[session.state],
        notice=_notice(session),
        budgets=shown,
        findings=tuple(_finding(item, layers) for item in told),
        layers=layers,
        growth=_growth(session, shown),
        speed=_speed(session, told),
        model=_model_card(session),
        recorded=_recorded(session),
    )
    if before is None:
        return view
    if view == before:
        return before
    return replace(
        view,
        budgets=_kept(before.budgets, view.budgets),
        findings=_kept(before.findings, view.findings),
        layers=_kept(before.layers, view.layers),
        growth=_kept(before.growth, view.growth),
        speed=_kept(before.speed, view.speed),
        model=_kept(before.model, view.model),
    )


def _speed(session: Session, told: tuple[FindingRecord, ...]) -> SpeedView | None:
    """Return the speed; what a finding explains already is not said twice."""
    view = speed_view(session)
    if view is None or not any(item.id in {"slow", "above_ceiling"} for item in told):
        return view
    return replace(view, explanation="")


def _kept(before: _T, now: _T) -> _T:
    return before if before == now else now


def verify_line(session: Session) -> str:
    """Return the plan beside the engine in one line, empty before loading."""
    load = session.load
    rows = () if load is None else plan_errors(load)
    if not rows:
        return ""
    planned = sum(row.planned_bytes for row in rows)
    engine = sum(row.engine_bytes for row in rows)
    line = f"Plan {format_bytes(planned)}, engine {format_bytes(engine)}"
    if engine:
        line += f", error {planned / engine - 1:+.1%}"
    worst = worst_error(rows)
    if worst is not None and worst.error is not None and abs(worst.error) >= 0.001:
        line += f"; furthest off: {worst.what} on {worst.device}, {worst.error:+.1%}"
    return line + "."


def _recorded(session: Session) -> str:
    """Return which turn is replayed, empty where nothing is."""
    if session.state != "replay":
        return ""
    at_ms = session.last.at_ms if session.last is not None else 0
    at_ms = at_ms or (session.load.at_ms if session.load is not None else 0)
    moment = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone()
    return f"Recorded turn of {moment.day} {moment:%B %Y, %H:%M}"


def _notice(session: Session) -> str:
    match session.state:
        case "lost":
            why = ": the chat says why" if session.loss_is_told else ""
            return f"The engine has ended{why}. Figures are those of its last turn."
        case "planned":
            return "Planned; nothing is loaded yet."
        case "loading":
            return "Loading; figures are planned until the engine gives its own."
        case "replay":
            machine = "" if session.load is None else session.load.identity.machine
            where = f" on {machine}" if machine else ""
            return f"Measured then{where}; nothing of this is running now."
        case _:
            # The budget's card has the sum; a row that is far off deserves its own sentence.
            rows = () if session.load is None else plan_errors(session.load)
            worst = worst_error(rows)
            if worst is not None and worst.error is not None and abs(worst.error) >= _FAR_OFF:
                return verify_line(session)
            tokens = session.used_tokens
            if not tokens or session.has_evaluated:
                return ""
            count = counted(tokens, "token")
            where = "Not all in the cache yet" if session.has_begun else "Not in the cache yet"
            return f"{where}: shown is what this chat's {count} will take."


# --- findings and layers


def _finding(finding: FindingRecord, layers: LayersView | None) -> FindingView:
    return FindingView(
        id=finding.id,
        severity=finding.severity,
        headline=finding.text,
        text=" ".join(part for part in (finding.cause, finding.cost) if part),
        fixes=tuple(FixView(fix.key, fix.text, fix.effect) for fix in finding.fixes),
        layers=layers if finding.id == "offload" else None,
    )


def _layers(session: Session) -> LayersView | None:
    """Return the strip of layers; after loading with as many offloaded as the engine says."""
    plan, load = session.plan, session.load
    if plan is None or not plan.layers:
        return None
    names = [device.name for device in plan.devices]
    host = next((index for index, item in enumerate(plan.devices) if item.kind == "cpu"), 0)
    places = [names.index(layer.device) for layer in plan.layers]
    if load is not None and load.layers_total == len(places):
        first = load.layers_total - load.layers_offloaded
        planned_first = len(places) - plan.layers_offloaded
        other = next((index for index in range(len(names)) if index != host), host)
        for index in range(len(places)):
            if index < first:
                places[index] = host
            elif index < planned_first:
                places[index] = other
    several = len(set(places)) > 1
    kinds = {plan.devices[place].kind for place in places}
    # Of what holds layers: main memory is the slow one, and a network beside a card.
    slow = {"cpu"} if not kinds - {"cpu", "rpc"} else {"cpu", "rpc"}
    return LayersView(
        devices=tuple(
            LayerDevice(item.name, slow=several and item.kind in slow) for item in plan.devices
        ),
        layers=tuple(
            LayerView(
                name=layer.name,
                device=place,
                size_bytes=layer.size_bytes,
                split_device=None if layer.split_device is None else host,
                split_bytes=layer.split_bytes,
            )
            for layer, place in zip(plan.layers, places, strict=True)
        ),
        basis="planned" if load is None else "engine",
    )


# --- growth


def _growth(session: Session, shown: tuple[BudgetView, ...]) -> GrowthView | None:
    plan, settings = session.plan, session.settings
    if plan is None or settings is None or not plan.growth:
        return None
    chosen, *others = plan.growth
    if chosen.points[-1][1] == 0:
        return None
    budget = _cache_budget(session, chosen, shown)
    tokens = session.used_tokens
    window = settings.n_ctx
    ends = None if budget is None else _budget_end(chosen, budget)
    fitting = (window if ends is None else min(window, ends)) - tokens
    used = tuple(
        CurvePoint(count, chosen.at(count))
        for turn in spread(session.turns, _MOST_TURNS)
        if (count := turn.stats.context_used_tokens)
    )
    return GrowthView(
        cache_type=chosen.cache_type,
        line=_line(chosen),
        window_tokens=window,
        bytes_per_token=plan.kv_bytes_per_token,
        used=used,
        now=CurvePoint(tokens, chosen.at(tokens)),
        kinks=_kinks(plan, chosen),
        trained_tokens=plan.model.context_length,
        budget_bytes=budget,
        budget_tokens=ends,
        alternatives=tuple(
            AlternativeView(
                line.cache_type, _line(line), None if budget is None else _budget_end(line, budget)
            )
            for line in others
        ),
        # Without room for any cache a count would only contradict what is said of the budget.
        fitting_tokens=None if ends == 0 or session.is_uncounted else max(fitting, 0),
        fitting_conversations=None if session.state == "lost" else more_chats(plan, shown),
        formula=plan.kv_formula,
        basis="planned" if session.load is None else "engine",
    )


def _budget_end(line: GrowthLine, budget_bytes: int) -> int | None:
    """Return the tokens at which the budget ends, 0 if it has no room, None if it holds all."""
    return 0 if budget_bytes <= line.at(0) else line.tokens_at(budget_bytes)


def _line(line: GrowthLine) -> tuple[CurvePoint, ...]:
    return tuple(CurvePoint(tokens, size) for tokens, size in line.points)


def _kinks(plan: PlanRecord, line: GrowthLine) -> tuple[KinkView, ...]:
    window = plan.model.sliding_window
    label = "sliding layers are full"
    if window:
        label = f"sliding window of {window:,} is full"
    return tuple(KinkView(tokens, label) for tokens, _ in line.points[1:-1])


def _cache_budget(
    session: Session, chosen: GrowthLine, shown: tuple[BudgetView, ...]
) -> int | None:
    """Return the size of the cache at which its memory reaches the load line."""
    plan, load = session.plan, session.load
    assert plan is not None
    holders = [item for item in plan.devices if item.kv_bytes]
    if not holders or not shown:
        return None
    whole = sum(item.kv_bytes for item in holders)
    if load is not None:
        whole = sum(item.size_bytes for item in load.buffers if item.what == "kv") or whole
    lead = max(holders, key=lambda item: item.kv_bytes)
    budget = next((item for item in shown if item.name == lead.title), None)
    if budget is None or budget.headroom_bytes is None:
        return None
    share = lead.kv_bytes / sum(item.kv_bytes for item in holders)
    reserved = whole + chosen.at(0)
    return max(int(reserved + budget.headroom_bytes / share), 0)


# --- model


def _model_card(session: Session) -> ModelCardView | None:
    plan = session.plan
    if plan is None:
        return None
    model = plan.model
    version = f" · GGUF v{model.gguf_version}" if model.gguf_version else ""
    header = None if session.planner is None else session.planner.facts.header
    return ModelCardView(
        title=f"{model.architecture}{version}",
        rows=tuple(_model_rows(model, plan)),
        types=tuple(TypeShare(name, count, size) for name, count, size in model.types),
        metadata=() if header is None else metadata_rows(header),
    )


def _model_rows(model: ModelRecord, plan: PlanRecord) -> list[ModelRow]:
    rows = [
        ModelRow(
            "Layers · heads · KV heads", _heads(model), hint="GQA: query heads that share one"
        ),
        ModelRow("Parameters", _parameters(model)),
    ]
    if model.bits_per_weight is not None:
        kind = f" ({model.quantization})" if model.quantization else ""
        rows.append(ModelRow("Bits per weight", f"{model.bits_per_weight:.2f}{kind}"))
    point = plan.rate_at(0)
    if point is not None and model.bytes_read_per_token is not None:
        weights = format_decimal_bytes(model.bytes_read_per_token)
        window = plan.rate_at(plan.settings.n_ctx - 1)
        cache = 0 if window is None else window.bytes_per_token - model.bytes_read_per_token
        rows.append(
            ModelRow(
                "Read per token",
                f"{weights} + up to {format_decimal_bytes(max(cache, 0))}",
                "planned",
                "weights, and the cache when the context is full",
            )
        )
    rows.append(
        ModelRow(
            "KV cache per token", format_bytes(plan.kv_bytes_per_token), "planned", plan.kv_formula
        )
    )
    if plan.state_bytes:
        rows.append(ModelRow("Recurrent state", format_bytes(plan.state_bytes), "planned"))
    if model.context_length:
        rows.append(ModelRow("Trained for", f"{model.context_length:,} tokens"))
    if model.sliding_layers and model.sliding_window:
        rows.append(
            ModelRow(
                "Sliding window",
                f"{model.sliding_window:,} tokens in {counted(model.sliding_layers, 'layer')}",
                "assumed" if "sliding_window_pattern" in model.assumed else "file",
            )
        )
    if model.experts:
        rows.append(ModelRow("Experts", f"{model.experts_used} of {model.experts} a token"))
    if model.score_matrix_bytes:
        rows.append(
            ModelRow(
                "Scores of a full context",
                f"{format_bytes(model.score_matrix_bytes)} a layer",
                "planned",
                "what flash attention avoids: tokens² × heads × 2 bytes",
            )
        )
    return rows


def _heads(model: ModelRecord) -> str:
    kv_heads = sorted(set(model.kv_heads) - {0})
    if model.layers is None or model.heads is None or not kv_heads:
        return "unknown"
    shown = "–".join(str(count) for count in dict.fromkeys((kv_heads[0], kv_heads[-1])))
    ratio = f" (GQA {model.heads / kv_heads[-1]:g}:1)" if len(kv_heads) == 1 else ""
    return f"{model.layers} · {model.heads} · {shown}{ratio}"


def _parameters(model: ModelRecord) -> str:
    text = format_count(model.parameters)
    if model.experts and model.parameters_active is not None:
        text += f", {format_count(model.parameters_active)} active"
    return text


@lru_cache(maxsize=4)
def metadata_rows(header: Header) -> tuple[MetadataRow, ...]:
    """Return all metadata of a file, long values shortened, lists as their length."""
    rows = []
    for key in header.keys():  # noqa: SIM118 - a method, not a mapping's
        kind = header.value_type(key) or ""
        count = header.array_length(key)
        value = f"{count:,} values" if count is not None else str(header.value(key))
        if len(value) > _VALUE_CHARACTERS:
            value = value[:_VALUE_CHARACTERS] + "…"
        rows.append(MetadataRow(key, kind, value))
    return tuple(rows)
