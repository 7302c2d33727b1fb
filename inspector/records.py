"""What was measured and on what, with nothing derived stored: rates are computed where shown.

A rate is only as honest as its numerator. Prefill counts tokens that were really evaluated, never
those found in the cache; decode starts after the first token, so that neither loading nor prefill
leaks into it; a rate of fewer than two tokens or of no time is unknown, not zero or infinite.

Records are JSON by msgspec. They carry the identity of engine build, computer, model and settings,
so that a turn can be read, replayed and compared years later without the model or the machine. A
field added later has a default, so that old records stay readable.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias, TypeVar

import msgspec

from inspector.judged import Judged
from inspector.plan_record import PlanRecord, SettingsRecord

__all__ = [
    "BandwidthRecord",
    "BenchRecord",
    "BenchRow",
    "BufferRecord",
    "DeviceSample",
    "Identity",
    "LoadRecord",
    "MemorySample",
    "SettingsRecord",
    "TurnPart",
    "TurnRecord",
    "TurnStats",
    "decode_record",
    "encode_record",
]

_STEADY = 0.1  # half width of a probe's middle passes, relative to their median

BufferKind: TypeAlias = Literal["weights", "kv", "state", "compute", "output"]


class TurnPart(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of an earlier part of a reply that was continued, and why it ended."""

    at_ms: int
    stats: TurnStats
    stop: str | None = None


