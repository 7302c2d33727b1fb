"""The planner's sentences, with their figures apart, so that a window can translate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gguf_tools.units import format_bytes
from inspector.planning import STEP_TOKENS, RowPlan

__all__ = [
    "Phrase",
    "Tone",
    "beyond_phrases",
    "filled",
    "range_text",
    "rate_text",
    "say",
    "short_name",
    "tokens",
    "verdict",
    "verdict_detail",
]

Tone: TypeAlias = Literal["good", "warning", "danger", "dim"]

_MAKERS: Final = ("NVIDIA GeForce ", "NVIDIA ", "AMD Radeon ", "AMD ", "Intel ")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence with %1, %2, … for its values."""

    text: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the sentence in English."""
        return filled(self.text, self.values)


def filled(text: str, values: tuple[str, ...]) -> str:
    """Return a text with its values in place."""
    for place, value in enumerate(values, start=1):
        text = text.replace(f"%{place}", value)
    return text


def say(text: str, *values: str) -> Phrase:
    """Return a sentence with its values."""
    return Phrase(text, values)


def short_name(name: str) -> str:
    """Return a device's name without its maker, where the rest says enough."""
    count, times, rest = name.partition(" × ")
    bare = rest if times else name
    for maker in _MAKERS:
        if bare.startswith(maker) and not bare.startswith("AMD Ryzen"):
            bare = bare[len(maker) :]
            break
    return f"{count}{times}{bare}" if times else bare


def tokens(count: int) -> str:
    """Return a context as people say it: 21K is 21 × 1,024, halves at most."""
    if count < 1024:
        return f"{count:,}"
    thousands = count / 1024
    if thousands >= 1024:
        return f"{thousands / 1024:.3g}M"
    return f"{thousands:.0f}K" if thousands >= 10 else f"{thousands:.2g}K"


def rate_text(value: float) -> str:
    """Return a rate without digits that nobody knows."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def range_text(low: float, high: float) -> str:
    """Return a range of rates without digits that nobody knows."""
    first, second = rate_text(low), rate_text(high)
    return first if first == second else f"{first}–{second}"


# --- verdict


def verdict(row: RowPlan) -> tuple[Phrase, Tone]:
    """Return the row's verdict in a few words, and how it is meant."""
    at = tokens(row.memory_ends or 0)
    free = format_bytes(row.free_bytes)
    match row.verdict:
        case "fits":
            return say("Fits, %1 free", free), "good"
        case "slow":
            return say("Fits, slow"), "warning"
        case "tight":
            return say("Over the load line"), "warning"
        case "cache_breaks":
            if not row.memory_ends:
                return say("KV breaks it"), "danger"
            return say("KV breaks it at %1", at), "danger"
        case "compute_breaks":
            if not row.memory_ends:
                return say("Buffers don't fit"), "danger"
            return say("Scores break it at %1", at), "danger"
        case "weights_break":
            return say("Weights don't fit"), "danger"
        case "refused":
            return say("Refused by the engine"), "danger"
        case "unknown":
            return say("Memory unknown"), "dim"


def verdict_detail(row: RowPlan) -> Phrase:
    """Return the reason, in one line."""
    if row.verdict == "refused" and row.plan.refusal is not None:
        return say("%1", row.plan.refusal.text)
    if row.verdict == "unknown":
        return say("How much memory there is, is unknown.")
    if row.plan.fits is False:
        return _short_of(row)
    if row.verdict == "slow" and row.rates.high is not None:
        return say("%1 tok/s: slower than reading", rate_text(row.rates.high))
    if _is_beyond(row):
        return say("beyond its trained %1", tokens(row.trained_context or 0))
    if row.cause == "nothing":
        return say("all of its trained %1", tokens(row.trained_context or 0))
    if row.cause == "weights":
        return say("even without a cache")
    if (row.context_breaks or 0) < STEP_TOKENS:
        return say("over the load line at any context")
    breaks = tokens(row.context_breaks or 0)
    if row.cause == "compute":
        return say("scores over the load line at %1", breaks)
    return say("cache over the load line at %1", breaks)


def _is_beyond(row: RowPlan) -> bool:
    asked = row.plan.memory.settings.context_sequence
    return bool(beyond_phrases(row.trained_context, asked))


def _short_of(row: RowPlan) -> Phrase:
    lacks = format_bytes(row.lacks_bytes)
    total = len(row.plan.memory.placement.layers)
    if row.split is None:
        return say("lacks %1; no split fits", lacks) if _can_split(row) else say("lacks %1", lacks)
    stay = total - row.split.layers_offloaded
    return say("lacks %1; %2/%3 layers in RAM", lacks, f"{stay:,}", f"{total:,}")


def _can_split(row: RowPlan) -> bool:
    return len(row.plan.pools) > 1


def beyond_phrases(trained: int | None, asked: int) -> list[Phrase]:
    """Return what it means to ask for a longer context than a model was trained for.

    Args:
        trained: tokens it was trained for, None where the file doesn't say.
        asked: tokens of one conversation.
    """
    if not trained or asked < trained + STEP_TOKENS:  # contexts come in steps
        return []
    return [
        say(
            "%1 tokens are asked for and the model was trained for %2: further positions are new "
            "to it, so replies get worse there, or need RoPE scaling, which costs some quality "
            "everywhere.",
            f"{asked:,}",
            f"{trained:,}",
        )
    ]
