"""What the worker needs of an engine, in primitives.

Everything above them (templates, prefix reuse, trimming, the decode loop, text) is one code for
llama.cpp and for the scripted fake, so a fault found with the fake is a fault of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from app.engine.protocol import (
    DeviceInfo,
    EngineBuffer,
    FailureKind,
    LoadOptions,
    ModelInfo,
    RemoteInfo,
    SamplingOptions,
    Tuning,
)

__all__ = [
    "Aborted",
    "Checkpoint",
    "DryRunResult",
    "Engine",
    "EngineFailure",
    "EngineModel",
    "MemoryKind",
    "QuantizeJob",
    "Sampler",
    "Vocabulary",
]

MemoryKind = Literal["plain", "sliding", "recurrent", "hybrid", "none"]


class EngineFailure(Exception):  # noqa: N818 - named as the message it becomes
    """The engine refused; carries what `Failed` tells: a sentence, advice, its own last words."""

    def __init__(
        self, kind: FailureKind, message: str, advice: Sequence[str] = (), detail: str = ""
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.advice = tuple(advice)
        self.detail = detail


class Aborted(Exception):  # noqa: N818 - not an error: somebody pressed Stop
    """A decode was ended by `EngineModel.abort`."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """State of a memory that can't be cut back, taken when it held ``tokens`` tokens."""

    tokens: int
    data: bytes


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """What a load would allocate; see `protocol.DryRan`."""

    n_ctx: int
    buffers: tuple[EngineBuffer, ...]
    exact: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizeJob:
    """A file to be made of another. ``file_type`` is a number of llama.cpp's ``llama_ftype``.

    ``imatrix`` holds importance by tensor (float32, one value an input and expert), ``metadata``
    what the new file says besides what the old one said.
    """

    source: str
    target: str
    file_type: int
    allow_requantize: bool
    threads: int
    imatrix: Mapping[str, npt.NDArray[np.float32]]
    metadata: Mapping[str, str | int]


class Vocabulary(Protocol):
    """Tokens and texts."""

    @property
    def bos_text(self) -> str:
        """Text of the token that begins a sequence, empty if there is none."""

    @property
    def eos_text(self) -> str:
        """Text of the token that ends a sequence, empty if there is none."""

    @property
    def specials(self) -> Mapping[str, int]:
        """Control and unknown tokens by their text."""

    @property
    def user_defined(self) -> Mapping[str, int]:
        """Tokens that llama.cpp matches in any text, by their text."""

    @property
    def strips_left(self) -> Collection[str]:
        """Those of both that swallow white space before them when a text is tokenised."""

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text; nothing is added at its ends."""

    def with_bos(self, tokens: list[int]) -> list[int]:
        """Return the tokens with exactly one BOS in front if the vocabulary wants one."""

    def piece(self, token: int) -> bytes:
        """Return a token's bytes, special ones spelled out."""

    def is_control(self, token: int) -> bool:
        """Tell whether a token is markup that no reader should see."""

    def is_end(self, token: int) -> bool:
        """Tell whether a token ends a generation (EOS, EOT and those the engine marks)."""


class Sampler(Protocol):
    """Draws tokens from the last batch that was decoded."""

    def sample(self, row: int = -1) -> int:
        """Return the next token and count it as drawn.

        ``row`` is the batch's token whose logits are drawn from, -1 its last one.
        """

    def close(self) -> None:
        """Free the chain."""


