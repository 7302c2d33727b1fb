"""What the planner's views are told: frozen values, made by the presenter, shown as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from inspector.planner_bars import BarKind
from inspector.planner_words import Tone

__all__ = ["CELLS", "BarPart", "BarView", "CellKey", "ExampleView", "FormFacts", "RowView"]

CellKey: TypeAlias = Literal[
    "machine", "bar", "verdict", "context", "users", "ceiling", "realistic"
]
CELLS: Final[tuple[CellKey, ...]] = (
    "machine",
    "bar",
    "verdict",
    "context",
    "users",
    "ceiling",
    "realistic",
)


@dataclass(frozen=True, slots=True)
class BarPart:
    """A segment; ``tip`` are lines that explain it, headline first."""

    kind: BarKind
    size_bytes: int
    tip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BarView:
    """One memory. ``total_bytes`` None is an unknown capacity; ``load_line`` is a share of it."""

    name: str
    total_bytes: int | None
    parts: tuple[BarPart, ...]
    over_bytes: int = 0
    load_line: float = 0.9


@dataclass(frozen=True, slots=True)
class RowView:
    """A row. ``texts`` and ``subs`` are the cells' two lines, ``tips`` their explanations.

    ``problem`` stands in place of everything but the name where a row can't be planned; a row
    without bars and problem is still being worked out. ``said`` is the row for screen readers.
    """

    key: str
    title: str
    sub: str = ""
    bars: tuple[BarView, ...] = ()
    texts: dict[CellKey, str] = field(default_factory=dict)
    subs: dict[CellKey, str] = field(default_factory=dict)
    tips: dict[CellKey, tuple[str, ...]] = field(default_factory=dict)
    tone: Tone = "dim"
    problem: str = ""
    own: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class FormFacts:
    """What the form says of the model it plans: hints below the fields, and their limits.

    ``remark`` says what the settings mean for it that is easily overlooked.
    """

    model: str
    model_hint: str = ""
    cache_hint: str = ""
    layers: int = 0
    trained_tokens: int | None = None
    has_experts: bool = False
    remark: str = ""


@dataclass(frozen=True, slots=True)
class ExampleView:
    """A page that can be put on screen at once."""

    key: str
    title: str
