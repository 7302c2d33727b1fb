"""From a comparison's record to what the Compare page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QCoreApplication

from app.compare.events import Phase, PhaseChanged
from app.data.comparisons import ComparisonEntry
from app.ui.compare.views import (
    COLOUR_TOKENS,
    BarView,
    ColumnState,
    ColumnView,
    DifferenceView,
    DotView,
    EarlierView,
    TableView,
)
from app.ui.numbers import moment
from gguf_tools.units import format_bytes, format_decimal_bytes
from inspector.compare.records import ComparisonRecord, TokenDifference
from inspector.compare.report import estimate_text, read_words
from inspector.compare.table import VariantRow, sentences, variant_rows
from inspector.compare.words import differing_words

__all__ = [
    "bar_views",
    "column_views",
    "common_name",
    "difference_views",
    "dot_views",
    "earlier_views",
    "no_quality_sentence",
    "phase_words",
    "table_view",
]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Compare", text)


_PHASES: dict[Phase, str] = {
    "waiting": "Waits its turn.",
    "starting": "Starts an engine.",
    "loading": "Loads.",
    "reading": "Reads the prompt.",
    "writing": "Writes.",
    "measuring": "Measures prefill and decode.",
    "scoring": "Reads the quality text.",
    "unloading": "Gives its memory back.",
    "done": "",
    "failed": "",
    "cancelled": "Stopped before its turn.",
}


def phase_words(event: PhaseChanged | None) -> str:
    """Return what a variant does now."""
    if event is None:
        return ""
    text = _tr(_PHASES[event.phase])
    if event.total_tokens and event.phase in {"reading", "scoring"}:
        return f"{text} {event.done_tokens:,} / {event.total_tokens:,}"
    return text


def _rate(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def column_views(
    record: ComparisonRecord,
    phases: Mapping[int, PhaseChanged],
    answers: Mapping[int, str],
    *,
    running: bool,
) -> tuple[ColumnView, ...]:
    """Return the cards.

    Args:
        record: what is known.
        phases: what each variant does now.
        answers: those that are being written.
        running: a comparison runs.
    """
    rows = variant_rows(record)
    finished = [variant.answer for variant in record.variants]
    spans = differing_words(finished, record.reference) if sum(map(bool, finished)) > 1 else None
    views = []
    for index, (variant, row) in enumerate(zip(record.variants, rows, strict=True)):
        event = phases.get(index)
        answer = variant.answer or answers.get(index, "")
        state: ColumnState = "empty"
        if variant.status == "failed":
            state = "failed"
        elif variant.status == "done":
            state = "done"
        elif running:
            state = "working" if event and event.phase != "waiting" else "waiting"
        failure = variant.failure if variant.status == "failed" else ""
        doing = phase_words(event) if running or variant.status == "cancelled" else ""
        if running and event is None:
            doing = _tr(_PHASES["waiting"])
        if not running and variant.status == "waiting":
            doing = _tr("Press Run to let it answer.")
        elif variant.status == "done" and not answer:
            doing = _tr("There was no prompt to answer.")
        marked = (
            tuple((span.start, span.end) for span in spans[index] if span.differs)
            if spans is not None and variant.answer
            else ()
        )
        views.append(
            ColumnView(
                key=index,
                label=variant.label,
                name=f"{variant.name}\n{variant.path}",
                colour=COLOUR_TOKENS[index % len(COLOUR_TOKENS)],
                size=format_bytes(variant.file_bytes),
                state=state,
                doing=doing,
                failure=failure,
                advice=" · ".join(variant.advice),
                answer=answer,
                differing=marked,
                figures=_figures(row, phase_words(event) if running and answer else ""),
                is_reference=row.is_reference,
                can_measure=variant.status != "waiting",
            )
        )
    return tuple(views)


def _figures(row: VariantRow, doing: str) -> tuple[tuple[str, str, str], ...]:
    figures = []
    if row.reply_tokens is not None:
        unit = _tr("token") if row.reply_tokens == 1 else _tr("tokens")
        figures.append(("", f"{row.reply_tokens:,}", unit))
    if row.first_token_s:
        figures.append((_tr("first token"), f"{row.first_token_s:.2f}", _tr("s")))
    if row.decode_per_s is not None:
        unit = _tr("tok/s, shared") if row.shared else _tr("tok/s")
        figures.append((_tr("decode"), _rate(row.decode_per_s), unit))
    if row.efficiency is not None:
        figures.append(("", f"{row.efficiency * 100:.0f} %", _tr("of ceiling")))
    if doing and not figures:
        figures.append(("", doing, ""))
    return tuple(figures)


_HEADS = (
    ("Variant", "Quantisation of the file; requantised ones say from what."),
    ("Bits / weight", "Bytes of the weights over their number, read from the file."),
    ("Bytes / token", "Weights and cache that one token reads, from the file's tensors."),
    ("Memory", "Of the engine's own buffers at this context; planned in the tip."),
    ("Prefill", "Tokens of a prompt per second, measured."),
    ("Decode", "Tokens written per second, measured."),
    ("Ceiling", "Bandwidth over bytes per token: no software passes it."),
    ("Ratio predicted", "How much faster than the reference by bytes alone."),
    ("Ratio measured", "How much faster than the reference it was."),
    ("Perplexity", "How well it foresees the text: lower is better. With its standard error."),
    ("Mean KL", "Distance of its expectations from the reference's, in nats, with standard error."),
    ("Same top token", "Places where it expects the same next token as the reference."),
)


def table_view(record: ComparisonRecord) -> TableView:
    """Return the table; without rows while nothing has been measured."""
    if not any(variant.stats or variant.decode or variant.quality for variant in record.variants):
        return TableView()
    rows = variant_rows(record)
    reference = record.variants[record.reference].label
    return TableView(
        heads=tuple(_tr(head) for head, _ in _HEADS),
        tips=tuple(_tr(tip) for _, tip in _HEADS),
        rows=tuple(_cells(row) for row in rows),
        cell_tips=tuple(_cell_tips(row) for row in rows),
        about=_tr("reference: {0}").format(reference),
        caption=" ".join((*sentences(record), *_marks(rows))),
    )


def _marks(rows: Sequence[VariantRow]) -> tuple[str, ...]:
    """Return what the marks in the table and in the answers mean."""
    marks = [_tr("Marked words differ from the reference's reply.")]
    sources = dict.fromkeys(row.requantized_from for row in rows if row.requantized_from)
    if sources:
        marks.append(_tr("* requantised from {0}.").format(", ".join(map(str, sources))))
    return tuple(marks)


def _cells(row: VariantRow) -> tuple[str, ...]:
    mark = " *" if row.requantized_from is not None else ""
    shared = " †" if row.shared and row.decode_per_s is not None else ""
    return (
        row.label + mark,
        "—" if row.bits_per_weight is None else f"{row.bits_per_weight:.2f}",
        "—" if row.bytes_per_token is None else read_words(row),
        "—" if row.engine_bytes is None else format_bytes(row.engine_bytes),
        _rate(row.prefill_per_s),
        _rate(row.decode_per_s) + shared,
        _rate(row.ceiling),
        "—" if row.ratio_predicted is None else f"{row.ratio_predicted:.2f}×",
        "—" if row.ratio_measured is None else f"{row.ratio_measured:.2f}×",
        estimate_text(row.perplexity, ".2f") or "—",
        *_faithfulness(row),
    )


def _faithfulness(row: VariantRow) -> tuple[str, str]:
    """Return mean KL and the share of equal top tokens; the reference's are known by definition."""
    if row.perplexity is None:
        return "—", "—"
    if row.is_reference:
        return "0", _tr("100 %")
    return estimate_text(row.mean_kl, ".4f") or "—", estimate_text(row.same_top, ".1%") or "—"


