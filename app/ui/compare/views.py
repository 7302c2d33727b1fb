"""What the Compare page shows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = [
    "COLOUR_TOKENS",
    "BarView",
    "ColumnState",
    "ColumnView",
    "DifferenceView",
    "DotView",
    "EarlierView",
    "RunOffer",
    "SetupView",
    "TableView",
    "VariantChoice",
]

# One colour a variant, in the order in which they stand.
COLOUR_TOKENS: Final = ("weights", "kv_used", "free", "compute", "danger", "dim")

ColumnState: TypeAlias = Literal["empty", "waiting", "working", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantChoice:
    """A model file that can be taken into the comparison. ``label`` is its quantisation."""

    path: str
    name: str
    label: str
    size_bytes: int | None = None
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupView:
    """What will be run. ``options`` is the line of settings, ``how`` says how it will be run.

    ``problem`` is the one sentence why it can't be run now; ``progress`` 0 to 1 while it runs.
    """

    options: str
    how: str
    is_running: bool = False
    can_run: bool = False
    problem: str = ""
    doing: str = ""
    progress: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One variant. ``figures`` are (label, value, unit) of the line below its answer.

    ``differing`` are character ranges of the answer that are to be marked. The others are held
    against the reference. ``can_measure``: it was run, and can be alone once more.
    """

    key: int
    label: str
    name: str
    colour: str
    size: str
    state: ColumnState = "empty"
    doing: str = ""
    failure: str = ""
    advice: str = ""
    answer: str = ""
    differing: tuple[tuple[int, int], ...] = ()
    figures: tuple[tuple[str, str, str], ...] = ()
    is_reference: bool = False
    can_measure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOffer:
    """What another run would change; ``part`` is the button's key: "disturbed" or "reading"."""

    sentence: str
    part: str
    part_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """Heads and rows of texts; ``tips`` explain the heads, ``cell_tips`` the cells."""

    heads: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    cell_tips: tuple[tuple[str, ...], ...] = ()
    about: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarView:
    """A bar of the decode chart: tokens per second, measured, with the ceiling's line."""

    label: str
    colour: str
    per_s: float | None
    ceiling: float | None
    expected: tuple[float, float] | None = None
    explanation: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DotView:
    """A dot of speed against faithfulness: tokens per second over the share of equal tokens."""

    label: str
    colour: str
    per_s: float
    same_top: float
    error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceView:
    """A place of the text where a variant and the reference expect different things."""

    before: str
    token: str
    after: str
    reference_says: str
    variant_says: str
    kl: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierView:
    """A comparison that was kept."""

    key: str
    title: str
    when: str