class EngineModel(Protocol):
    """A loaded model with one context. A chat is sequence 0; benchmarks and several replies at
    once use more.
    """

    @property
    def info(self) -> ModelInfo:
        """What was loaded and with what."""

    @property
    def vocab(self) -> Vocabulary:
        """Tokens and texts."""

    @property
    def memory(self) -> MemoryKind:
        """How its memory behaves when it is cut back."""

    @property
    def template_source(self) -> str | None:
        """The chat template of the file, None if there is none."""

    def decode(self, tokens: Sequence[int], position: int, sequence: int = 0) -> None:
        """Evaluate tokens (at most ``info.n_ubatch``) at a position; logits of the last one.

        Raises:
            Aborted: `abort` was set; the memory holds less than asked.
            EngineFailure: out of memory, or the engine's error code.
        """

    def decode_each(
        self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int]
    ) -> None:
        """Evaluate one token of each of some sequences in one batch; logits of every row.

        Raises:
            Aborted, EngineFailure: as `decode`.
        """

    def fork(self, count: int) -> None:
        """Let sequences 1 to ``count`` - 1 begin with everything that sequence 0 holds."""

    def drop(self, sequence: int) -> None:
        """Forget a sequence."""

    @property
    def outputs(self) -> int:
        """Rows of logits that one step can give."""

    def logits(self, tokens: Sequence[int], position: int) -> npt.NDArray[np.float32]:
        """Evaluate tokens (at most `outputs`) at a position; return the logits of every one.

        The array (tokens, vocabulary) is the engine's own memory: valid until the next step.

        Raises:
            Aborted, EngineFailure: as `decode`.
        """

    def wait(self) -> None:
        """Return when everything asked so far is computed."""

    def cut(self, tokens: int, sequence: int = 0) -> bool:
        """Forget everything from a position on; False if this memory can't."""

    def oldest_position(self) -> int:
        """Return the lowest position that the memory still holds (sliding windows forget)."""

    def clear(self) -> None:
        """Forget everything."""

    def checkpoint(self, tokens: int) -> Checkpoint | None:
        """Return the state of the part that can't be cut back, None if there is none."""

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Go back to a checkpoint; False if the engine refused."""

    def sampler(self, options: SamplingOptions, context: Sequence[int]) -> Sampler:
        """Build a chain; ``context`` is what penalties look back on.

        Raises:
            EngineFailure: the grammar or the schema is none.
        """

    @property
    def tuning(self) -> Tuning:
        """How it runs now."""

    def retune(self, tuning: Tuning) -> None:
        """Run it another way; `info` says so. What the memory holds may be lost.

        Raises:
            EngineFailure: there is no memory for it; it runs as before.
        """

    def trial(self, tuning: Tuning, n_ctx: int) -> EngineModel | None:
        """Return a second context over the same weights, to measure with; None if it won't fit.

        It is aborted with this model, and must be closed before it.
        """

    def deepen(self, tokens: int) -> int:
        """Fill a trial's memory up to about ``tokens`` by repeating what sequence 0 holds.

        Returns how many it holds then. The next position stays, and attention has as much to read
        as at that depth; what it reads means nothing.
        """

    def abort(self, on: bool) -> None:
        """Make a running `decode` (of another thread) and later ones end early."""

    def close(self) -> None:
        """Free model and context."""


class Engine(Protocol):
    """Loads models."""

    @property
    def name(self) -> str:
        """Identity of the build."""

    @property
    def system_info(self) -> str:
        """Processor features in use."""

    def clock(self) -> float:
        """Return the seconds that measurements are taken with, since any moment."""

    @property
    def remotes(self) -> tuple[RemoteInfo, ...]:
        """Return the servers of other computers that were to be used."""

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return devices with their memory as of now."""

    def load(
        self, path: str, options: LoadOptions, progress: Callable[[float], bool]
    ) -> EngineModel:
        """Load a model; ``progress`` gets 0 to 1 and returns False to give up.

        Raises:
            Aborted: ``progress`` returned False.
            EngineFailure: it can't be loaded.
        """

    def dry_run(self, path: str, options: LoadOptions) -> DryRunResult:
        """Return what a load would allocate, without loading.

        Raises:
            EngineFailure: it can't be loaded.
        """

    def quantize(self, job: QuantizeJob, on_tensor: Callable[[int, int], None]) -> None:
        """Write a variant of a file; ``on_tensor(done, all)`` is called after each tensor.

        Raises:
            EngineFailure: it gave up; the target may be there in part.
        """

    def last_words(self) -> str:
        """Return the last lines of the engine's log."""
