"""The panel in words: what it shows at this moment as Markdown, to be pasted into a report.

Each figure says how it was got, as on the screen. Pure: the same view gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator

from gguf_tools.units import (
    format_bytes,
    format_figure,
    format_percent,
    format_rate,
    format_seconds,
)
from inspector.views import BudgetView, GrowthView, PanelView, RateView, SegmentKind, SpeedView

__all__ = ["panel_as_markdown"]

_PARTS: dict[SegmentKind, str] = {
    "weights": "Weights",
    "kv_used": "KV cache, in use",
    "kv_reserved": "KV cache, reserved",
    "compute": "Compute and overhead",
    "draft": "Draft model",
    "other_programs": "Other programs",
    "free": "Free",
}


def panel_as_markdown(view: PanelView) -> str:
    """Return all cards as Markdown; empty where the panel has nothing to show."""
    blocks = []
    if view.model is not None:
        blocks.append([f"## {view.model.title}", ""])
        blocks[-1] += [f"- {row.label}: {row.value} ({row.basis})" for row in view.model.rows]
    if view.recorded or view.notice:
        blocks.append([" ".join(part for part in (view.recorded, view.notice) if part)])
    blocks += [list(_budget(budget)) for budget in view.budgets]
    if view.findings:
        blocks.append(["### Findings", ""])
        blocks[-1] += [f"- **{item.headline}** {item.text}".rstrip() for item in view.findings]
    if view.growth is not None:
        blocks.append(list(_growth(view.growth)))
    if view.speed is not None:
        blocks.append(list(_speed(view.speed)))
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n" if blocks else ""


def _budget(view: BudgetView) -> Iterator[str]:
    total = "capacity unknown" if view.total_bytes is None else format_bytes(view.total_bytes)
    yield f"### Memory of {view.name}: {total}"
    yield ""
    yield "| part | size | how it is known | plan |"
    yield "|---|---:|---|---:|"
    for item in view.segments:
        basis = item.basis if item.also is None else f"{item.basis} + {item.also}"
        plan = "" if item.planned_bytes is None else format_bytes(item.planned_bytes)
        yield f"| {_PARTS[item.kind]} | {format_bytes(item.size_bytes)} | {basis} | {plan} |"
    if view.headroom_bytes is not None:
        line = format_percent(view.load_line)
        where = "below" if view.headroom_bytes >= 0 else "above"
        yield ""
        yield f"{format_bytes(abs(view.headroom_bytes))} {where} the load line of {line}."


def _growth(view: GrowthView) -> Iterator[str]:
    yield f"### KV cache in {view.cache_type} ({view.basis})"
    yield ""
    if view.formula:
        yield f"- {view.formula}"
    if view.now is not None:
        size = format_bytes(view.now.size_bytes)
        yield f"- {view.now.tokens:,} of {view.window_tokens:,} tokens take {size}"
    if view.budget_tokens is not None:
        yield f"- the load line is reached at {view.budget_tokens:,} tokens"


def _speed(view: SpeedView) -> Iterator[str]:
    yield "### Speed"
    yield ""
    yield "| | measured | predicted | ceiling | of the ceiling | how the ceiling is got |"
    yield "|---|---:|---:|---:|---:|---|"
    for name, rate in (("decode", view.decode), ("prefill", view.prefill)):
        yield f"| {name} | {' | '.join(_rate(rate))} |"
    if view.first_token is not None:
        yield ""
        yield (
            f"First token after {format_seconds(view.first_token.total_s)} "
            f"({view.first_token.basis})."
        )
    if view.explanation:
        yield ""
        yield view.explanation


def _rate(view: RateView) -> tuple[str, ...]:
    ends = [end for end in (view.predicted_low, view.predicted_high) if end is not None]
    return (
        format_rate(view.measured),
        " – ".join(dict.fromkeys(format_figure(end) for end in ends)) or "unknown",
        format_rate(view.ceiling),
        "" if view.efficiency is None else format_percent(view.efficiency),
        f"{view.equation} ({view.ceiling_basis})" if view.equation else view.ceiling_basis,
    )
