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
    "QueryMemory",
    "Render",
    "Request",
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
    for as many.
    """

    id: int
    test: Literal["prefill", "decode"]
    depth: int
    tokens: int
    sequences: int = 1
    repeat: int = 3


class Cancel(Value, frozen=True, kw_only=True, tag="cancel"):
    """Stop the request ``target``; it still sends its final message."""

    id: int
    target: int


class Fault(Value, frozen=True, kw_only=True, tag="fault"):
    """Make the worker misbehave at a phase; honoured only with PLIMSOLL_FAULTS=1 (tests)."""

    id: int
    signal: Literal["SIGKILL", "SIGSEGV", "SIGILL", "SIGABRT", "hang", "oom"]
    phase: Literal["now", "load", "prefill", "decode"]
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
    | Cancel
    | Fault
)
