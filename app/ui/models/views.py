"""What the Models page is told: frozen values, made by its presenter, shown as they are.

Words that depend on figures are made by the presenter; the page formats numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.views import MetadataRow

__all__ = [
    "DetailRow",
    "FitView",
    "GroupKind",
    "GroupView",
    "LibraryView",
    "ModelDetails",
    "ScanView",
    "SortKey",
    "TypeView",
    "VariantOption",
    "VariantView",
    "VerdictKind",
]

VerdictKind: TypeAlias = Literal["fits", "tight", "too_large", "unknown", "waiting"]
GroupKind: TypeAlias = Literal["model", "other", "broken", "hidden"]
SortKey: TypeAlias = Literal["name", "size", "bits", "context", "fit", "decode", "prefill"]


@dataclass(frozen=True, slots=True)
class FitView:
    """Whether a variant fits, in a word or two, and its budget as shares of the memory.

    ``shares`` are (token of a colour, share 0 to 1 of the memory; above 1 in all where it does not
    fit). ``sentence`` is the tooltip: how the figures were got. ``decode_low_per_s`` and
    ``decode_per_s`` are the ends of what is expected.
    """

    verdict: VerdictKind = "waiting"
    words: str = ""
    sentence: str = ""
    shares: tuple[tuple[str, float], ...] = ()
    max_context_tokens: int | None = None
    decode_low_per_s: float | None = None
    decode_per_s: float | None = None
    decode_words: str = ""
    prefill_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantView:
    """One variant of a model, or one file that is none.

    ``key`` is its path. ``name`` is the quantisation of a variant, the kind of a part of a model
    and the file's name of anything else; ``place`` says where it lies and what its file is
    called. ``problem`` set: it can't be used for chat. ``keeper`` set: this program may not move
    its files to the trash, and the sentence says who may.
    """

    key: str
    name: str
    place: str = ""
    source: str = ""
    size_bytes: int | None = None
    bits_per_weight: float | None = None
    context_tokens: int | None = None
    fit: FitView = FitView()
    problem: str = ""
    kind: str = "model"
    tags: tuple[str, ...] = ()
    is_loaded: bool = False
    is_hidden: bool = False
    keeper: str = ""
    search_text: str = ""

    @property
    def may_chat(self) -> bool:
        """Tell whether it can be loaded for a chat."""
        return not self.problem and not self.is_part

    @property
    def is_part(self) -> bool:
        """Tell whether it is a projector or an adapter of the model that it stands under."""
        return self.kind in {"projector", "adapter"} and not self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A model with its variants, or a heading over files that are none.

    Projectors and adapters of the model stand among the variants, with a ``kind`` of their own.
    """

    key: str
    title: str
    kind: GroupKind = "model"
    tags: tuple[str, ...] = ()
    variants: tuple[VariantView, ...] = ()
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ScanView:
    """A scan in progress: ``share`` of the places (0 to 1) and what is looked at."""

    share: float
    words: str


@dataclass(frozen=True, slots=True)
class LibraryView:
    """All there is to show. ``summary`` counts it, ``basis`` says what predictions rest on.

    ``is_rough``: other programs disturbed the measurement that they rest on. ``budget_title`` heads
    the column of budgets ("Memory at 8K").
    """

    groups: tuple[GroupView, ...] = ()
    summary: str = ""
    basis: str = ""
    is_rough: bool = False
    budget_title: str = ""
    sources: tuple[str, ...] = ()
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class DetailRow:
    """A fact of a file: what, how much, and the basis or an explanation as a hint."""

    label: str
    value: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TypeView:
    """How much of a file has one tensor type."""

    name: str
    tensors: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """Everything about one file. ``warnings`` are whole sentences."""

    title: str
    tags: tuple[str, ...]
    path: str
    rows: tuple[DetailRow, ...]
    types: tuple[TypeView, ...]
    metadata: tuple[MetadataRow, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VariantOption:
    """A type that a model can be quantised to. Unknown figures are None.

    ``size_bytes`` and the rate are predicted before anything is written; ``problem`` says why a
    type can't be made from this file.
    """

    key: str
    name: str
    about: str = ""
    size_bytes: int | None = None
    bits_per_weight: float | None = None
    fit: FitView = FitView()
    needs_imatrix: bool = False
    recommended: bool = False
    problem: str = ""
