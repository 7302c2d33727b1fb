"""What a comparison's record says, as rows to show and sentences to read: nothing is stored here.

The predicted ratio is that of the bytes: a token reads every weight once, so a variant with half
the bytes decodes twice as fast where memory is the limit. Beside it stands the measured ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from gguf_tools.units import format_bytes, format_percent
from inspector.compare.records import (
    ComparisonRecord,
    Estimate,
    VariantRecord,
    VariantStatus,
)
from inspector.plan_record import RatePoint
from inspector.records import MemorySample

__all__ = ["MemoryReturn", "VariantRow", "memory_returns", "sentences", "variant_rows"]

_NEAR: Final = 0.05
_ROUNDING_BYTES: Final = 1 << 20
_RETURNED_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRow:
    """One variant's figures; None is unknown. Rates are tokens per second.

    ``bytes_per_token`` are read for one token at ``depth_tokens`` in the cache, weights and cache
    (of all rows the weights alone while the cache of one is unknown: ``cache_is_unknown``);
    ``efficiency`` is the decode rate over its ceiling. Ratios are against the reference, above 1
    is faster. ``shared`` marks rates of variants that ran together.
    """

    label: str
    name: str
    status: VariantStatus
    failure: str
    is_reference: bool
    shared: bool
    file_bytes: int
    bits_per_weight: float | None
    weights_per_token_bytes: int | None
    bytes_per_token: int | None
    cache_is_unknown: bool
    depth_tokens: int | None
    planned_bytes: int | None
    engine_bytes: int | None
    peak_bytes: int | None
    first_token_s: float | None
    reply_tokens: int | None
    prefill_per_s: float | None
    prefill_expected: float | None
    decode_per_s: float | None
    decode_spread: float | None
    expected_low: float | None
    expected_high: float | None
    ceiling: float | None
    efficiency: float | None
    ratio_predicted: float | None
    ratio_measured: float | None
    perplexity: Estimate | None
    mean_kl: Estimate | None
    same_top: Estimate | None
    quality_note: str
    requantized_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReturn:
    """Private memory of a variant's engine before, with and after the model, in bytes."""

    label: str
    before_bytes: int | None
    most_bytes: int | None
    after_bytes: int | None
    free_before_bytes: int | None
    free_after_bytes: int | None


def variant_rows(record: ComparisonRecord) -> tuple[VariantRow, ...]:
    """Return the rows of the table, in the order of the variants."""
    reference = record.variants[record.reference]
    sizes, are_weights = _sizes(record.variants)
    return tuple(
        _row(
            record,
            variant,
            reference,
            (sizes[index], sizes[record.reference]),
            is_reference=index == record.reference,
            cache_is_unknown=are_weights and sizes[index] is not None,
        )
        for index, variant in enumerate(record.variants)
    )


def _row(
    record: ComparisonRecord,
    variant: VariantRecord,
    reference: VariantRecord,
    sizes: tuple[int | None, int | None],
    *,
    is_reference: bool,
    cache_is_unknown: bool,
) -> VariantRow:
    rate, spread = _decode(variant)
    point = _point(variant)
    own_bytes, other_bytes = sizes
    other_rate = _decode(reference)[0]
    stats, quality = variant.stats, variant.quality
    prefill = variant.prefill
    measured = prefill.samples if prefill is not None else ()
    return VariantRow(
        label=variant.label,
        name=variant.name,
        status=variant.status,
        failure=variant.failure,
        is_reference=is_reference,
        shared=record.settings.together,
        file_bytes=variant.file_bytes,
        bits_per_weight=variant.bits_per_weight,
        weights_per_token_bytes=variant.bytes_per_token,
        bytes_per_token=own_bytes,
        cache_is_unknown=cache_is_unknown,
        depth_tokens=None if point is None else point.depth,
        planned_bytes=variant.planned_bytes,
        engine_bytes=variant.engine_bytes,
        peak_bytes=variant.peak_bytes,
        first_token_s=None if stats is None else stats.first_token_s,
        reply_tokens=None if stats is None else stats.reply_tokens,
        prefill_per_s=(
            median(measured) if measured else None if stats is None else stats.prefill_per_s
        ),
        prefill_expected=None if prefill is None else prefill.predicted,
        decode_per_s=rate,
        decode_spread=spread,
        expected_low=None if point is None else point.low,
        expected_high=None if point is None else point.high,
        ceiling=None if point is None else point.ceiling,
        efficiency=rate / point.ceiling if rate and point and point.ceiling else None,
        ratio_predicted=other_bytes / own_bytes if own_bytes and other_bytes else None,
        ratio_measured=rate / other_rate if rate and other_rate else None,
        perplexity=None if quality is None else quality.perplexity,
        mean_kl=None if quality is None else quality.mean_kl,
        same_top=None if quality is None else quality.same_top,
        quality_note=variant.quality_note,
        requantized_from=variant.requantized_from,
    )


def _decode(variant: VariantRecord) -> tuple[float | None, float | None]:
    """Return the decode rate and half its spread, of the test or else of the answer."""
    if variant.decode is not None and variant.decode.samples:
        samples = variant.decode.samples
        return median(samples), (max(samples) - min(samples)) / 2
    return (None, None) if variant.stats is None else (variant.stats.decode_per_s, None)


