"""A comparison to read and to pass on: Markdown and JSON from its record.

Every figure says how it was got: read from the file, planned, of the engine, measured, predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from gguf_tools.units import counted, format_bytes, format_decimal_bytes, format_percent
from inspector.compare.records import ComparisonRecord, Estimate, QualityRecord, VariantRecord
from inspector.compare.table import VariantRow, memory_returns, sentences, variant_rows

__all__ = [
    "HEADS",
    "QUALITY_HEADS",
    "comparison_as_json",
    "comparison_as_markdown",
    "estimate_text",
    "quality_cells",
    "read_words",
    "table_cells",
]

_VAST: Final = 1e6

HEADS = (
    "variant",
    "size",
    "bits/weight",
    "bytes/token",
    "memory planned",
    "of the engine",
    "prefill",
    "decode",
    "ceiling",
    "reached",
    "ratio by bytes",
    "ratio measured",
)
QUALITY_HEADS = ("variant", "perplexity", "mean KL (nats)", "same top token")


def comparison_as_json(record: ComparisonRecord) -> dict[str, Any]:
    """Return a comparison as plain values: the record, its rows, and what they say."""
    return {
        "id": record.id,
        "title": record.title,
        "reference": record.variants[record.reference].label,
        "rows": [_row_as_json(row) for row in variant_rows(record)],
        "memory_returns": [asdict(item) for item in memory_returns(record)],
        "sentences": list(sentences(record)),
        "record": msgspec.to_builtins(record),
    }


def _row_as_json(row: VariantRow) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(asdict(row))
    return values


def comparison_as_markdown(record: ComparisonRecord) -> str:
    """Return a comparison as a document."""
    rows = variant_rows(record)
    parts = [f"# {' '.join(record.title.split())}: compared", _head(record)]
    parts.append(_table(HEADS, [table_cells(row) for row in rows]))
    quality = [quality_cells(row) for row in rows if row.perplexity is not None]
    if quality:
        parts += ["## Quality", _quality_note(record), _table(QUALITY_HEADS, quality)]
    told = sentences(record)
    if told:
        parts.append("\n".join(f"- {sentence}" for sentence in told))
    parts.append(_memory(record))
    for variant, row in zip(record.variants, rows, strict=True):
        parts += list(_answer(variant, row))
    for variant in record.variants:
        if variant.quality is not None and variant.quality.worst:
            parts += list(_worst(variant, variant.quality))
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(record: ComparisonRecord) -> str:
    settings = record.settings
    at = datetime.fromtimestamp(record.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    way = "together, sharing bandwidth" if settings.together else "one after another"
    lines = [f"{at} · {record.machine} · {record.engine}", f"Ran {way}."]
    if settings.prompt:
        seed = "none" if settings.seed is None else str(settings.seed)
        lines.append(
            f"Temperature {settings.temperature:g}, seed {seed}, at most {settings.max_tokens} "
            f"tokens, cache in {settings.type_k}. Prompt:"
        )
        lines.append(_quoted(settings.prompt))
    return "\n\n".join(lines)


def table_cells(row: VariantRow) -> tuple[str, ...]:
    """Return a row's figures as text, in the order of the table's heads."""
    mark = " (reference)" if row.is_reference else ""
    if row.requantized_from is not None:
        mark += f" (requantised from {row.requantized_from})"
    if row.status != "done":
        mark += f" ({row.status})"
    shared = "*" if row.shared else ""
    return (
        row.label + mark,
        format_bytes(row.file_bytes),
        _number(row.bits_per_weight, ".2f"),
        "" if row.bytes_per_token is None else read_words(row),
        format_bytes(row.planned_bytes) if row.planned_bytes else "",
        format_bytes(row.engine_bytes) if row.engine_bytes else "",
        _number(row.prefill_per_s, ",.0f"),
        _number(row.decode_per_s, ".1f") + (shared if row.decode_per_s else ""),
        _number(row.ceiling, ".1f"),
        _number(row.efficiency, ".0%"),
        _times(row.ratio_predicted),
        _times(row.ratio_measured),
    )


def read_words(row: VariantRow) -> str:
    """Return what a token reads; it is said where the cache's part of it is not known."""
    size = format_decimal_bytes(row.bytes_per_token)
    alone = row.cache_is_unknown
    return f"{size} (weights)" if alone else size


