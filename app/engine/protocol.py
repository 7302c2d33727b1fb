"""What the window's side and the worker's side say to each other: the only thing they share.

One JSON object a line, UTF-8, bytes split at newlines before anything is decoded. The worker
speaks first (`Hello`). Every request carries an id and is answered by messages with the same id,
the last of which is final (`is_final`). One request that uses the model runs at a time; a second
one is refused with ``Failed(kind="busy")``, while `CountTokens`, `QueryMemory` and `Cancel` are
served at once.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from inspector.records import TurnStats

__all__ = [
    "MAX_LINE_BYTES",
    "PROTOCOL_VERSION",
    "Bench",
    "Benched",
    "Cancel",
    "ChatMessage",
    "ChatPrompt",
    "Chunk",
    "CountTokens",
    "Counted",
    "DeviceInfo",
    "Done",
    "DryRan",
    "DryRun",
    "EngineBuffer",
    "EngineMessage",
    "Failed",
    "Fault",
    "Generate",
    "Hello",
    "LineSplitter",
    "Load",
    "LoadOptions",
    "Loaded",
    "Measure",
    "Measured",
    "MemoryNow",
    "ModelInfo",
    "Progress",
    "PromptFit",
    "ProtocolError",
    "QueryMemory",
    "Render",
    "Rendered",
    "Request",
    "SamplingOptions",
    "Started",
    "StopReason",
    "Unload",
    "Unloaded",
    "decode_message",
    "decode_request",
    "encode_line",
    "is_final",
]

PROTOCOL_VERSION: Final = 1
MAX_LINE_BYTES: Final = 32 * 1024 * 1024

FlashAttention: TypeAlias = Literal["auto", "on", "off"]
FailureKind: TypeAlias = Literal[
    "busy",
    "cancelled",
    "no_model",
    "bad_request",
    "bad_model",
    "bad_template",
    "does_not_fit",
    "out_of_memory",
    "engine",
]
StopReason: TypeAlias = Literal[
    "end_of_turn",  # the model ended its turn
    "stop_string",
    "token_limit",
    "context_full",
    "stopped",  # the user
    "role_marker",  # the model began to speak for somebody else
]


class _Base(msgspec.Struct, frozen=True, kw_only=True):
    pass


class LoadOptions(_Base, frozen=True, kw_only=True):
    """How a model is loaded. None leaves the choice to the program, which reports what it took."""

    n_ctx: int | None = None
    gpu_layers: int = -1  # -1: all
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attention: FlashAttention = "auto"
    n_batch: int = 512
    n_ubatch: int = 512
    threads: int | None = None
    threads_batch: int | None = None
    mmap: bool = True
    mlock: bool = False
    swa_full: bool = False
    sequences: int = 1
    unified: bool | None = None  # one cache for all sequences; None: if there are several
    compatibility: bool = False  # use_extra_bufts off: no AMX, no repacked kernels
    template: str | None = None  # name of a built-in chat template, in place of the file's


class SamplingOptions(_Base, frozen=True, kw_only=True):
    """The sampler chain and the limits of one reply. Neutral values switch a sampler off."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical_p: float = 1.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = -1
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    grammar: str | None = None
    json_schema: str | None = None
    ignore_eos: bool = False


class ChatMessage(_Base, frozen=True, kw_only=True):
    """One message as the template gets it. ``id`` is the caller's and comes back in `PromptFit`."""

    id: str
    role: Literal["system", "user", "assistant"]
    content: str
    reasoning: str | None = None


class ChatPrompt(_Base, frozen=True, kw_only=True):
    """A conversation to be rendered.

    ``keep_from`` is the first message that the last trim kept (trimming goes in steps, so that
    most turns reuse the prefix). ``trim`` False refuses instead of leaving turns out.
    ``continue_reply`` leaves the last assistant message open. ``now`` (ISO 8601) is what the
    template is told the time is: pinned per conversation, or the prefix would change every turn.
    """

    messages: tuple[ChatMessage, ...]
    keep_from: str | None = None
    trim: bool = True
    continue_reply: bool = False
    now: str | None = None
    thinking: bool | None = None


