"""What the panel shows, as plain values: the seam between the session and the widgets.

Whatever is computed lies behind these dataclasses, whatever is drawn before them, so that a
recorded session, a test and the gallery draw the same panel as a running engine. They know no Qt.
Bytes and tokens are whole numbers, rates tokens per second, spans seconds; None is unknown and is
shown as such, never as zero. A view that did not change should be handed on as the same object:
the widgets redraw only what differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = [
    "LOAD_LINE",
    "LOAD_PART",
    "AlternativeView",
    "Basis",
    "BudgetView",
    "CurvePoint",
    "DepthPoint",
    "FindingView",
    "FirstTokenPart",
    "FirstTokenView",
    "FixView",
    "GrowthView",
    "KinkView",
    "LayerDevice",
    "LayerView",
    "LayersView",
    "MetadataRow",
    "ModelCardView",
    "ModelRow",
    "PanelState",
    "PanelView",
    "PredictedPoint",
    "RateView",
    "SegmentKind",
    "SegmentView",
    "Severity",
    "SpeedView",
    "TypeShare",
]

LOAD_LINE: Final = 0.9

LOAD_PART: Final = "load"
"""Label of the part of a first token's time that loading the model took."""

Basis: TypeAlias = Literal[
    "measured",  # by a clock or a probe on this computer
    "engine",  # from the engine's own log
    "read",  # from the system or the driver
    "file",  # from the model's file
    "planned",  # computed before anything was loaded
    "table",  # from a data sheet
    "assumed",
    "unknown",
]
SegmentKind: TypeAlias = Literal[
    "weights", "kv_used", "kv_reserved", "compute", "draft", "other_programs", "free"
]
Severity: TypeAlias = Literal["error", "warning", "note"]
PanelState: TypeAlias = Literal["none", "planned", "loaded", "replayed", "lost"]


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A part of a device's memory.

    ``formula`` explains it with the values filled in ("32 layers × 8 KV heads × …"). After
    loading ``planned_bytes`` keeps what the plan said of the same part. ``also`` is how a part of
    the figure was got where that differs (buffers from the engine's log, the rest measured).
    """

    kind: SegmentKind
    size_bytes: int
    basis: Basis
    formula: str = ""
    planned_bytes: int | None = None
    also: Basis | None = None

    @property
    def plan_error(self) -> float | None:
        """Share by which the plan was too high (negative: too low), None without a plan."""
        return _error(self.planned_bytes, self.size_bytes)


@dataclass(frozen=True, slots=True)
class BudgetView:
    """Memory of one device (or of one pool that several devices share).

    ``segments`` are in drawing order; sizes of zero are left out of the bar. ``total_bytes`` None
    is unknown. ``planned_bytes`` and ``engine_bytes`` compare the sums over what the plan covers.
    ``mapped_bytes``: pages of the model's file, apart since the system takes them back at will.
    ``note`` is worth saying; ``others_took_bytes``: what others took since loading, if it is much.
    """

    name: str
    total_bytes: int | None
    segments: tuple[SegmentView, ...]
    load_line: float = LOAD_LINE
    planned_bytes: int | None = None
    engine_bytes: int | None = None
    mapped_bytes: int | None = None
    peak_bytes: int | None = None
    note: str = ""
    others_took_bytes: int | None = None

    @property
    def used_bytes(self) -> int:
        """Everything but what is free."""
        return sum(item.size_bytes for item in self.segments if item.kind != "free")

    @property
    def over_bytes(self) -> int:
        """What does not fit into the device; 0 if all fits or the capacity is unknown."""
        return 0 if self.total_bytes is None else max(0, self.used_bytes - self.total_bytes)

    @property
    def over_load_line(self) -> bool:
        """Tell whether more is used than the load line allows."""
        return self.total_bytes is not None and (
            self.used_bytes > self.load_line * self.total_bytes
        )

    @property
    def headroom_bytes(self) -> int | None:
        """What may still be used below the load line (negative above it)."""
        if self.total_bytes is None:
            return None
        return int(self.load_line * self.total_bytes) - self.used_bytes

    @property
    def plan_error(self) -> float | None:
        """Share by which the plan was too high (negative: too low), None before loading."""
        return _error(self.planned_bytes, self.engine_bytes)


@dataclass(frozen=True, slots=True)
class LayerDevice:
    """A device on which layers lie; ``slow`` is one that holds the others up."""

    name: str
    slow: bool = False


@dataclass(frozen=True, slots=True)
class LayerView:
    """A layer ("blk.12", "output") on ``LayersView.devices[device]``.

    ``split_bytes`` of it lie on ``split_device`` (a layer whose experts stay with the CPU).
    """

    name: str
    device: int
    size_bytes: int
    split_device: int | None = None
    split_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LayersView:
    """Where each layer lies, in the order in which they run."""

    devices: tuple[LayerDevice, ...]
    layers: tuple[LayerView, ...]
    basis: Basis = "planned"


@dataclass(frozen=True, slots=True)
class FixView:
    """Something one click would change. ``effect`` is shown before it is taken."""

    key: str
    label: str
    effect: str = ""


@dataclass(frozen=True, slots=True)
class FindingView:
    """Something worth saying: a headline, why and at what cost, and what would help."""

    id: str
    severity: Severity
    headline: str
    text: str = ""
    fixes: tuple[FixView, ...] = ()
    layers: LayersView | None = None


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Size of the KV cache (with recurrent state) at so many tokens."""

    tokens: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class KinkView:
    """Where the slope changes, and why ("sliding window of 1,024 is full")."""

    tokens: int
    label: str


@dataclass(frozen=True, slots=True)
class AlternativeView:
    """The same cache kept in another type; ``budget_tokens`` is where its budget ends."""

    cache_type: str
    line: tuple[CurvePoint, ...]
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class GrowthView:
    """Size of the KV cache against tokens.

    ``line`` is the formula from 0 to the end of the axis as a polyline whose corners are the
    kinks; ``used`` are sizes at the turns so far. ``budget_bytes`` is the size at which the device
    reaches its load line, ``budget_tokens`` where the line gets there (None: not on the axis).
    ``fitting_tokens`` and ``fitting_conversations`` still fit besides what is used.
    """

    cache_type: str
    line: tuple[CurvePoint, ...]
    window_tokens: int
    bytes_per_token: int | None = None
    used: tuple[CurvePoint, ...] = ()
    now: CurvePoint | None = None
    kinks: tuple[KinkView, ...] = ()
    trained_tokens: int | None = None
    budget_bytes: int | None = None
    budget_tokens: int | None = None
    alternatives: tuple[AlternativeView, ...] = ()
    fitting_tokens: int | None = None
    fitting_conversations: int | None = None
    formula: str = ""
    basis: Basis = "planned"


@dataclass(frozen=True, slots=True)
class RateView:
    """One rate beside its prediction, in tokens per second.

    ``ceiling`` is what bandwidth or arithmetic allows at the depth of the measurement,
    ``ceiling_name`` says which ("all-VRAM ceiling"), ``limit`` what holds it ("compute-bound").
    ``live`` is of a reply being written, ``held_up`` with it that no token has come for some
    seconds; ``earlier`` is of the turn before. ``ceiling_basis`` is what the ceiling rests on,
    ``predicted_basis`` the prediction; ``equation`` is "504 GB/s ÷ 6.63 GB a token".
    """

    measured: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    ceiling: float | None = None
    ceiling_name: str = ""
    limit: str = ""
    formula: str = ""
    predicted_basis: Basis = "planned"
    ceiling_basis: Basis = "unknown"
    live: bool = False
    earlier: bool = False
    held_up: bool = False
    equation: str = ""

    @property
    def predicted(self) -> float | None:
        """Middle of the prediction."""
        if self.predicted_low is None or self.predicted_high is None:
            return self.predicted_low if self.predicted_high is None else self.predicted_high
        return (self.predicted_low + self.predicted_high) / 2

    @property
    def efficiency(self) -> float | None:
        """Share of the ceiling that was reached."""
        return None if not self.ceiling or self.measured is None else self.measured / self.ceiling


@dataclass(frozen=True, slots=True)
class DepthPoint:
    """A decode rate measured with so many tokens in the cache."""

    depth_tokens: int
    per_s: float


@dataclass(frozen=True, slots=True)
class PredictedPoint:
    """Predicted decode rate and its ceiling with so many tokens in the cache."""

    depth_tokens: int
    low: float
    high: float
    ceiling: float


@dataclass(frozen=True, slots=True)
class FirstTokenPart:
    """A part of the time to the first token ("load", "prefill of 37 tokens")."""

    label: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FirstTokenView:
    """Time to the first token. ``basis`` is "measured", or "planned" for a draft not yet sent.

    ``earlier`` is that of the turn before the one that is running.
    """

    total_s: float
    parts: tuple[FirstTokenPart, ...] = ()
    new_tokens: int | None = None
    reused_tokens: int | None = None
    basis: Basis = "measured"
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class SpeedView:
    """Measured beside predicted. ``explanation`` says why they differ, if they do.

    ``alarming`` marks an explanation that means that something is wrong.
    """

    decode: RateView
    prefill: RateView
    measured_over_depth: tuple[DepthPoint, ...] = ()
    predicted_over_depth: tuple[PredictedPoint, ...] = ()
    explanation: str = ""
    alarming: bool = False
    first_token: FirstTokenView | None = None
    draft_first_token: FirstTokenView | None = None


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A fact of the model; ``hint`` explains it."""

    label: str
    value: str
    basis: Basis = "file"
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TypeShare:
    """Tensors of one type ("Q4_K")."""

    name: str
    tensors: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class MetadataRow:
    """A key of the file, its type ("uint32") and its value, shortened if it is long."""

    key: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class ModelCardView:
    """The model in a few rows; ``title`` is short ("llama · GGUF v3")."""

    title: str
    rows: tuple[ModelRow, ...]
    types: tuple[TypeShare, ...] = ()
    metadata: tuple[MetadataRow, ...] = ()


@dataclass(frozen=True, slots=True)
class PanelView:
    """The whole panel.

    ``notice`` says what is special about the state: why the engine was lost, that figures are
    planned. ``recorded``: which turn is replayed; ``notice`` then says on what it was measured.
    """

    state: PanelState = "none"
    notice: str = ""
    budgets: tuple[BudgetView, ...] = ()
    findings: tuple[FindingView, ...] = ()
    layers: LayersView | None = None
    growth: GrowthView | None = None
    speed: SpeedView | None = None
    model: ModelCardView | None = None
    recorded: str = ""


def _error(planned: int | None, actual: int | None) -> float | None:
    return None if planned is None or not actual else (planned - actual) / actual
