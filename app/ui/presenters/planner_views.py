"""From a planned row to what the planner's table shows, in the window's language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from PySide6.QtCore import QCoreApplication

from app.ui.numbers import grouped
from app.ui.planner.views import BarPart, BarView, CellKey, RowView
from gguf_tools.machine import Device, Machine
from gguf_tools.units import GB, GIB, format_bytes
from inspector.planner_bars import Bar, BarKind
from inspector.planner_reasons import (
    balance_phrases,
    ceiling_phrases,
    context_phrases,
    machine_phrases,
    prefill_phrase,
    realistic_phrases,
    users_phrases,
)
from inspector.planner_setup import MachineSpec, RowSetup, Scenario
from inspector.planner_words import (
    Phrase,
    beyond_phrases,
    filled,
    range_text,
    short_name,
    tokens,
    verdict,
    verdict_detail,
)
from inspector.planning import RowPlan
from inspector.widgets.text import basis_sentence

__all__ = ["failed_row", "machine_title", "model_title", "planned_row", "say", "waiting_row"]

_NAMES: Final[dict[BarKind, str]] = {
    "weights": "Weights",
    "kv_used": "KV cache",
    "compute": "Compute and overhead",
    "other_programs": "Other programs",
    "free": "Free",
}
_NONE: Final = "–"


def _tr(text: str) -> str:
    return QCoreApplication.translate("Planner", text)


def say(phrase: Phrase) -> str:
    """Return a phrase in the window's language."""
    return filled(_tr(phrase.text), phrase.values)


def _lines(phrases: Iterable[Phrase]) -> tuple[str, ...]:
    return tuple(say(phrase) for phrase in phrases)


def machine_title(spec: MachineSpec, machine: Machine | None) -> str:
    """Return a row's first line."""
    if spec.source == "this":
        if machine is not None and not machine.accelerators:
            return _tr("This computer, CPU")
        return _tr("This computer")
    name = short_name(spec.name)
    if spec.kind == "unified" and spec.memory_bytes:
        # The size tells variants apart, so "(40-core GPU)" need not.
        return f"{name.partition(' (')[0]}, {_gib(spec.memory_bytes)}"
    return f"{spec.cards} × {name}" if spec.cards > 1 else name


def model_title(scenario: Scenario, name: str) -> str:
    """Return what a row of its own is planned for, in one line."""
    settings = scenario.settings
    parts = [name, tokens(settings.context)]
    if settings.cache_type != "f16":
        parts.append(settings.cache_type)
    if settings.conversations > 1:
        parts.append(filled(_tr("%1 chats"), (grouped(settings.conversations),)))
    if settings.experts_on_cpu:
        parts.insert(1, _tr("experts in RAM"))
    return " · ".join(parts)


def waiting_row(row: RowSetup, title: str, sub: str = "") -> RowView:
    """Return a row that is still being worked out."""
    return RowView(row.key, title, sub, own=row.own is not None, said=title)


def failed_row(row: RowSetup, title: str, problem: str, *, is_error: bool = True) -> RowView:
    """Return a row that can't be planned, with the sentence that says why."""
    return RowView(
        row.key, title, problem=problem, tone="danger" if is_error else "dim",
        own=row.own is not None, said=f"{title}: {problem}",
    )  # fmt: skip


def planned_row(row: RowSetup, machine: Machine, scenario: Scenario, planned: RowPlan) -> RowView:
    """Return a planned row."""
    title = machine_title(row.machine, machine)
    word, tone = verdict(planned)
    detail = say(verdict_detail(planned))
    texts: dict[CellKey, str] = {
        "verdict": say(word),
        "context": _context(planned),
        "users": _NONE if planned.users is None else grouped(planned.users),
        "ceiling": _ceiling(planned),
        "realistic": _realistic(planned),
    }
    subs: dict[CellKey, str] = {"verdict": detail}
    asked = planned.plan.memory.settings.context_sequence
    trained = planned.trained_context
    if trained and beyond_phrases(trained, asked):
        # Short, as the column is: the figure is the trained length, or stands beside it.
        is_whole = planned.context_breaks == trained // 256 * 256
        subs["context"] = _tr("trained") if is_whole else filled(_tr("of %1"), (tokens(trained),))
    if planned.empty.ceiling is not None:
        subs["ceiling"] = filled(_tr("%1 empty"), (_rate(planned.empty.ceiling),))
    if planned.rates.conversations > 1:
        subs["realistic"] = _tr("in all")
    balance = (*balance_phrases(planned), prefill_phrase(planned))
    tips: dict[CellKey, tuple[str, ...]] = {
        "machine": (title, *_lines(machine_phrases(planned))),
        "bar": _bar_tip(planned),
        "verdict": (say(word), detail),
        "context": _lines(context_phrases(planned)),
        "users": _lines((*users_phrases(planned), *balance)),
        "ceiling": _lines(ceiling_phrases(planned)),
        "realistic": _lines(realistic_phrases(planned)),
    }
    is_typed = scenario.model.typed is not None
    own = row.own is not None
    sub = model_title(scenario, planned.plan.facts.shown_name) if own else figures(machine, planned)
    return RowView(
        key=row.key,
        title=title,
        sub=sub,
        bars=tuple(_bar(bar, is_typed=is_typed) for bar in planned.bars),
        texts=texts,
        subs=subs,
        tips=tips,
        tone=tone,
        own=own,
        said=_said(title, sub, texts, detail),
    )


