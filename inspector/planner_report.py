"""A planner's page as a report: Markdown for people, JSON with bytes and tokens per second."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gguf_tools.machine import Device
from gguf_tools.units import format_bandwidth, format_bytes, format_figure
from inspector.measured import fit_words
from inspector.planner_curves import BatchingCurve, GrowthCurve
from inspector.planner_rates import Rates
from inspector.planner_reasons import balance_phrases, prefill_phrase
from inspector.planner_setup import PlannerSettings
from inspector.planner_words import (
    beyond_phrases,
    range_text,
    short_name,
    tokens,
    verdict,
    verdict_detail,
)
from inspector.planning import RowPlan

__all__ = ["ReportRow", "planner_json", "planner_markdown"]

_NOTE = (
    "Predicted from the model's file (or what was typed) and published figures of the hardware; "
    "nothing here was measured unless it says so."
)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of the page with what it was planned for; ``problem`` where it couldn't be."""

    machine: str
    settings: PlannerSettings
    row: RowPlan | None
    problem: str = ""
    growth: GrowthCurve | None = None
    batching: BatchingCurve | None = None


def planner_json(rows: Sequence[ReportRow]) -> str:
    """Return the page as JSON: bytes are whole numbers, rates tokens per second, unknown null."""
    return json.dumps({"note": _NOTE, "rows": [_row_json(item) for item in rows]}, indent=2)


def _row_json(item: ReportRow) -> dict[str, Any]:
    settings, row = item.settings, item.row
    found: dict[str, Any] = {
        "machine": item.machine,
        "context": settings.context,
        "kv_type": settings.cache_type,
        "conversations": settings.conversations,
        "batch": settings.batch,
        "gpu_layers": settings.gpu_layers,
        "flash_attention": settings.flash_attention,
        "experts_on_cpu": settings.experts_on_cpu,
    }
    if row is None:
        return found | {"problem": item.problem}
    facts = row.plan.facts
    found |= {
        "model": facts.shown_name,
        "quantization": facts.quantization,
        "parameters": facts.parameters,
        "weights_bytes": facts.weights_bytes,
        "assumed": list(facts.assumed),
        "verdict": row.verdict,
        "fits": row.fits,
        "breaks_first": row.cause,
        "max_context": row.context_breaks,
        "trained_context": row.trained_context,
        "max_conversations": row.users,
        "lacks_bytes": row.lacks_bytes,
        "kv_bytes": row.plan.memory.kv_bytes,
        "kv_bytes_per_token": row.plan.memory.kv_bytes_per_token,
        "memories": [
            {
                "name": bar.name,
                "total_bytes": bar.total_bytes,
                "over_bytes": bar.over_bytes,
                "segments": {part.kind: part.size_bytes for part in bar.segments},
            }
            for bar in row.bars
        ],
        "devices": [_device_json(device) for device in row.plan.machine.devices],
        "decode": _rates_json(row.rates),
        "decode_empty": _rates_json(row.empty),
        "layers_on_cards_that_fit": None if row.split is None else row.split.layers_offloaded,
        "decode_split": None if row.split_rates is None else _rates_json(row.split_rates),
        "operations_per_byte": {
            "machine": row.balance.machine,
            "decode": row.balance.decode,
            "prefill": row.balance.prefill,
        },
        "prefill_per_s": row.balance.prefill_per_s,
        "prefill_low": row.plan.prefill.expected_low,
        "prefill_high": row.plan.prefill.expected_high,
        "expected_source": "bandwidth" if row.working.machine.fit is None else "measured",
    }
    if item.growth is not None:
        found["memory_by_context"] = [
            {"tokens": point.tokens, "bytes": point.total_bytes} for point in item.growth.points
        ]
    if item.batching is not None:
        found["decode_by_conversations"] = [_rates_json(point) for point in item.batching.points]
    return found


def _device_json(device: Device) -> dict[str, Any]:
    return {
        "name": device.name,
        "kind": device.kind,
        "total_bytes": device.total_bytes,
        "bandwidth_bytes_per_s": device.bandwidth_bytes_per_s,
        "bandwidth_source": device.bandwidth_basis,
        "flops_per_s": device.flops_per_s,
        "flops_source": device.flops_basis,
    }


