"""What was measured in a conversation, to read and to pass on: Markdown and JSON from records.

Only what was recorded is told. A turn without the record of its load is told with its figures
alone; nothing is predicted for it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from gguf_tools.units import (
    counted,
    format_bandwidth,
    format_bytes,
    format_figure,
    format_rate,
    format_seconds,
)
from inspector.findings import findings_of
from inspector.plan_errors import plan_errors
from inspector.records import LoadRecord, TurnRecord, TurnStats
from inspector.session import replayed
from inspector.speed import judge

__all__ = ["read_report", "report_as_json", "report_as_markdown"]


class _TurnJson(msgspec.Struct, kw_only=True):
    """A turn of a report; figures that follow from others are left out."""

    stats: TurnStats
    at_ms: int = 0
    message: str = ""
    model: str = ""
    stop: str | None = None
    load: str | None = None
    part: int = 1
    parts: int = 1


class _ReportJson(msgspec.Struct, kw_only=True):
    title: str
    turns: list[_TurnJson]
    loads: dict[str, LoadRecord]


def read_report(data: bytes) -> tuple[str, tuple[TurnRecord, ...]]:
    """Return the title and the turns of a report in JSON (`report_as_json`).

    Raises:
        ValueError: it is none; the text is half a sentence.
    """
    try:
        report = msgspec.json.decode(data, type=_ReportJson)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it is no report in JSON ({error})") from error
    return report.title, tuple(
        TurnRecord(
            at_ms=turn.at_ms,
            stats=turn.stats,
            message=turn.message,
            model_name=turn.model,
            stop=turn.stop,
            part=turn.part,
            parts=turn.parts,
            load=None if turn.load is None else report.loads.get(turn.load),
        )
        for turn in report.turns
    )


def report_as_json(title: str, turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Return the report as plain values: raw samples, predictions at each turn's depth, loads."""
    loads = _loads(turns)
    return {
        "title": title,
        "turns": [_turn_as_json(turns, index) for index in range(len(turns))],
        "loads": {
            load_id: msgspec.to_builtins(load)
            | {"plan_errors": [_error_as_json(row) for row in plan_errors(load)]}
            for load_id, load in loads.items()
        },
    }


