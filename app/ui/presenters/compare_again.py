"""What a part of a comparison run once more would change, and the request for it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QCoreApplication

from app.compare.again import Again
from app.compare.request import CompareRequest
from app.compare.texts import QualityText
from app.ui.compare.views import RunOffer
from app.ui.numbers import grouped
from app.ui.presenters.compare_wish import Wish, request_of
from gguf_tools.units import format_seconds
from inspector.compare.records import ComparisonRecord
from inspector.compare.reference import needs_reading

__all__ = ["disturbed_variants", "measure_request", "reading_request", "run_offer"]


def _tr(text: str) -> str:
    return QCoreApplication.translate("ComparePresenter", text)


def run_offer(record: ComparisonRecord, shown_reference: int) -> RunOffer | None:
    """Return what another run would change, None for nothing.

    Args:
        record: as it was run.
        shown_reference: the variant that the page holds the others against.
    """
    if shown_reference != record.reference:
        return _reading_offer(record, shown_reference)
    labels = [record.variants[index].label for index in disturbed_variants(record)]
    if not labels:
        return None
    told = _tr("The chat wrote meanwhile, so these rates are low: {0}.").format(", ".join(labels))
    part = _tr("Measure {0} again").format(labels[0])
    if len(labels) > 1:
        part = _tr("Measure them again")
    return RunOffer(sentence=told, part="disturbed", part_text=part)


def _reading_offer(record: ComparisonRecord, reference: int) -> RunOffer | None:
    chosen, before = record.variants[reference], record.variants[record.reference]
    needed = needs_reading(record)
    if needed is None:
        return None
    variants, tokens, seconds = needed
    told = _tr(
        "{0} is the reference now. Sizes, rates, perplexities and its equal top tokens with {1} "
        "are held against it. What else it expected of the text was not kept: KL divergence and "
        "the other equal tokens need {2} variants to read {3} tokens again, which took {4} the "
        "last time, without loading."
    ).format(chosen.label, before.label, variants, grouped(tokens), format_seconds(seconds))
    if chosen.requantized_from is not None:
        told += " " + _tr("{0} was requantised from {1} and can be no better than that.").format(
            chosen.label, chosen.requantized_from
        )
    return RunOffer(sentence=told, part="reading", part_text=_tr("Read the text again"))


def disturbed_variants(record: ComparisonRecord) -> tuple[int, ...]:
    """Return the variants beside whose measurement the chat wrote."""
    return tuple(i for i, variant in enumerate(record.variants) if variant.disturbed)


def measure_request(
    record: ComparisonRecord, wish: Wish, indices: tuple[int, ...]
) -> CompareRequest:
    """Return the request that measures some variants once more, with what all shared then."""
    return _part(record, wish, QualityText("", ""), Again(record, "rates", indices))


def reading_request(
    record: ComparisonRecord, wish: Wish, text: QualityText, reference: int
) -> CompareRequest:
    """Return the request that measures quality alone, against another reference."""
    every = tuple(range(len(record.variants)))
    request = _part(record, wish, text, Again(record, "quality", every))
    values = wish.options
    settings = msgspec.structs.replace(
        request.settings,
        quality=True,
        text_name=text.name,
        text_tokens=int(values["text_tokens"]),
    )
    return CompareRequest(
        paths=request.paths,
        settings=settings,
        text=text.text,
        reference=reference,
        again=request.again,
    )


def _part(record: ComparisonRecord, wish: Wish, text: QualityText, again: Again) -> CompareRequest:
    usual = request_of(wish, text)
    return CompareRequest(
        paths=tuple(Path(variant.path) for variant in record.variants),
        settings=record.settings,
        text=text.text,
        reference=record.reference,
        options=usual.options,
        sampling=usual.sampling,
        again=again,
    )
