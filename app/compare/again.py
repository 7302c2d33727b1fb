"""A part of a comparison that is run once more: the rest stays as it was measured.

One variant can answer and be measured again by itself; its quality is a matter of its file and the
text alone, and stays. Quality against another reference needs the text to be read again, since
what a reference expects of each token is hundreds of megabytes and not kept; answers and rates
stay then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from inspector.compare.records import ComparisonRecord, VariantRecord

__all__ = ["Again", "changed_file", "merged", "starting_records"]

What: TypeAlias = Literal["rates", "quality"]


@dataclass(frozen=True, slots=True)
class Again:
    """What is run once more of ``earlier``.

    ``what`` "rates": the variants at these indices answer and are measured. "quality": the text is
    read by all, and answers and rates stay.
    """

    earlier: ComparisonRecord
    what: What
    variants: tuple[int, ...]


def changed_file(again: Again, fresh: tuple[VariantRecord, ...]) -> str:
    """Return the label of a variant whose file is another one than was measured, or nothing."""
    for then, now in zip(again.earlier.variants, fresh, strict=True):
        if (then.path, then.file_bytes) != (now.path, now.file_bytes):
            return now.label
    return ""


def starting_records(again: Again, fresh: tuple[VariantRecord, ...]) -> tuple[VariantRecord, ...]:
    """Return the variants' records as the run begins with them."""
    found = []
    for index, (then, now) in enumerate(zip(again.earlier.variants, fresh, strict=True)):
        if again.what == "quality":
            found.append(msgspec.structs.replace(then, quality=None, quality_note=""))
        elif index in again.variants:
            found.append(
                msgspec.structs.replace(
                    now, quality=then.quality, quality_note=then.quality_note, peak_bytes=None
                )
            )
        else:
            found.append(then)
    return tuple(found)


def merged(again: Again, record: ComparisonRecord) -> ComparisonRecord:
    """Return the record of such a run with what it did not touch.

    Nothing that was measured is lost to a run that was stopped: a variant that it did not finish
    is as it was before, and so is all of quality, which is one reference's or the other's.
    """
    earlier = again.earlier
    if record.cancelled and again.what == "quality":
        return earlier
    variants = list(record.variants)
    for index, variant in enumerate(variants):
        if record.cancelled and variant.status != "done":
            variants[index] = earlier.variants[index]
    run_again = set(again.variants) if again.what == "rates" else set()
    kept = tuple(step for step in earlier.memory if step.variant not in run_again)
    return msgspec.structs.replace(
        record,
        variants=tuple(variants),
        memory=(*kept, *record.memory),
        engine=record.engine or earlier.engine,
        machine=record.machine or earlier.machine,
        busy=record.busy or earlier.busy,
        cancelled=any(variant.status == "cancelled" for variant in variants),
    )