def figures(machine: Machine, planned: RowPlan) -> str:
    """Return memory, bandwidth and operations a byte of a machine, in one line."""
    device = machine.devices[planned.plan.memory.placement.output]
    usable = machine.notes[0].replace(".0 GiB", " GiB") if machine.notes else ""
    total = device.total_bytes
    parts = [usable or ("" if total is None else _memory(machine, device, total))]
    if device.bandwidth_bytes_per_s:
        speed = f"{device.bandwidth_bytes_per_s / GB:,.0f} GB/s"
        if device.bandwidth_bytes_per_s < 100 * GB:
            speed = f"{device.bandwidth_bytes_per_s / GB:.3g} GB/s"
        if device.measured_busy:
            speed = filled(_tr("%1 while busy"), (speed,))
        elif device.bandwidth_basis == "measured":
            speed = filled(_tr("%1 measured"), (speed,))
        parts.append(speed)
    else:
        parts.append(_tr("speed unknown"))
    is_alone = len(machine.accelerators) == 1 and not usable
    if planned.balance.machine is not None and is_alone and device.kind != "cpu":
        parts.append(f"{planned.balance.machine:,.0f} FLOP/B")
    return " · ".join(part for part in parts if part)


def _memory(machine: Machine, device: Device, total: int) -> str:
    if device.kind == "cpu":
        return _gib(total)
    same = [item for item in machine.accelerators if item.total_bytes == total]
    return f"{len(same)} × {_gib(total)}" if len(same) > 1 else _gib(total)


def _gib(size_bytes: int) -> str:
    size = size_bytes / GIB
    return f"{size:.0f} GiB" if abs(size - round(size)) < 0.05 else f"{size:.1f} GiB"


def _context(planned: RowPlan) -> str:
    if planned.context_breaks is None:
        return _NONE
    return "0" if planned.context_breaks == 0 else tokens(planned.context_breaks)


def _rate(value: float) -> str:
    return grouped(round(value)) if value >= 9.95 else f"{value:.2g}"


def _ceiling(planned: RowPlan) -> str:
    if planned.rates.ceiling is None:
        return _NONE
    text = _rate(planned.rates.ceiling)
    if planned.split_rates is not None and planned.split_rates.ceiling is not None:
        return f"{text} → {_rate(planned.split_rates.ceiling)}"
    return text


def _realistic(planned: RowPlan) -> str:
    rates = planned.working_rates
    if rates is None or rates.low is None or rates.high is None:
        return _NONE
    return range_text(rates.low, rates.high)


def _bar(bar: Bar, *, is_typed: bool) -> BarView:
    parts = []
    for item in bar.segments:
        share = f", {item.size_bytes / bar.total_bytes:.0%}" if bar.total_bytes else ""
        headline = f"{_tr(_NAMES[item.kind])}: {format_bytes(item.size_bytes)}{share}"
        lines = [headline, item.formula, filled(_tr("In %1."), (short_name(bar.name),))]
        if bar.over_bytes and item.kind != "free":
            over = format_bytes(bar.over_bytes)
            lines.append(filled(_tr("In all %1 more than there is."), (over,)))
        if is_typed and item.basis == "planned":
            lines.append(_tr("Planned from what was typed and the settings."))
        else:
            lines.append(basis_sentence(item.basis))
        parts.append(BarPart(item.kind, item.size_bytes, tuple(line for line in lines if line)))
    return BarView(short_name(bar.name), bar.total_bytes, tuple(parts), bar.over_bytes)


def _bar_tip(planned: RowPlan) -> tuple[str, ...]:
    lines = []
    for bar in planned.bars:
        parts = ", ".join(
            f"{_tr(_NAMES[item.kind])} {format_bytes(item.size_bytes)}" for item in bar.segments
        )
        total = "" if bar.total_bytes is None else f" ({format_bytes(bar.total_bytes)})"
        lines.append(f"{short_name(bar.name)}{total}: {parts}")
    lines += [item.formula for item in planned.bars[0].segments[:2]] if planned.bars else []
    return tuple(lines)


def _said(title: str, sub: str, texts: dict[CellKey, str], detail: str) -> str:
    rest = (
        (_tr("max context %1"), texts["context"]),
        (_tr("users %1"), texts["users"]),
        (_tr("ceiling %1 tokens per second"), texts["ceiling"]),
        (_tr("realistic %1"), texts["realistic"]),
    )
    figures = ", ".join(filled(text, (value,)) for text, value in rest)
    return f"{title}, {sub}: {texts['verdict']}, {detail}; {figures}"