def _rates_json(rates: Rates) -> dict[str, Any]:
    return {
        "conversations": rates.conversations,
        "bytes_per_step": rates.bytes_per_step,
        "ceiling": rates.ceiling,
        "expected_low": rates.low,
        "expected_high": rates.high,
        "limit": "arithmetic" if rates.arithmetic else "bandwidth",
    }


def planner_markdown(rows: Sequence[ReportRow]) -> str:
    """Return the page as Markdown: a table of the rows, and each row's reasons."""
    heads = (
        "Machine", "Model", "Context", "Placement", "Weights", "Cache", "Verdict",
        "Longest context", "Conversations", "Ceiling", "Realistic",
    )  # fmt: skip
    lines = ["# Plan", "", _NOTE, "", _line(heads), _line(["---"] * len(heads))]
    lines += [_line(_cells(item)) for item in rows]
    for item in rows:
        lines += _reasons(item)
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cells(item: ReportRow) -> list[str]:
    settings, row = item.settings, item.row
    context = tokens(settings.context)
    if settings.conversations > 1:
        context = f"{settings.conversations} × {context}"
    if row is None:
        return [item.machine, "", context, "", "", "", item.problem, "", "", "", ""]
    facts = row.plan.facts
    return [
        short_name(item.machine),
        f"{facts.shown_name} {facts.quantization or ''}".strip(),
        f"{context}, {settings.cache_type}",
        _placement(settings, row),
        format_bytes(facts.weights_bytes),
        format_bytes(row.plan.memory.kv_bytes),
        f"{verdict(row)[0]}; {verdict_detail(row)}",
        "unknown" if row.context_breaks is None else f"{row.context_breaks:,}",
        "unknown" if row.users is None else f"{row.users:,}",
        _ceiling(row),
        _realistic(row),
    ]


def _placement(settings: PlannerSettings, row: RowPlan) -> str:
    """Say where layers and experts lie, as asked for."""
    layers, all_layers = row.plan.layers_offloaded, len(row.plan.memory.placement.layers)
    if not row.plan.machine.accelerators:
        return "CPU"
    where = "all layers" if layers == all_layers else f"{layers:,} of {all_layers:,} layers"
    if settings.experts_on_cpu and row.plan.facts.experts:
        return f"{where} on the card, experts in RAM"
    return f"{where} on the card"


def _ceiling(row: RowPlan) -> str:
    if row.rates.ceiling is None:
        return "unknown"
    text = f"{format_figure(row.rates.ceiling)}"
    if row.split_rates is not None and row.split_rates.ceiling is not None:
        text += f" → {format_figure(row.split_rates.ceiling)}"
    return f"{text} tok/s"


def _realistic(row: RowPlan) -> str:
    rates = row.working_rates
    if rates is None:
        return "–"
    if rates.low is None or rates.high is None:
        return "unknown"
    return f"{range_text(rates.low, rates.high)} tok/s"


def _reasons(item: ReportRow) -> list[str]:
    row = item.row
    if row is None:
        return []
    device = row.plan.machine.devices[row.plan.memory.placement.output]
    figures = f"{format_bandwidth(device.bandwidth_bytes_per_s)} ({device.bandwidth_basis})"
    if device.flops_per_s:
        figures += f", {device.flops_per_s / 1e12:,.3g} TFLOPS ({device.flops_basis})"
    lines = ["", f"## {short_name(item.machine)}: {row.plan.facts.shown_name}", "", f"- {figures}"]
    lines.append(f"- {row.kv_formula}")
    asked = row.plan.memory.settings.context_sequence
    lines += [f"- {phrase}" for phrase in beyond_phrases(row.trained_context, asked)]
    fit = row.working.machine.fit
    lines.append(f"- Realistic rates are predicted {fit_words(fit)}.")
    lines += [f"- {phrase}" for phrase in (*balance_phrases(row), prefill_phrase(row))]
    if item.growth is not None and item.growth.breaks_tokens is not None:
        lines.append(f"- {item.growth.pool} is full at {item.growth.breaks_tokens:,} tokens.")
    if row.plan.facts.assumed:
        lines.append(f"- Assumed of the model: {', '.join(row.plan.facts.assumed)}.")
    return lines
