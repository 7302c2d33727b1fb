"""What the worker is asked."""

from __future__ import annotations

from typing import Literal, TypeAlias

from app.engine.protocol.values import ChatPrompt, LoadOptions, SamplingOptions, Value

__all__ = [
    "Bench",
    "Cancel",
    "CountTokens",
    "DryRun",
    "Fault",
    "Generate",
    "Load",
    "Measure",
    "Quantize",
    "QueryMemory",
    "Render",
    "Request",
    "Score",
    "Tune",
    "Unload",
]


class Load(Value, frozen=True, kw_only=True, tag="load"):
    """Load a model, after unloading the one before."""

    id: int
    path: str
    options: LoadOptions = LoadOptions()


class DryRun(Value, frozen=True, kw_only=True, tag="dry_run"):
    """Tell what a load would allocate, without loading; a loaded model stays."""

    id: int
    path: str
    options: LoadOptions = LoadOptions()


class Unload(Value, frozen=True, kw_only=True, tag="unload"):
    """Free the model."""

    id: int


class CountTokens(Value, frozen=True, kw_only=True, tag="count"):
    """Count the tokens of a text as message content."""

    id: int
    text: str


class Measure(Value, frozen=True, kw_only=True, tag="measure"):
    """Say how a conversation fits, without evaluating it."""

    id: int
    chat: ChatPrompt
    max_tokens: int | None = None


class Render(Value, frozen=True, kw_only=True, tag="render"):
    """Return exactly what the model would get."""

    id: int
    chat: ChatPrompt
    max_tokens: int | None = None


class Generate(Value, frozen=True, kw_only=True, tag="generate"):
    """Answer a conversation. ``conversation`` keeps late chunks out of other chats.

    Several ``replies`` are decoded in one batch over the prompt's cache; the model must have been
    loaded for as many sequences.
    """

    id: int
    conversation: str
    chat: ChatPrompt
    sampling: SamplingOptions = SamplingOptions()
    replies: int = 1


class QueryMemory(Value, frozen=True, kw_only=True, tag="memory"):
    """Say what memory the devices have now; answered between tokens too."""

    id: int


class Bench(Value, frozen=True, kw_only=True, tag="bench"):
    """Measure the loaded model: ``tokens`` of prefill or decode behind ``depth`` cached ones.

    Several sequences decode side by side, one token each a step; the model must have been loaded
    for as many. ``keep`` leaves the cache filled up to the depth, for another test right after this
    one at the same depth.
    """

    id: int
    test: Literal["prefill", "decode"]
    depth: int
    tokens: int
    sequences: int = 1
    repeat: int = 3
    keep: bool = False


class Score(Value, frozen=True, kw_only=True, tag="score"):
    """Say how well the loaded model foresees a text, which is cut into chunks.

    The model must have been loaded with ``outputs`` and a context of at least a chunk. ``write``
    names a file that gets what the model expects at each token; ``against`` one that was written
    so by the variant to compare with.
    """

    id: int
    text: str
    chunk_tokens: int = 512
    chunks: int = 8
    write: str | None = None
    against: str | None = None


class Quantize(Value, frozen=True, kw_only=True, tag="quantize"):
    """Make a variant of a model: ``target`` is written, or removed if that fails.

    ``kind`` is a name such as Q4_K_M. It can't be cancelled: end the worker instead.
    """

    id: int
    source: str
    target: str
    kind: str
    allow_requantize: bool = False
    imatrix: str | None = None
    threads: int | None = None


class Tune(Value, frozen=True, kw_only=True, tag="tune"):
    """Find and use what is fastest here of what ``options`` leave to the program.

    It gives way to any request that comes meanwhile. ``options`` are those that the user asked for;
    what they leave open is the engine's default at first, and measured against it for about
    ``budget_s`` seconds. ``measure`` False goes back to those defaults. The cache is empty then.
    """

    id: int
    options: LoadOptions
    budget_s: float = 5.0
    depth: int = 4096
    measure: bool = True


class Cancel(Value, frozen=True, kw_only=True, tag="cancel"):
    """Stop the request ``target``; it still sends its final message."""

    id: int
    target: int


class Fault(Value, frozen=True, kw_only=True, tag="fault"):
    """Make the worker misbehave at a phase; honoured only with PLIMSOLL_FAULTS=1 (tests)."""

    id: int
    signal: Literal["SIGKILL", "SIGSEGV", "SIGILL", "SIGABRT", "hang", "oom"]
    phase: Literal["now", "load", "prefill", "decode", "score", "quantize", "tune"]
    after_tokens: int = 0


Request: TypeAlias = (
    Load
    | DryRun
    | Unload
    | CountTokens
    | QueryMemory
    | Measure
    | Render
    | Generate
    | Bench
    | Score
    | Quantize
    | Tune
    | Cancel
    | Fault
)
