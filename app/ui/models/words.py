"""Words of rows: tooltips and what a screen reader says, in one place so that they agree."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.ui.models.views import GroupView, VariantView
from app.ui.numbers import grouped
from gguf_tools.units import format_bytes
from inspector.widgets.text import number, rough, tokens_short

__all__ = [
    "bits",
    "context",
    "figure_with_name",
    "group_facts",
    "rate",
    "rate_range",
    "row_tip",
    "size",
    "spoken_group",
    "spoken_variant",
]


def _tr(text: str, *values: str) -> str:
    text = QCoreApplication.translate("Models", text)
    for place, value in enumerate(values, start=1):
        text = text.replace(f"%{place}", value)
    return text


def size(size_bytes: int | None) -> str:
    """Return a size with its unit, a dash for unknown."""
    return "–" if size_bytes is None else format_bytes(size_bytes)


def bits(bits_per_weight: float | None) -> str:
    """Return bits per weight with two digits."""
    return "–" if bits_per_weight is None else f"{bits_per_weight:.2f}"


def context(tokens: int | None) -> str:
    """Return a context as on an axis (8K), a dash for unknown."""
    if tokens is None:
        return "–"
    if tokens and tokens % 1024 and tokens > 10_000:
        return f"{tokens / 1024:.0f}K"
    return tokens_short(tokens)


def rate(tokens_per_s: float | None) -> str:
    """Return a predicted rate with two digits, since no more is known."""
    if tokens_per_s is None:
        return "–"
    return number(tokens_per_s) if tokens_per_s >= 99.95 else rough(tokens_per_s)


def rate_range(low: float | None, high: float | None) -> str:
    """Return what is expected, as a range where its ends differ when rounded."""
    if low is None or rate(low) == rate(high):
        return rate(high)
    return f"{rate(low)}–{rate(high)}"


def figure_with_name(column: str, text: str) -> str:
    """Return a figure that stands in no column, with what it is."""
    names = {
        "bits": "%1 bits/weight",
        "context": "context %1",
        "max_context": "max context %1",
        "decode": "decode %1",
        "prefill": "prefill %1",
    }
    return _tr(names[column], text) if column in names else text


def row_tip(row: VariantView, column: str) -> str:
    """Return the tooltip of a cell."""
    fit = row.fit
    if row.problem:
        return f"{row.problem}\n{row.key}"
    if column in {"budget", "fit", "max_context"} and fit.sentence:
        return fit.sentence
    if column == "decode" and fit.decode_words:
        return fit.decode_words
    if column == "prefill" and fit.prefill_per_s is not None:
        return _tr(
            "About %1 tokens of a prompt per second, predicted from the file and the processor's "
            "arithmetic rate.",
            rate(fit.prefill_per_s),
        )
    if column == "size" and row.size_bytes is not None:
        return _tr("%1 bytes, read from the disk", grouped(row.size_bytes))
    if column == "context" and row.context_tokens is not None:
        return _tr("Trained for %1 tokens, read from the file", grouped(row.context_tokens))
    return row.key


def group_facts(group: GroupView) -> str:
    """Return what stands behind a group's title: how many, how large, what belongs to it."""
    count = sum(not row.is_part and not row.is_hidden for row in group.variants)
    if group.kind == "model":
        said = _tr("1 variant") if count == 1 else _tr("%1 variants", str(count))
    else:
        said = _tr("1 file") if count == 1 else _tr("%1 files", str(count))
    parts = [said, size(group.size_bytes)]
    kinds = {"projector": _tr("with projector"), "adapter": _tr("with adapter")}
    found = {row.kind for row in group.variants if row.is_part}
    parts += [text for kind, text in kinds.items() if kind in found]
    return " · ".join(parts)


def spoken_group(group: GroupView) -> str:
    """Return what a screen reader says of a heading."""
    return ", ".join([group.title, *group.tags, group_facts(group)])


def spoken_variant(row: VariantView) -> str:
    """Return what a screen reader says of a variant."""
    if row.problem:
        return f"{row.name}, {row.problem}"
    fit = row.fit
    loaded = _tr("loaded") if row.is_loaded else ""
    parts = [row.name, *row.tags, loaded, size(row.size_bytes)]
    if row.bits_per_weight is not None:
        parts.append(_tr("%1 bits per weight", bits(row.bits_per_weight)))
    if row.context_tokens is not None:
        parts.append(_tr("context %1", grouped(row.context_tokens)))
    parts.append(fit.words)
    if fit.max_context_tokens is not None:
        parts.append(_tr("at most %1 tokens of context fit", grouped(fit.max_context_tokens)))
    if fit.decode_per_s is not None:
        parts.append(_tr("decode about %1 tokens per second", rate(fit.decode_per_s)))
    if fit.prefill_per_s is not None:
        parts.append(_tr("prefill about %1 tokens per second", rate(fit.prefill_per_s)))
    parts.append(row.place)
    return ", ".join(part for part in parts if part)