class PromptFit(_Base, frozen=True, kw_only=True):
    """How a prompt fits the window. ``problem`` set means that nothing can be sent."""

    n_ctx: int
    prompt_tokens: int
    system_tokens: int = 0
    reply_room_tokens: int = 0
    dropped: tuple[str, ...] = ()
    dropped_tokens: int = 0
    keep_from: str | None = None
    problem: Literal["system_too_long", "message_too_long", "does_not_fit"] | None = None
    needed_tokens: int = 0


class DeviceInfo(_Base, frozen=True, kw_only=True):
    """A device as llama.cpp reports it."""

    name: str
    description: str
    kind: Literal["cpu", "gpu", "igpu", "accel"]
    backend: str
    total_bytes: int | None
    free_bytes: int | None


class EngineBuffer(_Base, frozen=True, kw_only=True):
    """One buffer line of the load log. ``what`` is weights, kv, state, compute or output."""

    device: str
    what: str
    size_bytes: int


class ModelInfo(_Base, frozen=True, kw_only=True):
    """What was loaded, and what llama.cpp made of the options."""

    path: str
    name: str
    architecture: str
    description: str
    size_bytes: int
    parameters: int
    n_ctx: int
    n_ctx_train: int
    n_batch: int
    n_ubatch: int
    n_vocab: int
    layers: int
    layers_offloaded: int
    layers_total: int
    type_k: str
    type_v: str
    flash_attention: bool | None
    swa_window: int
    swa_full: bool
    mmap: bool
    threads: int
    threads_batch: int
    compatibility: bool
    memory: Literal["plain", "sliding", "recurrent", "hybrid", "none"]
    template: str  # "file", or the name of the built-in one
    template_notice: str | None
    thinking: bool  # the template knows a switch for reasoning
    devices: tuple[DeviceInfo, ...]
    buffers: tuple[EngineBuffer, ...]
    load_s: float
    notices: tuple[str, ...] = ()


# --- requests -------------------------------------------------------------------------------


class Load(_Base, frozen=True, kw_only=True, tag="load"):
    """Load a model, after unloading the one before."""

    id: int
    path: str
    options: LoadOptions = LoadOptions()


class DryRun(_Base, frozen=True, kw_only=True, tag="dry_run"):
    """Tell what a load would allocate, without loading; a loaded model stays."""

    id: int
    path: str
    options: LoadOptions = LoadOptions()


class Unload(_Base, frozen=True, kw_only=True, tag="unload"):
    """Free the model."""

    id: int


class CountTokens(_Base, frozen=True, kw_only=True, tag="count"):
    """Count the tokens of a text as message content."""

    id: int
    text: str


class Measure(_Base, frozen=True, kw_only=True, tag="measure"):
    """Say how a conversation fits, without evaluating it."""

    id: int
    chat: ChatPrompt
    max_tokens: int | None = None


class Render(_Base, frozen=True, kw_only=True, tag="render"):
    """Return exactly what the model would get."""

    id: int
    chat: ChatPrompt
    max_tokens: int | None = None


class Generate(_Base, frozen=True, kw_only=True, tag="generate"):
    """Answer a conversation. ``conversation`` keeps late chunks out of other chats."""

    id: int
    conversation: str
    chat: ChatPrompt
    sampling: SamplingOptions = SamplingOptions()


class QueryMemory(_Base, frozen=True, kw_only=True, tag="memory"):
    """Say what memory the devices have now; answered between tokens too."""

    id: int


class Bench(_Base, frozen=True, kw_only=True, tag="bench"):
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


class Cancel(_Base, frozen=True, kw_only=True, tag="cancel"):
    """Stop the request ``target``; it still sends its final message."""

    id: int
    target: int


class Fault(_Base, frozen=True, kw_only=True, tag="fault"):
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


# --- answers --------------------------------------------------------------------------------


class Hello(_Base, frozen=True, kw_only=True, tag="hello"):
    """First message of a worker."""

    protocol: int
    pid: int
    engine: str
    devices: tuple[DeviceInfo, ...]
    system_info: str
    cpu: str


class Progress(_Base, frozen=True, kw_only=True, tag="progress"):
    """Of a load (fraction only) or of a prefill (with tokens)."""

    id: int
    phase: Literal["load", "prefill"]
    fraction: float
    done_tokens: int = 0
    total_tokens: int = 0


class Loaded(_Base, frozen=True, kw_only=True, tag="loaded"):
    """Final."""

    id: int
    model: ModelInfo


