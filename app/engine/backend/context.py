"""Options as llama.cpp takes them: model and context parameters, all set on purpose.

Defaults of the binding differ from those of llama.cpp's own programs (a full-size sliding-window
cache, no flash attention, logits reserved for a whole batch), so none is left to chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from app.engine.backend.library import AbortFlag, lib
from app.engine.interface import EngineFailure
from app.engine.protocol import LoadOptions
from app.engine.threads import clamp_threads
from gguf_tools.units import counted

__all__ = ["CACHE_TYPES", "Settled", "context_parameters", "model_parameters", "settle"]

# ggml type numbers of the cache types that llama.cpp accepts (ggml/include/ggml.h)
CACHE_TYPES = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
    "bf16": 30,
}
_UNQUANTISED = {"f32", "f16", "bf16"}
_FLASH = {"auto": -1, "off": 0, "on": 1}
_DEFAULT_CONTEXT_TOKENS = 8192
_CONTEXT_STEP = 256


@dataclass(frozen=True, slots=True)
class Settled:
    """Options after llama.cpp's rules, and what was changed to meet them, in sentences."""

    options: LoadOptions
    n_ctx: int
    n_batch: int
    n_ubatch: int
    threads: int
    threads_batch: int
    notices: tuple[str, ...]

    @property
    def outputs(self) -> int:
        """Return the rows of logits that a step can give."""
        return max(self.options.sequences, min(self.options.outputs or 0, self.n_ubatch))


def settle(options: LoadOptions, n_ctx_train: int) -> Settled:
    """Return what will really be asked of llama.cpp.

    Contexts are rounded up to 256 tokens and batches cut to the context as llama.cpp does
    (``src/llama-context.cpp``). A quantised V cache needs flash attention: it is turned on.

    Raises:
        EngineFailure: a cache type that llama.cpp doesn't have.
    """
    notices = []
    for name in (options.type_k, options.type_v):
        if name not in CACHE_TYPES:
            raise EngineFailure(
                "bad_request",
                f"There is no KV cache type {name!r}; use one of {', '.join(CACHE_TYPES)}.",
            )
    if options.type_v not in _UNQUANTISED and options.flash_attention == "off":
        options = msgspec.structs.replace(options, flash_attention="on")
        notices.append(
            f"Flash attention was turned on: a V cache in {options.type_v} can't work without it."
        )
    asked = options.n_ctx
    if asked is None:
        asked = min(n_ctx_train or _DEFAULT_CONTEXT_TOKENS, _DEFAULT_CONTEXT_TOKENS)
    n_ctx = -(-max(asked, 1) // _CONTEXT_STEP) * _CONTEXT_STEP
    if n_ctx_train and n_ctx > n_ctx_train:
        notices.append(
            f"The context of {n_ctx:,} tokens is longer than the {n_ctx_train:,} this model was "
            "trained for; replies get worse beyond that."
        )
    n_batch = max(1, min(options.n_batch, n_ctx))
    n_ubatch = max(1, min(options.n_ubatch, n_batch))
    threads = clamp_threads(options.threads)
    if options.threads is not None and threads != options.threads:
        notices.append(
            f"{counted(threads, 'thread')} {'is' if threads == 1 else 'are'} used: this computer "
            f"has no {options.threads} for the engine."
        )
    return Settled(
        options=options,
        n_ctx=n_ctx,
        n_batch=n_batch,
        n_ubatch=n_ubatch,
        threads=threads,
        threads_batch=clamp_threads(options.threads_batch or options.threads),
        notices=tuple(notices),
    )


def without_quantised_cache(settled: Settled) -> Settled | None:
    """Return the same with an f16 cache, or None if that is what it has."""
    options = settled.options
    if options.type_k in _UNQUANTISED and options.type_v in _UNQUANTISED:
        return None
    notice = (
        f"llama.cpp refused a KV cache of {options.type_k} and {options.type_v} for this model; "
        "f16 is used instead."
    )
    plain = msgspec.structs.replace(options, type_k="f16", type_v="f16")
    return replace(settled, options=plain, notices=(*settled.notices, notice))


def model_parameters(options: LoadOptions, progress: Any) -> Any:
    """Return ``llama_model_params`` for the options."""
    parameters = lib.llama_model_default_params()
    parameters.n_gpu_layers = options.gpu_layers
    if options.mmap:
        parameters.load_mode = (
            lib.LLAMA_LOAD_MODE_MMAP_MLOCK if options.mlock else lib.LLAMA_LOAD_MODE_MMAP
        )
    else:
        parameters.load_mode = (
            lib.LLAMA_LOAD_MODE_MLOCK if options.mlock else lib.LLAMA_LOAD_MODE_NONE
        )
    parameters.use_extra_bufts = not options.compatibility
    parameters.progress_callback = progress
    return parameters


def context_parameters(settled: Settled, abort: AbortFlag) -> Any:
    """Return ``llama_context_params`` for settled options."""
    options = settled.options
    parameters = lib.llama_context_default_params()
    parameters.n_ctx = settled.n_ctx
    parameters.n_batch = settled.n_batch
    parameters.n_ubatch = settled.n_ubatch
    parameters.n_seq_max = options.sequences
    parameters.n_outputs_max = settled.outputs
    parameters.n_threads = settled.threads
    parameters.n_threads_batch = settled.threads_batch
    parameters.flash_attn_type = _FLASH[options.flash_attention]
    parameters.type_k = CACHE_TYPES[options.type_k]
    parameters.type_v = CACHE_TYPES[options.type_v]
    parameters.swa_full = options.swa_full
    unified = options.unified
    parameters.kv_unified = options.sequences > 1 if unified is None else unified
    parameters.no_perf = True
    parameters.abort_callback = abort.callback
    parameters.abort_callback_data = abort.data
    return parameters
