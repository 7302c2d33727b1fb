"""What a running comparison tells. Events come from the thread (or threads) that drive engines,
one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.compare.records import ComparisonRecord, VariantRecord

__all__ = ["Began", "Event", "Noticed", "Phase", "PhaseChanged", "Piece", "VariantFinished"]

Phase: TypeAlias = Literal[
    "waiting",
    "starting",  # its engine
    "loading",
    "reading",  # the prompt
    "writing",
    "measuring",  # rates by a test of their own
    "scoring",  # the quality text
    "unloading",
    "done",
    "failed",
    "cancelled",
]


@dataclass(frozen=True, slots=True)
class Began:
    """The files were read; ``record`` holds what they say, with every variant waiting."""

    record: ComparisonRecord
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """What a variant does now. ``fraction`` is 0 to 1 where it is known, tokens where counted."""

    index: int
    phase: Phase
    fraction: float | None = None
    done_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of an answer since the last piece."""

    index: int
    answer: str
    reasoning: str
    reply_tokens: int
    decode_per_s: float | None


@dataclass(frozen=True, slots=True)
class VariantFinished:
    """A variant is done with what it does now; with ``together`` a second one brings quality."""

    index: int
    variant: VariantRecord


@dataclass(frozen=True, slots=True)
class Noticed:
    """A sentence that a person should see; ``index`` None is of no variant in particular."""

    text: str
    index: int | None = None


Event: TypeAlias = Began | PhaseChanged | Piece | VariantFinished | Noticed