class DryRan(_Base, frozen=True, kw_only=True, tag="dry_ran"):
    """Final. In ``buffers`` ``what`` is weights, cache (KV and state), compute or output.

    ``exact`` False: sizes come from the log, to 0.01 MiB, without weights, and the caches of all
    devices together (``device`` empty).
    """

    id: int
    n_ctx: int
    buffers: tuple[EngineBuffer, ...]
    exact: bool
    seconds: float


class Unloaded(_Base, frozen=True, kw_only=True, tag="unloaded"):
    """Final."""

    id: int


class Counted(_Base, frozen=True, kw_only=True, tag="counted"):
    """Final."""

    id: int
    tokens: int


class Measured(_Base, frozen=True, kw_only=True, tag="measured"):
    """Final. ``reusable_tokens`` lie in the cache already."""

    id: int
    fit: PromptFit
    reusable_tokens: int


class Rendered(_Base, frozen=True, kw_only=True, tag="rendered"):
    """Final. ``text`` is the prompt with its special tokens spelled out."""

    id: int
    text: str
    tokens: int
    fit: PromptFit


class Started(_Base, frozen=True, kw_only=True, tag="started"):
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


class Chunk(_Base, frozen=True, kw_only=True, tag="chunk"):
    """Text of a reply since the last chunk; whole characters only."""

    id: int
    conversation: str
    answer: str = ""
    reasoning: str = ""
    reply_tokens: int = 0
    reasoning_tokens: int = 0
    decode_per_s: float | None = None


class MemoryNow(_Base, frozen=True, kw_only=True, tag="memory_now"):
    """Final. ``private_bytes`` are the worker's own, ``mapped_bytes`` file pages in memory."""

    id: int
    devices: tuple[DeviceInfo, ...]
    private_bytes: int | None
    mapped_bytes: int | None


class Benched(_Base, frozen=True, kw_only=True, tag="benched"):
    """Final: seconds of each repeat, for the tokens of all sequences together."""

    id: int
    seconds: tuple[float, ...]


class Done(_Base, frozen=True, kw_only=True, tag="done"):
    """Final: why the reply ended and what was measured."""

    id: int
    conversation: str
    stop: StopReason
    stop_detail: str | None
    stats: TurnStats
    reasoning_open: bool = False  # the reply ended inside its reasoning


class Failed(_Base, frozen=True, kw_only=True, tag="failed"):
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
    | Started
    | Chunk
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
    Done,
    Failed,
)


def is_final(message: EngineMessage) -> bool:
    """Tell whether a request is answered with this message."""
    return isinstance(message, _FINAL)


# --- lines ----------------------------------------------------------------------------------


class ProtocolError(Exception):
    """A line that is no message of this protocol, or is too long."""


_encoder = msgspec.json.Encoder()
_request_decoder = msgspec.json.Decoder(Request)
_message_decoder = msgspec.json.Decoder(EngineMessage)


def encode_line(message: Request | EngineMessage) -> bytes:
    """Return a message as one line.

    Raises:
        ProtocolError: the line is longer than `MAX_LINE_BYTES`.
    """
    line = _encoder.encode(message) + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(f"a message of {len(line)} bytes is over {MAX_LINE_BYTES}")
    return line


def decode_request(line: bytes) -> Request:
    """Return the request on a line.

    Raises:
        ProtocolError: it is none.
    """
    try:
        return _request_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a request: {error}") from error


def decode_message(line: bytes) -> EngineMessage:
    """Return the worker's message on a line.

    Raises:
        ProtocolError: it is none.
    """
    try:
        return _message_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a message: {error}") from error


class LineSplitter:
    """Cuts a byte stream into lines; a character or a line may span reads."""

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines completed by ``data``, without their newlines.

        Raises:
            ProtocolError: a line passes the limit; the stream can't be trusted after that.
        """
        if b"\n" not in data:
            self._hold(data)
            return []
        head, *middle, tail = data.split(b"\n")
        self._hold(head)
        lines = [b"".join(self._parts), *middle]
        self._parts = []
        self._held_bytes = 0
        self._hold(tail)
        return [line for line in lines if line]

    def _hold(self, data: bytes) -> None:
        self._held_bytes += len(data)
        if self._held_bytes > self._limit_bytes:
            raise ProtocolError(f"a line is longer than {self._limit_bytes} bytes")
        if data:
            self._parts.append(data)