def _point(variant: VariantRecord) -> RatePoint | None:
    """Return the prediction for the place in the cache where the rate was measured."""
    row = variant.decode
    if row is not None and row.bytes_per_token is not None:
        return RatePoint(
            depth=row.depth + row.tokens // 2,
            bytes_per_token=row.bytes_per_token,
            ceiling=row.ceiling,
            low=row.predicted,
            high=row.predicted_high,
        )
    plan = None if variant.load is None else variant.load.plan
    if plan is None or variant.stats is None:
        return None
    return plan.rate_at(variant.stats.mean_depth_tokens)


def _sizes(variants: Sequence[VariantRecord]) -> tuple[list[int | None], bool]:
    """Return what a token of each variant reads, and whether that is of weights alone.

    All are on one basis; None is unknown.

    A variant that has not run yet has no plan, so only its weights are known. The cache that
    comes to them is that of another variant of the same model, which has the same shape; where
    there is none, the weights alone count for all, since one with its cache and one without would
    give a ratio of neither.
    """
    points = [_point(variant) for variant in variants]
    caches: dict[str, int] = {}
    for variant, point in zip(variants, points, strict=True):
        if point is not None and variant.bytes_per_token is not None:
            caches.setdefault(variant.name, point.bytes_per_token - variant.bytes_per_token)
    whole: list[int | None] = []
    for variant, point in zip(variants, points, strict=True):
        weights, cache = variant.bytes_per_token, caches.get(variant.name)
        if point is not None:
            whole.append(point.bytes_per_token)
        elif weights is not None and cache is not None:
            whole.append(weights + cache)
        else:
            whole.append(None)
    if None not in whole:
        return whole, False
    weights_only = [variant.bytes_per_token for variant in variants]
    return (whole, False) if None in weights_only else (weights_only, True)


# --- sentences


def sentences(record: ComparisonRecord) -> tuple[str, ...]:
    """Return what the table says, for people: speed by bytes, quality, memory, failures."""
    rows = variant_rows(record)
    found = [*_speed(rows, shared=record.settings.together), *_quality(record, rows)]
    found += _memory(record)
    found += [f"{row.label} failed: {row.failure}" for row in rows if row.status == "failed"]
    disturbed = [item.label for item in record.variants if item.disturbed]
    if disturbed:
        found.append(f"The chat wrote meanwhile, so these rates are low: {', '.join(disturbed)}.")
    if record.busy:
        found.append(f"The machine was busy, so rates are uncertain. {record.busy}")
    if record.cancelled:
        found.append("It was stopped before the end.")
    return tuple(found)


def _speed(rows: tuple[VariantRow, ...], *, shared: bool) -> Iterator[str]:
    if shared:
        yield "The variants ran together and shared bandwidth: rates are not those of each alone."
        return
    gaps = {
        row.label: row.ratio_measured / row.ratio_predicted - 1
        for row in rows
        if not row.is_reference and row.ratio_measured and row.ratio_predicted
    }
    if not gaps:
        return
    label = max(gaps, key=lambda name: abs(gaps[name]))
    worst = gaps[label]
    if round(abs(worst), 2) <= _NEAR:
        yield f"Decode follows the bytes within {format_percent(abs(worst))}."
        return
    word = "faster" if worst > 0 else "slower"
    yield f"{label} decodes {format_percent(abs(worst))} {word} than its bytes alone say."


def _quality(record: ComparisonRecord, rows: tuple[VariantRow, ...]) -> Iterator[str]:
    reference = rows[record.reference]
    known = [row for row in rows if row.same_top is not None and not row.is_reference]
    if known:
        worst = min(known, key=lambda row: row.same_top.value if row.same_top else 1.0)
        assert worst.same_top is not None
        yield (
            f"{worst.label} expects another next token than {reference.label} at "
            f"{100 * (1 - worst.same_top.value):.1f}\N{NO-BREAK SPACE}% "
            f"(± {100 * worst.same_top.error:.1f}\N{NO-BREAK SPACE}%) of the places in the "
            "test text."
        )
    for row in rows:
        if row.quality_note:
            yield f"{row.label}: {row.quality_note}"


def _memory(record: ComparisonRecord) -> Iterator[str]:
    kept = [
        (item.label, item.after_bytes - item.before_bytes)
        for item in memory_returns(record)
        if item.after_bytes is not None and item.before_bytes is not None
    ]
    if not kept:
        return
    label, most = max(kept, key=lambda item: item[1])
    if most < _ROUNDING_BYTES:
        yield "After each variant all of its memory was given back."
    elif most <= _RETURNED_BYTES:
        yield (
            "After each variant its memory was given back "
            f"(at most {format_bytes(most)} of the engine's own stayed until it ended)."
        )
    else:
        yield f"{label} held {format_bytes(most)} after it was unloaded, until its engine ended."


def memory_returns(record: ComparisonRecord) -> tuple[MemoryReturn, ...]:
    """Return what each variant's engine held, from the samples of the run."""
    found = []
    for index, variant in enumerate(record.variants):
        samples = {step.stage: step.sample for step in record.memory if step.variant == index}
        if not samples:
            continue
        before, after = samples.get("before"), samples.get("unloaded")
        held = [
            sample.private_bytes for sample in samples.values() if sample.private_bytes is not None
        ]
        found.append(
            MemoryReturn(
                label=variant.label,
                before_bytes=None if before is None else before.private_bytes,
                most_bytes=max(held, default=None),
                after_bytes=None if after is None else after.private_bytes,
                free_before_bytes=_free(before),
                free_after_bytes=_free(samples.get("ended")),
            )
        )
    return tuple(found)


def _free(sample: MemorySample | None) -> int | None:
    if sample is None:
        return None
    device = sample.device("CPU")
    return None if device is None else device.free_bytes