def report_as_markdown(
    title: str,
    turns: Sequence[TurnRecord],
    pictures: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> str:
    """Return the report as a document.

    Args:
        title: of the chat.
        turns: with the records of their loads.
        pictures: (file beside the report, caption) by the load's id.
    """
    parts = [f"# {' '.join(title.split()) or 'Untitled chat'}: what was measured"]
    if not turns:
        return parts[0] + "\n\nNo turn of this chat has figures.\n"
    parts.append(_turn_table(turns))
    for load in _loads(turns).values():
        parts += _load_parts(load, turns)
        parts += [f"![{caption}]({name})" for name, caption in (pictures or {}).get(load.id, ())]
    notes = _explanations(turns)
    if notes:
        parts += ["## Measured against predicted", *notes]
    return "\n\n".join(parts) + "\n"


def _loads(turns: Sequence[TurnRecord]) -> dict[str, LoadRecord]:
    return {turn.load.id: turn.load for turn in turns if turn.load is not None}


def _turn_as_json(turns: Sequence[TurnRecord], index: int) -> dict[str, Any]:
    turn = turns[index]
    stats = turn.stats
    values: dict[str, Any] = {
        "at_ms": turn.at_ms,
        "message": turn.message,
        "model": turn.model_name,
        "stop": turn.stop,
        "part": turn.part,
        "parts": turn.parts,
        "load": None if turn.load is None else turn.load.id,
        "stats": msgspec.to_builtins(stats),
        "prefill_per_s": stats.prefill_per_s,
        "decode_per_s": stats.decode_per_s,
        "depth": stats.mean_depth_tokens,
        "decode_over_depth": [list(point) for point in stats.rates_along()],
        "predicted_low": None,
        "predicted_high": None,
        "ceiling": None,
        "efficiency": None,
        "explanation": "",
    }
    if turn.load is None:
        return values
    verdict = judge(replayed(turn.load, [turn]))
    if verdict.point is not None:
        point, rate = verdict.point, stats.decode_per_s
        values |= {
            "predicted_low": point.low,
            "predicted_high": point.high,
            "ceiling": point.ceiling,
            "efficiency": rate / point.ceiling if rate and point.ceiling else None,
        }
    return values | {"explanation": verdict.sentence}


def _error_as_json(row: Any) -> dict[str, Any]:
    return {
        "device": row.device,
        "what": row.what,
        "planned_bytes": row.planned_bytes,
        "engine_bytes": row.engine_bytes,
        "error": row.error,
    }


def _turn_table(turns: Sequence[TurnRecord]) -> str:
    lines = [
        (
            "| time (UTC) | prompt | reused | first token | prefill | reply | decode | predicted | "
            "ceiling |"
        ),
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    is_blank = False
    for turn in turns:
        stats = turn.stats
        predicted = ceiling = "—"
        plan = None if turn.load is None else replayed(turn.load, [turn]).judging_plan
        point = None if plan is None else plan.rate_at(stats.mean_depth_tokens)
        is_known = point is not None and point.ceiling is not None
        is_blank = is_blank or (plan is not None and not is_known)
        if point is not None and point.low and point.high and point.ceiling:
            predicted = f"{format_figure(point.low)} to {format_figure(point.high)}"
            ceiling = f"{format_figure(point.ceiling)}"
        lines.append(
            f"| {_turn_name(turn)} | {stats.prompt_tokens:,} | {stats.reused_tokens:,} "
            f"| {format_seconds(stats.first_token_s) if stats.first_token_s else '—'} "
            f"| {_rate(stats.prefill_per_s)} | {stats.reply_tokens:,} "
            f"| {_rate(stats.decode_per_s)} | {predicted} | {ceiling} |"
        )
    told = ["Rates are tokens per second."]
    if any(turn.load is None or turn.load.plan is None for turn in turns):
        told.append("Nothing was planned for turns whose load was not recorded.")
    if is_blank:
        told.append(
            "— stands where the memory's bandwidth was not measured yet when the model was loaded."
        )
    return "\n".join([*lines, "", " ".join(told)])


def _load_parts(load: LoadRecord, turns: Sequence[TurnRecord]) -> list[str]:
    who, settings = load.identity, load.settings
    flash = {True: "on", False: "off", None: "unknown"}[settings.flash_attention]
    facts = [
        f"- Model: {who.model_name}" + (f" ({who.fingerprint})" if who.fingerprint else ""),
        f"- Computer: {who.machine or who.cpu or 'unknown'}",
        f"- Engine: {'; '.join(part for part in (who.engine, who.program) if part)}",
        (
            f"- Context {settings.n_ctx:,} tokens, cache {settings.type_k}/{settings.type_v}, "
            f"flash attention {flash}, {counted(settings.threads, 'thread')}"
        ),
        f"- {load.layers_offloaded} of {load.layers_total} layers on accelerators",
        f"- Loaded in {format_seconds(load.load_s)}",
    ]
    if load.plan is not None:
        facts += [
            f"- {device.name}: {format_bandwidth(device.bandwidth_bytes_per_s)} "
            f"({device.bandwidth_basis})"
            for device in load.plan.devices
            if device.bandwidth_bytes_per_s is not None
        ]
    parts = [f"## Load of {_time(load.at_ms)}", "\n".join(facts)]
    rows = plan_errors(load)
    if rows:
        lines = ["| device | what | planned | engine | error |", "|---|---|--:|--:|--:|"]
        for row in rows:
            error = "—" if row.error is None else f"{row.error:+.1%}"
            lines.append(
                f"| {row.device} | {row.what} | {format_bytes(row.planned_bytes)} "
                f"| {format_bytes(row.engine_bytes)} | {error} |"
            )
        parts.append("\n".join(lines))
    mine = [turn for turn in turns if turn.load is not None and turn.load.id == load.id]
    found = findings_of(replayed(load, mine))
    if found:
        parts.append(
            "\n".join(
                f"- **{item.text}** {' '.join(part for part in (item.cause, item.cost) if part)}"
                for item in found
            )
        )
    return parts


def _explanations(turns: Sequence[TurnRecord]) -> list[str]:
    notes = []
    for turn in turns:
        if turn.load is None:
            continue
        sentence = judge(replayed(turn.load, [turn])).sentence
        if sentence:
            notes.append(f"- {_turn_name(turn)}: {sentence}")
    return ["\n".join(notes)] if notes else []


def _turn_name(turn: TurnRecord) -> str:
    """Return when a turn was, and of a reply that was continued which part it is."""
    if turn.parts < 2:
        return _time(turn.at_ms)
    return f"{_time(turn.at_ms)}, part {turn.part} of {turn.parts}"


def _rate(tokens_per_s: float | None) -> str:
    return "—" if tokens_per_s is None else format_rate(tokens_per_s).removesuffix(" tok/s")


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