def _cell_tips(row: VariantRow) -> tuple[str, ...]:
    tips = [""] * len(_HEADS)
    if row.requantized_from is not None:
        tips[0] = _tr("* Requantised from {0}: its losses are added to those of that.").format(
            row.requantized_from
        )
    if row.planned_bytes is not None:
        tips[3] = _tr("Planned: {0}").format(format_bytes(row.planned_bytes))
        if row.peak_bytes is not None:
            tips[3] += "\n" + _tr("Most the process held: {0} (measured)").format(
                format_bytes(row.peak_bytes)
            )
    if row.prefill_expected is not None:
        tips[4] = _tr("Predicted: {0}").format(_rate(row.prefill_expected))
    if row.expected_low is not None and row.expected_high is not None:
        tips[5] = _tr("Predicted: {0} to {1}").format(
            _rate(row.expected_low), _rate(row.expected_high)
        )
    if row.shared:
        tips[5] = _tr("† Variants ran together and shared bandwidth.")
    if row.depth_tokens is not None:
        tips[6] = _tr("With {0} tokens in the cache.").format(f"{row.depth_tokens:,}")
    for column in (9, 10, 11):
        tips[column] = row.quality_note
    return tuple(tips)


def bar_views(record: ComparisonRecord) -> tuple[BarView, ...]:
    """Return the bars of the decode chart."""
    views = []
    for index, row in enumerate(variant_rows(record)):
        expected = None
        if row.expected_low is not None and row.expected_high is not None:
            expected = (row.expected_low, row.expected_high)
        lines = [row.label]
        if row.decode_per_s is not None:
            lines.append(_tr("Measured: {0} tokens per second").format(_rate(row.decode_per_s)))
        if expected is not None:
            lines.append(_tr("Predicted: {0} to {1}").format(*map(_rate, expected)))
        if row.ceiling is not None and row.bytes_per_token is not None:
            lines.append(
                _tr("Ceiling: {0}, bandwidth over {1} a token").format(
                    _rate(row.ceiling), format_decimal_bytes(row.bytes_per_token)
                )
            )
        views.append(
            BarView(
                label=row.label,
                colour=COLOUR_TOKENS[index % len(COLOUR_TOKENS)],
                per_s=row.decode_per_s,
                ceiling=row.ceiling,
                expected=expected,
                explanation=tuple(lines),
            )
        )
    return tuple(views)


