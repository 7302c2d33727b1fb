"""Words and numbers of the panel: one place, so that a basis or a size is always said alike."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final

from PySide6.QtCore import QCoreApplication, QLocale

from gguf_tools.units import format_bytes
from inspector.views import Basis, BudgetView, SegmentKind, SegmentView

__all__ = [
    "basis_sentence",
    "basis_word",
    "basis_words",
    "fill",
    "grouped",
    "joined",
    "number",
    "numbered",
    "percent",
    "plan_line",
    "rate",
    "rough",
    "segment_name",
    "segment_tip",
    "signed_percent",
    "tip",
    "tokens_short",
    "unbroken",
]

_CONTEXT: Final = "Inspector"

_BASIS_WORDS: Final[dict[Basis, str]] = {
    "measured": "measured",
    "engine": "engine",
    "read": "read",
    "file": "file",
    "planned": "planned",
    "table": "data sheet",
    "assumed": "assumed",
    "unknown": "unknown",
}

_BASIS_SENTENCES: Final[dict[Basis, str]] = {
    "measured": "Measured on this computer.",
    "engine": "From the engine's own log.",
    "read": "Read from the system or the driver.",
    "file": "From the model's file.",
    "planned": "Planned from the model's file and the settings.",
    "table": "From a data sheet.",
    "assumed": "Assumed: nothing better is known.",
    "unknown": "Not known.",
}

_SEGMENT_NAMES: Final[dict[SegmentKind, str]] = {
    "weights": "Weights",
    "kv_used": "KV cache, in use",
    "kv_reserved": "KV cache, reserved",
    "compute": "Compute and overhead",
    "draft": "Draft model",
    "other_programs": "Other programs",
    "free": "Free",
}

_SEGMENT_MEANINGS: Final[dict[SegmentKind, str]] = {
    "weights": "The model's tensors that lie on this device.",
    "kv_used": "Keys and values of the tokens in the context.",
    "kv_reserved": "Taken when the model was loaded, for the rest of the context.",
    "compute": "Buffers of a batch while it is evaluated, and what the engine takes besides.",
    "draft": "A second, small model that guesses tokens for this one to check.",
    "other_programs": "Held by other programs on this device.",
    "free": "Neither this program nor another holds it.",
}


def _tr(text: str) -> str:
    return QCoreApplication.translate(_CONTEXT, text)


def fill(text: str, *values: str) -> str:
    """Put values at %1, %2, … of a translated text."""
    for place, value in enumerate(values, start=1):
        text = text.replace(f"%{place}", value)
    return text


def unbroken(text: str) -> str:
    """Return text in which no line ends within a unit: at the stroke of tok/s, before a %."""
    return text.replace("/s", "/\u2060s").replace(" %", "\u00a0%")


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are not empty with middle dots between them."""
    return " · ".join(part for part in parts if part)


def _locale() -> QLocale:
    # The C locale of bare machines has no grouping; English stands in.
    locale = QLocale()
    if locale.language() == QLocale.Language.C:
        locale = QLocale(QLocale.Language.English)
    locale.setNumberOptions(QLocale.NumberOption.DefaultNumberOptions)
    return locale


def grouped(value: int) -> str:
    """Return a whole number with groups of three digits (21,034)."""
    return _locale().toString(value)


def numbered(count: int, one: str, many: str) -> str:
    """Return the words for a count: ``one`` for 1, else ``many``, in which %n is the number."""
    return one if count == 1 else many.replace("%n", grouped(count))


def number(value: float) -> str:
    """Return a rate's number with three digits (31.2; 3,120)."""
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return _locale().toString(float(value), "f", digits)


def rough(value: float) -> str:
    """Return a predicted rate's number: two digits, since no more is known."""
    return _locale().toString(float(value), "f", 0 if value >= 9.95 else 1)


def rate(value: float | None) -> str:
    """Return a rate with its unit."""
    return _tr("unknown") if value is None else fill(_tr("%1 tok/s"), number(value))


def percent(share: float) -> str:
    """Return a share (0 to 1) as whole percent."""
    return fill(_tr("%1 %"), grouped(round(share * 100)))


def signed_percent(share: float) -> str:
    """Return an error with one digit and its sign (+1.4 %)."""
    sign = "+" if share >= 0 else "−"
    return fill(_tr("%1 %"), sign + _locale().toString(abs(share) * 100, "f", 1))


def tokens_short(tokens: int) -> str:
    """Return a count of tokens as on an axis: 16K is 16 × 1,024."""
    for factor, unit in ((1024**2, "M"), (1024, "K")):
        if tokens >= factor and tokens % (factor // 4) == 0:
            return f"{tokens / factor:g}{unit}"
    return grouped(tokens)


def basis_word(basis: Basis) -> str:
    """Return how a figure was got, in a word."""
    return _tr(_BASIS_WORDS[basis])


def basis_words(segment: SegmentView) -> str:
    """Return how a segment's figure was got: "engine", or "engine + measured" where it is a sum."""
    word = basis_word(segment.basis)
    return word if segment.also is None else f"{word} + {basis_word(segment.also)}"


def basis_sentence(basis: Basis) -> str:
    """Return how a figure was got, in a sentence."""
    return _tr(_BASIS_SENTENCES[basis])


def segment_name(kind: SegmentKind) -> str:
    """Return what a part of the budget is called."""
    return _tr(_SEGMENT_NAMES[kind])


def plan_line(planned_bytes: int, engine_bytes: int, error: float) -> str:
    """Return the plan beside the engine's number: "plan 1.42 GiB, engine 1.44 GiB, error …"."""
    return fill(
        _tr("plan %1, engine %2, error %3 %"),
        format_bytes(planned_bytes),
        format_bytes(engine_bytes),
        _locale().toString(abs(error) * 100, "f", 1),
    )


def segment_tip(segment: SegmentView, budget: BudgetView) -> list[str]:
    """Return the explanation of a segment, headline first, as plain lines."""
    size = format_bytes(segment.size_bytes)
    share = (
        fill(_tr(", %1 of the device"), percent(segment.size_bytes / budget.total_bytes))
        if budget.total_bytes
        else ""
    )
    lines = [f"{segment_name(segment.kind)}: {size}{share}", _tr(_SEGMENT_MEANINGS[segment.kind])]
    if segment.kind == "other_programs" and budget.others_took_bytes is not None:
        more = _tr("About %1 more than when the model was loaded.")
        lines.append(fill(more, format_bytes(budget.others_took_bytes)))
    if segment.formula:
        lines.append(segment.formula)
    if segment.plan_error is not None and segment.planned_bytes is not None:
        planned = format_bytes(segment.planned_bytes)
        lines.append(fill(_tr("Plan %1 (%2)."), planned, signed_percent(segment.plan_error)))
    lines.append(basis_sentence(segment.basis))
    if segment.also is not None:
        lines.append(fill(_tr("A part of it: %1"), basis_sentence(segment.also)))
    return lines


def tip(lines: Iterable[str]) -> str:
    """Return lines as a tooltip that wraps: the first one strong, markup in them is text."""
    first, *rest = [html.escape(line).replace("\n", "<br>") for line in lines if line] or [""]
    if not first:
        return ""
    return f"<p><b>{first}</b></p>" + "".join(f"<p>{line}</p>" for line in rest)
