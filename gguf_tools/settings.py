"""Load settings as a user gives them, and as the engine takes them.

Follows the constructor of ``llama_context`` and ``llama_init_from_model`` in src/llama-context.cpp:
the order of its steps matters, because the batch is cut to the context before that is padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from gguf_tools.hparams import Hyperparameters
from gguf_tools.kv import KvSettings
from gguf_tools.quants import cache_type
from gguf_tools.units import round_up

if TYPE_CHECKING:
    from gguf_tools.facts import ModelFacts

__all__ = [
    "ALL_LAYERS",
    "EngineSettings",
    "FlashAttention",
    "LoadSettings",
    "Refusal",
    "engine_settings",
    "refusal",
]

ALL_LAYERS: Final = -1
_PADDING: Final = 256
_MAX_SEQUENCES: Final = 256  # LLAMA_MAX_SEQ

FlashAttention: TypeAlias = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """What a load is asked for. Defaults are this program's, not the C API's.

    ``context`` 0 means the trained length. ``outputs`` is the number of rows whose logits are
    wanted at once: one a sequence for chatting; 0 means a whole batch, the C API's default.
    ``experts_on_cpu`` keeps the expert tensors of all layers in main memory. ``split`` are the
    parts of the devices, by their free memory if empty. Without ``extra_buffers`` nothing is
    repacked, but with ``repack`` what has kernels other than AMX is (the engine's compatibility
    mode). ``draft`` are the facts of a draft model that is loaded beside this one.
    """

    context: int = 4096
    type_k: str = "f16"
    type_v: str = "f16"
    gpu_layers: int = ALL_LAYERS
    batch: int = 512
    ubatch: int = 512
    sequences: int = 1
    unified: bool = False
    flash_attention: FlashAttention = "auto"
    swa_full: bool = False
    outputs: int | None = None
    snapshots: int = 0
    experts_on_cpu: bool = False
    offload_kv: bool = True
    mmap: bool = True
    extra_buffers: bool = True
    repack: bool = False
    draft: ModelFacts | None = None
    split: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What the engine makes of them. ``context`` is the total, ``context_sequence`` one cache's."""

    context: int
    context_sequence: int
    batch: int
    ubatch: int
    outputs: int
    sequences: int
    streams: int
    flash_attention: bool
    offload_kv: bool
    experts_on_cpu: bool
    kv: KvSettings

    @property
    def prompt_tokens(self) -> int:
        """Return the tokens of the prompt that the compute buffers are reserved for."""
        return min(self.context, self.ubatch)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the engine would not create the context, and the smallest change that helps, if any."""

    text: str
    fix: Literal[
        "flash_on",
        "flash_off",
        "v_f16",
        "kv_f16",
        "kv_same",
        "fewer_sequences",
        "one_sequence",
        "context",
        "none",
    ]


def engine_settings(shape: Hyperparameters, settings: LoadSettings) -> EngineSettings:
    """Return the settings as the engine normalises them.

    Raises:
        ValueError: there is no cache of the type asked for.
    """
    context = settings.context or shape.context_length or _PADDING
    batch = min(context, settings.batch) if shape.causal else settings.batch
    ubatch = min(batch, settings.ubatch or settings.batch)
    sequences = max(1, settings.sequences)
    asked = sequences if settings.outputs is None else settings.outputs
    encoder = shape.architecture in {"t5", "t5encoder"}
    outputs = batch if asked == 0 or encoder else asked
    context = round_up(context, _PADDING)
    one = context
    if not settings.unified:
        one = round_up(context // sequences, _PADDING) or _PADDING
        context = one * sequences
    flash = _flash(shape, settings)
    return EngineSettings(
        context=context,
        context_sequence=one,
        batch=batch,
        ubatch=ubatch,
        outputs=outputs,
        sequences=sequences,
        streams=1 if settings.unified else sequences,
        flash_attention=flash,
        offload_kv=settings.offload_kv,
        experts_on_cpu=settings.experts_on_cpu,
        kv=KvSettings(
            context=one,
            sequences=sequences,
            ubatch=ubatch,
            unified=settings.unified,
            swa_full=settings.swa_full,
            flash_attention=flash,
            type_k=cache_type(settings.type_k),
            type_v=cache_type(settings.type_v),
        ),
    )


def _flash(shape: Hyperparameters, settings: LoadSettings) -> bool:
    """Tell whether attention counts as flash attention; "auto" does when caches are created."""
    return settings.flash_attention != "off" and shape.architecture != "grok"


def refusal(shape: Hyperparameters, settings: LoadSettings) -> Refusal | None:
    """Return why the engine would refuse these settings, None if it takes them.

    Raises:
        ValueError: there is no cache of the type asked for.
    """
    k, v = cache_type(settings.type_k), cache_type(settings.type_v)
    if settings.sequences > _MAX_SEQUENCES:
        return Refusal(
            f"At most {_MAX_SEQUENCES} chats at once fit one context.", "fewer_sequences"
        )
    if not settings.context and not shape.context_length:
        return Refusal("The file doesn't say its context length: choose one.", "context")
    if (shape.mla or shape.architecture == "deepseek4") and k is not v:
        return Refusal("This model needs the same cache type for K and V.", "kv_same")
    flash = _flash(shape, settings)
    if v.quantized and not flash:
        fix: Literal["v_f16", "flash_on"] = "v_f16" if shape.architecture == "grok" else "flash_on"
        return Refusal("A quantised V cache needs flash attention.", fix)
    broken = _aborts(shape, settings, flash=flash, k_block=k.block)
    if broken is not None or not flash:
        return broken
    for kind, letter, length in ((k, "K", shape.head_k), (v, "V", shape.head_v)):
        if not kind.quantized:
            continue
        for layer in range(shape.layers):
            if length(layer) % kind.block:
                return Refusal(
                    f"A {kind.name.lower()} cache needs heads of a multiple of {kind.block}, and "
                    f"this model's {letter} heads have {length(layer)}.",
                    "kv_f16",
                )
    return None


def _shared_caches_match(shape: Hyperparameters) -> bool:
    """Tell whether layers without a cache find one of their kind (``create_memory``).

    A sliding layer reads the last but one that has a cache, a full one the last.
    """
    first = shape.kv_from_start
    for layer in range(max(first, 0), shape.layers_all if first >= 0 else 0):
        held = first - (2 if shape.sliding[layer] else 1)
        if first < 2 or shape.sliding[held] != shape.sliding[layer]:
            return False
    return True


def _aborts(
    shape: Hyperparameters, settings: LoadSettings, *, flash: bool, k_block: int
) -> Refusal | None:
    """Return what the engine doesn't refuse but ends on: assertions of this version."""
    arch = shape.architecture
    if not _shared_caches_match(shape):
        return Refusal(
            "The engine can't share this model's caches: the last layers with caches of their own "
            "are not a sliding one and then a full one.",
            "none",
        )
    if arch == "afmoe" and shape.swa_kind == "none":
        return Refusal("The engine can't run this architecture without sliding windows.", "none")
    if arch in {"t5", "t5encoder"} and settings.sequences > 1 and not settings.unified:
        return Refusal(
            "The engine can't run this architecture with several chats at once.", "one_sequence"
        )
    if arch == "plm" and flash:
        return Refusal("The engine can't run this architecture with flash attention.", "flash_off")
    if not flash and k_block > 1:
        for layer in range(shape.layers):
            if shape.k_width(layer) % k_block:
                return Refusal(
                    f"A quantised K cache needs rows of a multiple of {k_block}, and this model's "
                    f"have {shape.k_width(layer)}.",
                    "kv_f16",
                )
    return None
