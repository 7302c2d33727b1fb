"""A plan as it is kept and drawn: plain values, without the model's file or the planner.

The panel draws from these alone, before loading, after it and from a record made on another
computer, so that all three look alike and a replay needs neither the model nor its machine.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = [
    "BUSY",
    "Changes",
    "FindingRecord",
    "FitRecord",
    "FixRecord",
    "GrowthLine",
    "LayerRecord",
    "ModelRecord",
    "PlanRecord",
    "PlannedDevice",
    "RatePoint",
    "SettingsRecord",
    "Severity",
    "changes_of_key",
]

Severity: TypeAlias = Literal["error", "warning", "note"]
Changes: TypeAlias = dict[str, str | int | bool | None]


class SettingsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is or would be loaded. ``flash_attention`` None is not known."""

    n_ctx: int
    n_batch: int = 512
    n_ubatch: int = 512
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attention: bool | None = None
    swa_full: bool = False
    gpu_layers: int = -1
    sequences: int = 1
    threads: int = 0
    threads_batch: int = 0
    mmap: bool = True
    compatibility: bool = False
    experts_on_cpu: bool = False


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the model card shows; None is unknown. ``types`` are (tensor type, tensors, bytes)."""

    name: str
    architecture: str
    quantization: str | None = None
    file_bytes: int = 0
    weights_bytes: int = 0
    bits_per_weight: float | None = None
    parameters: int = 0
    parameters_active: int | None = None
    layers: int | None = None
    embedding_length: int | None = None
    heads: int | None = None
    kv_heads: tuple[int, ...] = ()
    key_length: int | None = None
    value_length: int | None = None
    context_length: int | None = None
    vocab_size: int | None = None
    sliding_window: int | None = None
    sliding_layers: int = 0
    experts: int | None = None
    experts_used: int | None = None
    bytes_read_per_token: int | None = None
    score_matrix_bytes: int | None = None
    types: tuple[tuple[str, int, int], ...] = ()
    gguf_version: int | None = None
    assumed: tuple[str, ...] = ()


class PlannedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """What is planned for a device, in bytes. Devices with the same ``pool`` share one memory.

    Of one on another computer (kind "rpc") ``description`` is the address; ``link_bytes_per_s`` and
    ``round_trip_s`` were measured of the network, which adds ``network_s`` to a token.
    """

    name: str
    kind: str
    pool: str
    description: str = ""
    backend: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None
    weights_bytes: int = 0
    kv_bytes: int = 0
    state_bytes: int = 0
    compute_bytes: int = 0
    output_bytes: int = 0
    overhead_bytes: int = 0
    draft_bytes: int = 0
    bandwidth_bytes_per_s: float | None = None
    bandwidth_basis: str = "assumed"
    bandwidth_note: str = ""
    flops_per_s: float | None = None
    flops_basis: str = "assumed"
    link_bytes_per_s: float | None = None
    round_trip_s: float | None = None
    network_s: float = 0.0

    @property
    def title(self) -> str:
        """Return what to call the device; an address alone would not tell that it is one."""
        if self.kind == "rpc":
            return f"{self.name} ({self.description})"
        return self.description or self.name

    @property
    def used_bytes(self) -> int:
        """Return everything that the model takes here."""
        return (
            self.weights_bytes
            + self.kv_bytes
            + self.state_bytes
            + self.compute_bytes
            + self.output_bytes
            + self.overhead_bytes
            + self.draft_bytes
        )


class RatePoint(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Decoding with ``depth`` tokens in the cache: bytes a token reads, and tokens per second.

    ``likely_low`` is the low end before anything was measured here, where ``low`` rests on
    measurements: a computer that is always slow must not pass for a sound one.
    """

    depth: int
    bytes_per_token: int
    ceiling: float | None
    low: float | None
    high: float | None
    likely_low: float | None = None


class FitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """On what a prediction rests that follows measurements: ``count`` rates up to a depth.

    They are of ``runs`` replies or benchmarks (0: not counted). ``own`` tells that this model was
    measured, and not another one on this computer; ``other_settings`` that it was this model, but
    not with these settings. ``spread`` is the half width of the prediction. ``busy``: other
    programs ran meanwhile, so that decoding may be faster.
    """

    own: bool
    count: int
    deepest: int
    spread: float
    runs: int = 0
    other_settings: bool = False
    busy: bool = False


