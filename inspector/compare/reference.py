"""A comparison seen from another reference, as far as what was kept tells.

Sizes, rates and perplexities need none. Two variants expect the same next token whichever of them
the other is held against, so that share of the two references is known. A divergence is not the
same in both directions, and of the others nothing is known without reading the text again.
"""

from __future__ import annotations

import msgspec

from inspector.compare.records import ComparisonRecord, Estimate, QualityRecord

__all__ = ["needs_reading", "seen_from"]


def seen_from(record: ComparisonRecord, reference: int) -> ComparisonRecord:
    """Return a comparison with another reference; figures that are not known are None.

    The logarithm of a perplexity's ratio is the difference of two that were measured against the
    old reference; its error is theirs, taken as independent.
    """
    if reference == record.reference:
        return record
    new = record.variants[reference].quality
    variants = []
    for index, variant in enumerate(record.variants):
        quality = variant.quality
        if quality is None:
            variants.append(variant)
            continue
        same_top = new.same_top if new is not None and index == record.reference else None
        changed = msgspec.structs.replace(
            quality,
            mean_kl=None,
            same_top=same_top,
            ln_ratio=None if index == reference else _ratio(quality, new, record, index),
            kl_percentiles=(),
            worst=(),
        )
        variants.append(msgspec.structs.replace(variant, quality=changed))
    return msgspec.structs.replace(record, reference=reference, variants=tuple(variants))


def needs_reading(record: ComparisonRecord) -> tuple[int, int, float] | None:
    """Return what quality against another reference takes, None where none was measured.

    These are the variants that read the text, the tokens that each reads, and the seconds that it
    took all of them the last time.
    """
    read = [variant.quality for variant in record.variants if variant.quality is not None]
    if not read:
        return None
    tokens = max(item.chunk_tokens * item.chunks for item in read)
    return len(record.variants), tokens, sum(item.seconds for item in read)


def _ratio(
    quality: QualityRecord, new: QualityRecord | None, record: ComparisonRecord, index: int
) -> Estimate | None:
    if new is None or new.ln_ratio is None:
        return None
    if index == record.reference:
        return Estimate(value=-new.ln_ratio.value, error=new.ln_ratio.error)
    if quality.ln_ratio is None:
        return None
    return Estimate(
        value=quality.ln_ratio.value - new.ln_ratio.value,
        error=(quality.ln_ratio.error**2 + new.ln_ratio.error**2) ** 0.5,
    )
