"""What the worker says."""

from __future__ import annotations

from typing import Literal, TypeAlias

from app.engine.protocol.values import (
    DeviceInfo,
    EngineBuffer,
    FailureKind,
    ModelInfo,
    PromptFit,
    RemoteInfo,
    StopReason,
    Tuning,
    Value,
)
from inspector.compare.records import TokenDifference
from inspector.records import TurnStats

__all__ = [
    "Benched",
    "Chunk",
    "Counted",
    "Done",
    "DryRan",
    "EngineMessage",
    "Failed",
    "Hello",
    "Loaded",
    "Measured",
    "MemoryNow",
    "Progress",
    "Quantized",
    "Rendered",
    "ReplyDone",
    "Scored",
    "Started",
    "TuneRow",
    "Tuned",
    "Unloaded",
    "is_final",
]


class Hello(Value, frozen=True, kw_only=True, tag="hello"):
    """First message of a worker. ``remotes`` are the servers it was told to use."""

    protocol: int
    pid: int
    engine: str
    devices: tuple[DeviceInfo, ...]
    system_info: str
    cpu: str
    remotes: tuple[RemoteInfo, ...] = ()


class Progress(Value, frozen=True, kw_only=True, tag="progress"):
    """Of a load or of making a variant (fraction only), of a prefill or a text (with tokens)."""

    id: int
    phase: Literal["load", "prefill", "score", "quantize", "tune"]
    fraction: float
    done_tokens: int = 0
    total_tokens: int = 0


class Loaded(Value, frozen=True, kw_only=True, tag="loaded"):
    """Final."""

    id: int
    model: ModelInfo


class DryRan(Value, frozen=True, kw_only=True, tag="dry_ran"):
    """Final. In ``buffers`` ``what`` is weights, cache (KV and state), compute or output.

    ``exact`` False: sizes come from the log, to 0.01 MiB, without weights, and the caches of all
    devices together (``device`` empty).
    """

    id: int
    n_ctx: int
    buffers: tuple[EngineBuffer, ...]
    exact: bool
    seconds: float


class Unloaded(Value, frozen=True, kw_only=True, tag="unloaded"):
    """Final."""

    id: int


class Counted(Value, frozen=True, kw_only=True, tag="counted"):
    """Final."""

    id: int
    tokens: int


class Measured(Value, frozen=True, kw_only=True, tag="measured"):
    """Final. ``reusable_tokens`` lie in the cache already."""

    id: int
    fit: PromptFit
    reusable_tokens: int


class Rendered(Value, frozen=True, kw_only=True, tag="rendered"):
    """Final. ``text`` is the prompt with its special tokens spelled out."""

    id: int
    text: str
    tokens: int
    fit: PromptFit


class Started(Value, frozen=True, kw_only=True, tag="started"):
    """A reply begins: what is sent, and what of it is in the cache.

    ``first_difference`` is the position at which the prompt leaves the cached tokens, None if the
    cache was empty or is a prefix of the prompt; ``reuse_note`` says why less was reused.
    """

    id: int
    conversation: str
    fit: PromptFit
    reused_tokens: int
    new_tokens: int
    first_difference: int | None = None
    reuse_note: str | None = None


class Chunk(Value, frozen=True, kw_only=True, tag="chunk"):
    """Text of a reply since the last chunk; whole characters only.

    ``reply`` counts from 0 where several are written at once.
    """

    id: int
    conversation: str
    reply: int = 0
    answer: str = ""
    reasoning: str = ""
    reply_tokens: int = 0
    reasoning_tokens: int = 0
    decode_per_s: float | None = None


class MemoryNow(Value, frozen=True, kw_only=True, tag="memory_now"):
    """Final. ``private_bytes`` are the worker's own, ``mapped_bytes`` file pages in memory."""

    id: int
    devices: tuple[DeviceInfo, ...]
    private_bytes: int | None
    mapped_bytes: int | None


class Benched(Value, frozen=True, kw_only=True, tag="benched"):
    """Final: seconds of each repeat, for the tokens of all sequences together."""

    id: int
    seconds: tuple[float, ...]


class ReplyDone(Value, frozen=True, kw_only=True, tag="reply_done"):
    """One of several replies has ended; the request's `Done` tells of the first one, last."""

    id: int
    conversation: str
    reply: int
    stop: StopReason
    stop_detail: str | None
    stats: TurnStats
    reasoning_open: bool = False


class Scored(Value, frozen=True, kw_only=True, tag="scored"):
    """Final: how well a text was foreseen, one entry for each token that counts.

    ``nll`` is the surprise at the token that really came, in nats; ``kl`` the Kullback-Leibler
    divergence from the reference's expectation, and ``same_top`` whether both expect the same
    token most, both empty without one. ``comparable`` False means that the reference cuts the text
    into other tokens. ``text_bytes`` are the bytes of the tokens that count.
    """

    id: int
    text_tokens: int
    chunk_tokens: int
    chunks: int
    nll: tuple[float, ...]
    kl: tuple[float, ...] = ()
    same_top: tuple[bool, ...] = ()
    comparable: bool = True
    text_bytes: int = 0
    worst: tuple[TokenDifference, ...] = ()
    seconds: float = 0.0


class TuneRow(Value, frozen=True, kw_only=True):
    """Tokens per second behind ``depth`` cached ones, by the defaults and by what was chosen.

    Medians of passes that were measured in turn; equal where nothing was better.
    """

    test: Literal["prefill", "decode"]
    depth: int
    before: float
    after: float


class Tuned(Value, frozen=True, kw_only=True, tag="tuned"):
    """Final. ``after`` is in use; ``before`` is what the options come to by themselves.

    ``note`` says why something was not measured, empty if everything was. ``model`` is the model
    as it runs now.
    """

    id: int
    before: Tuning
    after: Tuning
    model: ModelInfo
    rows: tuple[TuneRow, ...] = ()
    seconds: float = 0.0
    note: str = ""


class Quantized(Value, frozen=True, kw_only=True, tag="quantized"):
    """Final."""

    id: int
    file_bytes: int
    seconds: float


class Done(Value, frozen=True, kw_only=True, tag="done"):
    """Final: why the reply ended and what was measured."""

    id: int
    conversation: str
    stop: StopReason
    stop_detail: str | None
    stats: TurnStats
    reasoning_open: bool = False  # the reply ended inside its reasoning


class Failed(Value, frozen=True, kw_only=True, tag="failed"):
    """Final: one clear sentence, what helps, and the engine's own last words."""

    id: int
    kind: FailureKind
    message: str
    advice: tuple[str, ...] = ()
    detail: str = ""
    fit: PromptFit | None = None


EngineMessage: TypeAlias = (
    Hello
    | Progress
    | Loaded
    | DryRan
    | Unloaded
    | Counted
    | Measured
    | Rendered
    | MemoryNow
    | Benched
    | Scored
    | Quantized
    | Tuned
    | Started
    | Chunk
    | ReplyDone
    | Done
    | Failed
)

_FINAL = (
    Loaded,
    DryRan,
    Unloaded,
    Counted,
    Measured,
    Rendered,
    MemoryNow,
    Benched,
    Scored,
    Quantized,
    Tuned,
    Done,
    Failed,
)


def is_final(message: EngineMessage) -> bool:
    """Tell whether a request is answered with this message."""
    return isinstance(message, _FINAL)