class LayerRecord(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Where a layer lies; ``split_bytes`` of its ``size_bytes`` lie on ``split_device``."""

    name: str
    device: str
    size_bytes: int
    split_device: str | None = None
    split_bytes: int = 0


class GrowthLine(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes in use by the cache over tokens, for a cache type: corners of a polygon."""

    cache_type: str
    points: tuple[tuple[int, int], ...]

    def at(self, tokens: int) -> int:
        """Return the bytes in use at a number of tokens."""
        if not self.points:
            return 0
        index = bisect_right([point[0] for point in self.points], tokens)
        if index == 0:
            return self.points[0][1]
        if index == len(self.points):
            return self.points[-1][1]
        (x0, y0), (x1, y1) = self.points[index - 1], self.points[index]
        return y0 + round((y1 - y0) * (tokens - x0) / (x1 - x0))

    def tokens_at(self, size_bytes: int) -> int | None:
        """Return the tokens at which that many bytes are in use, None if it is never so."""
        for (x0, y0), (x1, y1) in zip(self.points, self.points[1:], strict=False):
            if y1 > y0 and y0 <= size_bytes <= y1:
                return x0 + round((x1 - x0) * (size_bytes - y0) / (y1 - y0))
        return None


BUSY: Final = "busy"


class FixRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A change of load settings that would help, and what it would do by the plan.

    ``changes`` are values of load settings by key. Where something else than a setting helps,
    ``action`` names it: "new_chat", "unload", "engine_build", "probe"; `BUSY` is under way.
    """

    text: str
    changes: Changes = {}
    effect: str = ""
    action: str = ""

    @property
    def key(self) -> str:
        """Return what names the fix to the window; `changes_of_key` reads it."""
        return self.action or msgspec.json.encode(self.changes).decode()


def changes_of_key(key: str) -> Changes:
    """Return the changes of load settings that a fix's key means, none for an action."""
    return (
        msgspec.json.decode(key, type=dict[str, str | int | bool | None]) if key[:1] == "{" else {}
    )


class FindingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth saying: ``text`` in a headline, its cause, its cost, and what would help."""

    id: str
    severity: Severity
    text: str
    cause: str = ""
    cost: str = ""
    fixes: tuple[FixRecord, ...] = ()


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One way of loading a model on one machine, as predicted.

    ``layers`` are in the order in which they run, the output last; ``curve`` the decode rate over
    the depth; ``growth`` the cache over tokens, the chosen type first. ``kv_formula`` is the
    cache's size per token with values filled in, ``draft`` what a draft model takes.
    """

    model: ModelRecord
    settings: SettingsRecord
    machine: str
    devices: tuple[PlannedDevice, ...]
    layers: tuple[LayerRecord, ...]
    kv_bytes_per_token: int
    state_bytes: int
    kv_formula: str
    compute_margin: float
    curve: tuple[RatePoint, ...]
    growth: tuple[GrowthLine, ...]
    prefill_per_s: float | None
    prefill_flops_per_token: float
    max_context: int | None
    max_sequences: int | None
    fits: bool | None
    findings: tuple[FindingRecord, ...] = ()
    fit: FitRecord | None = None
    draft: str = ""
    prefill_ceiling: float | None = None

    def device(self, name: str) -> PlannedDevice | None:
        """Return the plan of a device."""
        return next((item for item in self.devices if item.name == name), None)

    @property
    def layers_offloaded(self) -> int:
        """Return how many layers, the output included, lie off the CPU."""
        host = {device.name for device in self.devices if device.kind == "cpu"}
        return sum(layer.device not in host for layer in self.layers)

    @property
    def layers_total(self) -> int:
        """Return how many layers there are, the output included."""
        return len(self.layers)

    def rate_at(self, depth: int) -> RatePoint | None:
        """Return the prediction at a depth, between the points of the curve by time per token."""
        if not self.curve:
            return None
        depths = [point.depth for point in self.curve]
        index = bisect_right(depths, depth)
        if index == 0:
            return self.curve[0]
        if index == len(depths):
            return self.curve[-1]
        before, after = self.curve[index - 1], self.curve[index]
        share = (depth - before.depth) / (after.depth - before.depth)
        return RatePoint(
            depth=depth,
            bytes_per_token=round(
                before.bytes_per_token + share * (after.bytes_per_token - before.bytes_per_token)
            ),
            ceiling=_between(before.ceiling, after.ceiling, share),
            low=_between(before.low, after.low, share),
            high=_between(before.high, after.high, share),
            likely_low=_between(before.likely_low, after.likely_low, share),
        )


def _between(first: float | None, second: float | None, share: float) -> float | None:
    """Return the rate between two; times add up along the depth, rates don't."""
    if not first or not second:
        return None
    return 1.0 / (1.0 / first + share * (1.0 / second - 1.0 / first))