def quality_cells(row: VariantRow) -> tuple[str, ...]:
    """Return a row's quality as text, in the order of the quality table's heads."""
    return (
        row.label,
        estimate_text(row.perplexity, ".3f"),
        "0" if row.is_reference else estimate_text(row.mean_kl, ".5f"),
        "100 %" if row.is_reference else estimate_text(row.same_top, ".1%"),
    )


def estimate_text(estimate: Estimate | None, style: str) -> str:
    """Return a figure with its standard error.

    A perplexity of a model that knows nothing has hundreds of digits: it is told by its power of
    ten.
    """
    if estimate is None:
        return ""
    if abs(estimate.value) >= _VAST:
        style = ".2e"
    text = f"{estimate.value:{style}} ± {estimate.error:{style}}"
    return text.replace("e+", "e").replace("%", "\N{NO-BREAK SPACE}%")


def _quality_note(record: ComparisonRecord) -> str:
    known = next(item.quality for item in record.variants if item.quality is not None)
    return (
        f"On {record.settings.text_name or 'a text'}: {counted(known.tokens, 'token')} in "
        f"{counted(known.chunks, 'chunk')} of {known.chunk_tokens}, defined as by "
        "llama.cpp's perplexity tool; the figures after ± are standard errors."
    )


def _memory(record: ComparisonRecord) -> str:
    rows = [
        (
            item.label,
            format_bytes(item.before_bytes),
            format_bytes(item.most_bytes),
            format_bytes(item.after_bytes),
            format_bytes(item.free_before_bytes),
            format_bytes(item.free_after_bytes),
        )
        for item in memory_returns(record)
    ]
    if not rows:
        return ""
    heads = ("engine of", "before", "most", "unloaded", "free before", "free after its end")
    return "## Memory of each engine (measured, its own pages)\n\n" + _table(heads, rows)


def _answer(variant: VariantRecord, row: VariantRow) -> Iterator[str]:
    if not variant.answer and not variant.failure:
        return
    yield f"## {variant.label}"
    if variant.failure:
        yield f"Failed: {variant.failure}"
    if variant.answer:
        yield _quoted(variant.answer)
    stats = variant.stats
    if stats is not None:
        # The rate is the row's, so that a variant has one figure wherever it is told.
        rate = _number(row.decode_per_s, ".1f")
        yield (
            f"{counted(stats.reply_tokens, 'token')}, first one after {stats.first_token_s:.2f} s"
            + (f", decode {rate} tok/s" if rate else "")
            + "."
        )


def _worst(variant: VariantRecord, quality: QualityRecord) -> Iterator[str]:
    yield f"## Where {variant.label} differs most"
    rows = [
        (
            f"{item.kl:.2f}",
            _inline(item.before[-40:]) + " **" + _inline(item.token) + "** " + _inline(item.after),
            f"{_inline(item.reference_top)} ({format_percent(item.reference_top_p)})",
            f"{_inline(item.top)} ({format_percent(item.top_p)})",
        )
        for item in quality.worst
    ]
    yield _table(("KL (nats)", "in context", "reference expects", "variant expects"), rows)


# --- text


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        "| " + " | ".join(heads) + " |",
        "|" + "|".join("---" if index == 0 else "--:" for index in range(len(heads))) + "|",
    ]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _inline(text: str) -> str:
    """Return text for a table's cell: one line, nothing of it markup."""
    shown = " ".join(text.split()) or repr(text)[1:-1]
    for mark in "\\`*_[]<>":
        shown = shown.replace(mark, f"\\{mark}")
    return shown


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _number(value: float | None, style: str) -> str:
    text = "" if value is None else f"{value:{style}}"
    return text.replace("%", "\N{NO-BREAK SPACE}%")


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}×"