def dot_views(record: ComparisonRecord) -> tuple[DotView, ...]:
    """Return the dots of speed against faithfulness; none unless one is held against another."""
    dots = []
    for index, row in enumerate(variant_rows(record)):
        same, error = (1.0, 0.0) if row.is_reference else (None, 0.0)
        if not row.is_reference and row.same_top is not None:
            same, error = row.same_top.value, row.same_top.error
        if same is not None and row.decode_per_s is not None:
            dots.append(
                DotView(
                    label=row.label,
                    colour=COLOUR_TOKENS[index % len(COLOUR_TOKENS)],
                    per_s=row.decode_per_s,
                    same_top=same,
                    error=error,
                )
            )
    return tuple(dots) if len(dots) > 1 else ()


def no_quality_sentence(record: ComparisonRecord) -> str:
    """Return why there is no chart of faithfulness."""
    if not record.settings.quality:
        return _tr("Quality was not measured; switch it on in the settings of the comparison.")
    notes = [variant.quality_note for variant in record.variants if variant.quality_note]
    return notes[0] if notes else _tr("Held against the reference when the quality text was read.")


def difference_views(record: ComparisonRecord, index: int) -> tuple[DifferenceView, ...]:
    """Return the places where a variant is furthest from the reference."""
    quality = record.variants[index].quality
    if quality is None:
        return ()
    reference, own = record.variants[record.reference].label, record.variants[index].label
    return tuple(_difference(place, reference, own) for place in quality.worst)


def _difference(place: TokenDifference, reference: str, own: str) -> DifferenceView:
    says = _tr("{0} expects “{1}” ({2:.0f} %) and gives this {3:.0f} %")
    return DifferenceView(
        before=place.before,
        token=place.token,
        after=place.after,
        reference_says=says.format(
            reference,
            _visible(place.reference_top),
            place.reference_top_p * 100,
            place.reference_p * 100,
        ),
        variant_says=says.format(own, _visible(place.top), place.top_p * 100, place.p * 100),
        kl=_tr("{0:.2f} nats").format(place.kl),
    )


def _visible(token: str) -> str:
    return token.replace("\n", "↵").strip() or "␣"


def earlier_views(entries: list[ComparisonEntry]) -> tuple[EarlierView, ...]:
    """Return kept comparisons for the menu, newest first."""
    return tuple(
        EarlierView(
            key=entry.id,
            title=f"{entry.title} — {_short(entry.prompt)}" if entry.prompt else entry.title,
            when=moment(entry.at_ms),
        )
        for entry in entries
    )


def common_name(record: ComparisonRecord) -> str:
    """Return what the variants are variants of, empty if they are of different models."""
    names = {variant.name for variant in record.variants}
    return names.pop() if len(names) == 1 else ""


def _short(text: str, most: int = 48) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
