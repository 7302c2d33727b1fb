"""What requests and answers are made of: options, prompts, devices, models."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

__all__ = [
    "MAX_LINE_BYTES",
    "PROTOCOL_VERSION",
    "ChatMessage",
    "ChatPrompt",
    "DeviceInfo",
    "EngineBuffer",
    "FailureKind",
    "FlashAttention",
    "LoadOptions",
    "ModelInfo",
    "PromptFit",
    "RemoteInfo",
    "SamplingOptions",
    "StopReason",
    "Tuning",
    "Value",
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


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything that crosses the pipe."""


class LoadOptions(Value, frozen=True, kw_only=True):
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
    outputs: int | None = None  # rows of logits a step can give; None: one a sequence
    draft: str | None = None  # a small model that drafts tokens for this one to check
    draft_tokens: int = 4  # most tokens it drafts a step
    unified: bool | None = None  # one cache for all sequences; None: if there are several
    compatibility: bool = False  # use_extra_bufts off: no AMX, no repacked kernels
    # In that mode, repacked kernels all the same. The worker may die of it: ask again without.
    repack: bool = False
    template: str | None = None  # name of a built-in chat template, in place of the file's
    # Devices that layers are offloaded to, by name or address: "CUDA0,10.0.0.5:50052"; None: all,
    # "none": the processor alone.
    devices: str | None = None
    tensor_split: str | None = None  # parts of the devices, as "3,1"; None: by free memory


class Tuning(Value, frozen=True, kw_only=True):
    """What of a loaded model can be changed without reading its weights again."""

    threads: int  # that write a reply
    threads_batch: int  # that read a prompt
    flash_attention: FlashAttention
    n_ubatch: int


class SamplingOptions(Value, frozen=True, kw_only=True):
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


class ChatMessage(Value, frozen=True, kw_only=True):
    """One message as the template gets it. ``id`` is the caller's and comes back in `PromptFit`."""

    id: str
    role: Literal["system", "user", "assistant"]
    content: str
    reasoning: str | None = None


class ChatPrompt(Value, frozen=True, kw_only=True):
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


class PromptFit(Value, frozen=True, kw_only=True):
    """How a prompt fits the window. ``problem`` set means that nothing can be sent.

    Of the ``dropped`` messages ``leaving`` are left out for the first time: ``keep_from`` of the
    request kept them.
    """

    n_ctx: int
    prompt_tokens: int
    system_tokens: int = 0
    reply_room_tokens: int = 0
    dropped: tuple[str, ...] = ()
    dropped_tokens: int = 0
    leaving: tuple[str, ...] = ()
    leaving_tokens: int = 0
    keep_from: str | None = None
    problem: Literal["system_too_long", "message_too_long", "does_not_fit"] | None = None
    needed_tokens: int = 0


class DeviceInfo(Value, frozen=True, kw_only=True):
    """A device as llama.cpp reports it.

    Of one on another computer (backend "RPC") ``description`` is its address, and the last three
    were measured at the worker's start: the network's round trip (seconds) and bytes per second,
    and what the device read a large matrix at (bytes per second).
    """

    name: str
    description: str
    kind: Literal["cpu", "gpu", "igpu", "accel"]
    backend: str
    total_bytes: int | None
    free_bytes: int | None
    round_trip_s: float | None = None
    link_bytes_per_s: float | None = None
    bandwidth_bytes_per_s: float | None = None


class RemoteInfo(Value, frozen=True, kw_only=True):
    """A server that the worker was told to use: its devices' names, or why it is left out."""

    endpoint: str
    problem: str = ""
    devices: tuple[str, ...] = ()


class EngineBuffer(Value, frozen=True, kw_only=True):
    """One buffer line of the load log. ``what`` is weights, kv, state, compute or output."""

    device: str
    what: str
    size_bytes: int


class ModelInfo(Value, frozen=True, kw_only=True):
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
    devices_used: tuple[str, ...] = ()  # names of those that layers could be offloaded to
    layers_asked: int = 0  # as the options ask for them; all is ``layers_total``
    sequences: int = 1  # replies that it can write at once
    draft: str | None = None  # name of its draft model
    repacked: bool = False  # repacked kernels in compatibility mode
