"""A comparison seen from another reference: what was kept tells some of it."""

from __future__ import annotations

import math

import msgspec
import pytest

from inspector.compare.records import (
    ComparisonRecord,
    ComparisonSettings,
    QualityRecord,
    VariantRecord,
)
from inspector.compare.reference import needs_reading, seen_from
from inspector.compare.statistics import quality_of
from inspector.compare.table import variant_rows

# Surprise at four tokens, and whether each variant's likeliest token is that of the first.
NLL = {"F16": (1.0, 2.0, 1.5, 0.5), "Q8_0": (1.1, 2.1, 1.4, 0.6), "Q2_K": (2.0, 2.5, 1.9, 1.5)}
SAME = {"Q8_0": (True, True, True, False), "Q2_K": (True, False, False, True)}


def quality(name: str) -> QualityRecord:
    is_reference = name == "F16"
    return quality_of(
        NLL[name],
        kl=() if is_reference else (0.1, 0.2, 0.3, 0.4),
        same_top=() if is_reference else SAME[name],
        reference_nll=NLL["F16"],
        chunk_tokens=8,
        chunks=1,
        text_bytes=20,
        seconds=2.5,
    )


@pytest.fixture
def record() -> ComparisonRecord:
    return ComparisonRecord(
        at_ms=1,
        settings=ComparisonSettings(prompt="Hi"),
        variants=tuple(
            VariantRecord(
                path=f"/{name}", name=name, label=name, status="done", bytes_per_token=size,
                quality=quality(name),
            )
            for name, size in (("F16", 400), ("Q8_0", 200), ("Q2_K", 100))
        ),
        reference=0,
    )  # fmt: skip


def test_what_two_variants_share_is_known_in_both_directions(record: ComparisonRecord) -> None:
    seen = seen_from(record, 1)
    first, new, third = (variant.quality for variant in seen.variants)
    assert first is not None
    assert new is not None
    assert third is not None
    assert seen.reference == 1
    before = record.variants[1].quality
    assert before is not None
    assert before.ln_ratio is not None
    assert first.same_top == before.same_top
    assert (third.same_top, third.mean_kl, first.mean_kl) == (None, None, None)
    assert (new.same_top, new.mean_kl, new.ln_ratio) == (None, None, None)
    assert first.ln_ratio is not None
    assert first.ln_ratio.value == pytest.approx(-before.ln_ratio.value)
    assert first.ln_ratio.error == before.ln_ratio.error
    # As the tokens themselves say it, with an error that is no smaller.
    true = quality_of(NLL["Q2_K"], kl=(0.1,) * 4, reference_nll=NLL["Q8_0"]).ln_ratio
    assert true is not None
    assert third.ln_ratio is not None
    assert third.ln_ratio.value == pytest.approx(true.value)
    assert third.ln_ratio.error > 0
    assert math.isclose(third.perplexity.value, math.exp(sum(NLL["Q2_K"]) / 4))


def test_sizes_are_held_against_the_new_one(record: ComparisonRecord) -> None:
    rows = variant_rows(seen_from(record, 1))
    assert [row.is_reference for row in rows] == [False, True, False]
    assert seen_from(record, 0) is record
    assert seen_from(seen_from(record, 1), 1).reference == 1


def test_without_figures_nothing_is_made_up(record: ComparisonRecord) -> None:
    variants = list(record.variants)
    variants[1] = msgspec.structs.replace(variants[1], quality=None)
    bare = msgspec.structs.replace(record, variants=tuple(variants))
    first, new, third = (variant.quality for variant in seen_from(bare, 1).variants)
    assert new is None
    assert first is not None
    assert third is not None
    assert (first.same_top, first.ln_ratio, third.ln_ratio) == (None, None, None)
    assert variants[2].quality is not None
    without = msgspec.structs.replace(variants[2].quality, ln_ratio=None)
    variants = list(record.variants)
    variants[2] = msgspec.structs.replace(variants[2], quality=without)
    known = msgspec.structs.replace(record, variants=tuple(variants))
    first, _, third = (variant.quality for variant in seen_from(known, 1).variants)
    assert first is not None
    assert third is not None
    assert (first.ln_ratio is None, third.ln_ratio) == (False, None)


def test_what_reading_the_text_again_takes(record: ComparisonRecord) -> None:
    assert needs_reading(record) == (3, 8, 7.5)
    bare = tuple(msgspec.structs.replace(item, quality=None) for item in record.variants)
    assert needs_reading(msgspec.structs.replace(record, variants=bare)) is None