class TurnStats(msgspec.Struct, frozen=True, kw_only=True):
    """Raw measurements of one reply.

    Times are seconds of a monotonic clock in the worker. ``prompt_tokens`` is the whole prompt:
    ``reused_tokens`` of it lay in the KV cache already, ``evaluated_tokens`` went through the
    model. ``decode_s`` runs from the first generated token to the last. ``samples`` are (tokens of
    the reply so far, seconds since its first token), along the reply. ``load_id`` names the
    `LoadRecord` under which the turn ran, ``peak_bytes`` the most private memory that the engine's
    process held in it. Where ``replies_at_once`` were decoded in one batch, ``decode_s`` is this
    reply's own, and the first reply's record has the tokens of all and the time they took. With a
    draft model ``accepted_tokens`` of the ``drafted_tokens`` were right. Of a reply that was
    continued the figures are those of its last part; ``earlier`` has those before, in order.
    ``judged`` is what its decode rate was held against when it ended, None where no bandwidth was
    known then.
    """

    n_ctx: int
    prompt_tokens: int
    reused_tokens: int
    evaluated_tokens: int
    reply_tokens: int
    reasoning_tokens: int = 0
    render_s: float = 0.0
    prefill_s: float = 0.0
    first_token_s: float = 0.0
    decode_s: float = 0.0
    sample_s: float = 0.0
    threads: int = 0
    threads_batch: int = 0
    load_s: float | None = None
    samples: tuple[tuple[int, float], ...] = ()
    peak_bytes: int | None = None
    load_id: str | None = None
    replies_at_once: int = 1
    batch_reply_tokens: int = 0
    batch_decode_s: float = 0.0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    earlier: tuple[TurnPart, ...] = ()
    judged: Judged | None = None

    @property
    def whole_reply_tokens(self) -> int:
        """Tokens of all parts of a reply that was continued; where it was not, its own."""
        return self.reply_tokens + sum(part.stats.reply_tokens for part in self.earlier)

    @property
    def is_alone(self) -> bool:
        """Tell whether each reading of the weights gave one token, as the ceiling assumes."""
        return self.replies_at_once == 1 and not self.drafted_tokens

    @property
    def accepted_share(self) -> float | None:
        """Share of the drafted tokens that were right, 0 to 1, None without a draft."""
        return self.accepted_tokens / self.drafted_tokens if self.drafted_tokens else None

    @property
    def batch_per_s(self) -> float | None:
        """Tokens per second of all replies of a batch together, None if it was one reply."""
        if self.replies_at_once < 2 or self.batch_decode_s <= 0:
            return None
        # The first token of each came out of the prompt's evaluation.
        return max(self.batch_reply_tokens - self.replies_at_once, 0) / self.batch_decode_s

    @property
    def prefill_per_s(self) -> float | None:
        """Evaluated prompt tokens per second, None with fewer than two: that is a decode step."""
        if self.evaluated_tokens < 2 or self.prefill_s <= 0:
            return None
        return self.evaluated_tokens / self.prefill_s

    @property
    def decode_per_s(self) -> float | None:
        """Generated tokens per second after the first, None with fewer than two tokens."""
        if self.reply_tokens < 2 or self.decode_s <= 0:
            return None
        return (self.reply_tokens - 1) / self.decode_s

    @property
    def reused_share(self) -> float | None:
        """Share of the prompt that was found in the cache, 0 to 1."""
        if self.prompt_tokens < 1:
            return None
        return self.reused_tokens / self.prompt_tokens

    @property
    def context_used_tokens(self) -> int:
        """Tokens of the window that the conversation takes after this turn.

        The token that was drawn last is not evaluated where it filled the window: there is no
        room for it.
        """
        used = self.prompt_tokens + self.reply_tokens
        return min(used, self.n_ctx) if self.n_ctx else used

    @property
    def has_read_all(self) -> bool:
        """Tell whether all of the prompt lay in the cache; False if it was stopped before."""
        read = self.reused_tokens + self.evaluated_tokens
        return self.reply_tokens > 0 or read >= self.prompt_tokens

    @property
    def mean_depth_tokens(self) -> int:
        """Tokens in the cache half-way through the reply: where its decode rate belongs."""
        return self.prompt_tokens + self.reply_tokens // 2

    def rates_along(self, least_tokens: int = 16) -> tuple[tuple[int, float], ...]:
        """Return (depth in tokens, tokens per second) over stretches of the reply.

        A stretch has at least ``least_tokens`` tokens; the whole reply is one if it is shorter.
        """
        points: list[tuple[int, float]] = []
        before = (1, 0.0)
        for tokens, seconds in self.samples:
            count, spent = tokens - before[0], seconds - before[1]
            if count >= least_tokens and spent > 0:
                points.append((self.prompt_tokens + before[0] + count // 2, count / spent))
                before = (tokens, seconds)
        whole = self.decode_per_s
        if not points and whole is not None:
            points.append((self.mean_depth_tokens, whole))
        return tuple(points)


class DeviceSample(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one device at one moment; None is unknown.

    ``spilled_bytes`` is what the driver moved to system memory (shared memory on Windows, GTT on
    AMD), where it can be read; ``limited_by`` names what holds its clock down, empty if nothing.
    """

    name: str
    kind: str
    total_bytes: int | None = None
    free_bytes: int | None = None
    spilled_bytes: int | None = None
    limited_by: str = ""


class MemorySample(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the computer's devices and of the engine's process, at ``at_ms`` since 1970.

    ``private_bytes`` are the process's own pages, ``mapped_bytes`` pages of the model's file that
    lie in memory: those are given back whenever another program needs them.
    """

    at_ms: int
    devices: tuple[DeviceSample, ...] = ()
    private_bytes: int | None = None
    mapped_bytes: int | None = None

    def device(self, name: str) -> DeviceSample | None:
        """Return what was seen of a device."""
        return next((item for item in self.devices if item.name == name), None)


class BandwidthRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A read probe of main memory: ``samples`` in bytes per second, one a pass over the buffer.

    ``large_bytes_per_s`` is what a buffer far beyond every cache gave: where the buffer's own
    figure is well above it, the processor's cache holds a model of that size. ``least_bytes_per_s``
    is what memory is known to give in any case: what a reply was decoded at, or a larger buffer
    read at. ``waited`` tells that threads waited for a core meanwhile. ``of_larger`` tells that
    nothing of the size asked for was measured: the processor's cache may give more than this.
    """

    at_ms: int
    threads: int
    buffer_bytes: int
    samples: tuple[float, ...]
    large_bytes_per_s: float | None = None
    least_bytes_per_s: float | None = None
    waited: bool = False
    of_larger: bool = False

    @property
    def bytes_per_s(self) -> float:
        """Return the upper quartile of the passes, or what memory is known to give if that is more.

        Whatever else runs only makes a pass slower, and a ceiling must not be too low.
        """
        return max(self.probed_bytes_per_s, self.least_bytes_per_s or 0.0)

    @property
    def probed_bytes_per_s(self) -> float:
        """Return the upper quartile of the passes alone."""
        ordered = sorted(self.samples)
        return ordered[-1 - len(ordered) // 4]

    @property
    def spread(self) -> float:
        """Return the half width of the middle half of the passes, relative to their median."""
        from statistics import median  # late: an empty window needs none of it

        ordered = sorted(self.samples)
        quarter = len(ordered) // 4
        return (ordered[-1 - quarter] - ordered[quarter]) / 2 / median(ordered)

    @property
    def steady(self) -> bool:
        """Tell whether nothing else ran; if it did, the passes differ and a later probe is better.

        A figure that something better is known of counts as steady.
        """
        known = self.least_bytes_per_s is not None and self.bytes_per_s > self.probed_bytes_per_s
        return known or (self.spread <= _STEADY and not self.waited)

    @property
    def cached(self) -> bool:
        """Tell whether the buffer was read faster than main memory can be."""
        large = self.large_bytes_per_s
        return large is not None and self.bytes_per_s > 1.25 * large


class BufferRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A buffer as the engine's own log gives it (exact to 0.01 MiB)."""

    device: str
    what: BufferKind
    size_bytes: int


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """On what something was measured. ``fingerprint`` is of the model's file."""

    engine: str
    cpu: str = ""
    system_info: str = ""
    machine: str = ""
    program: str = ""
    model_path: str = ""
    model_name: str = ""
    fingerprint: str = ""


class LoadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One load: what was planned, what the engine made of it, memory before and after.

    ``layers_offloaded`` of ``layers_total`` (the output counts as one) are what really lies on
    accelerators. ``flash_attention`` None means that the log didn't say.
    """

    at_ms: int
    identity: Identity
    settings: SettingsRecord
    plan: PlanRecord | None = None
    buffers: tuple[BufferRecord, ...] = ()
    before: MemorySample | None = None
    after: MemorySample | None = None
    load_s: float = 0.0
    layers_offloaded: int = 0
    layers_total: int = 0
    gpu_layers_asked: int = 0
    memory: str = "plain"
    swa_window: int = 0
    n_ctx_train: int = 0
    notices: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return a name that is the same for the same record, wherever it is kept."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation with what it ran on.

    A reply that was continued has a turn for each of its ``parts``, counted from 1 by ``part``.
    """

    at_ms: int
    stats: TurnStats
    conversation: str = ""
    message: str = ""
    model_name: str = ""
    stop: str | None = None
    load: LoadRecord | None = None
    part: int = 1
    parts: int = 1


class BenchRow(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats of one test: ``prefill`` of ``tokens``, or ``decode`` of ``tokens`` at a depth.

    ``samples`` are tokens per second, over all sequences together. Predictions are of the same
    unit; None where a bandwidth is unknown.
    """

    test: Literal["prefill", "decode"]
    depth: int
    sequences: int
    tokens: int
    samples: tuple[float, ...]
    predicted: float | None = None
    predicted_high: float | None = None
    ceiling: float | None = None
    bytes_per_token: int | None = None


class BenchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the benchmark. ``busy`` says what else used the processors, empty if quiet."""

    at_ms: int
    load: LoadRecord
    rows: tuple[BenchRow, ...]
    busy: str = ""
    skipped: tuple[str, ...] = ()


_Record = TypeVar(
    "_Record", LoadRecord, TurnRecord, BenchRecord, BandwidthRecord, TurnStats, MemorySample
)


def encode_record(record: _Record) -> bytes:
    """Return a record as JSON."""
    return msgspec.json.encode(record)


def decode_record(data: bytes, kind: type[_Record]) -> _Record:
    """Return the record that JSON holds.

    Raises:
        ValueError: it holds none of that kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"This is no record: {error}") from error
