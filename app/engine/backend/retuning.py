"""Contexts of a loaded model that run another way than its first one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import psutil

from app.engine.backend import load_log
from app.engine.backend.context import Settled, context_parameters
from app.engine.backend.library import AbortFlag, NativeLog, lib
from app.engine.protocol import EngineBuffer, ModelInfo, Tuning

__all__ = ["Contexts", "as_settled", "fits", "retuned_info", "trial_settings", "tuning_of"]

_SHARE: Final = 4  # a trial takes at most so small a part of the free memory
_SCORE_BYTES: Final = 4  # of one number of the score matrix without flash attention
_TRIAL_SEQUENCES: Final = 2  # one to measure, one to copy from


def tuning_of(settled: Settled) -> Tuning:
    """Return how a context of these settings runs."""
    return Tuning(
        threads=settled.threads,
        threads_batch=settled.threads_batch,
        flash_attention=settled.options.flash_attention,
        n_ubatch=settled.n_ubatch,
    )


def as_settled(settled: Settled, tuning: Tuning) -> Settled:
    """Return settings that run as a tuning says; the batch grows with the micro-batch."""
    n_ubatch = max(1, min(tuning.n_ubatch, settled.n_ctx))
    return replace(
        settled,
        options=msgspec.structs.replace(settled.options, flash_attention=tuning.flash_attention),
        n_batch=max(settled.n_batch, n_ubatch),
        n_ubatch=n_ubatch,
        threads=tuning.threads,
        threads_batch=tuning.threads_batch,
    )


def trial_settings(settled: Settled, tuning: Tuning, n_ctx: int) -> Settled:
    """Return settings of a small context for measuring."""
    options = msgspec.structs.replace(
        settled.options, sequences=_TRIAL_SEQUENCES, outputs=None, unified=True
    )
    small = replace(settled, options=options, n_ctx=-(-n_ctx // 256) * 256)
    return as_settled(small, tuning)


@dataclass(frozen=True, slots=True)
class Contexts:
    """Makes contexts of one model, and reads what llama.cpp logs of them.

    ``names`` are devices of buffers that are not called by them, see `load_log.buffers`.
    """

    log: NativeLog
    names: Mapping[str, str]
    flag: AbortFlag

    def make(self, model: Any, settled: Settled) -> Any:
        """Return a context, None if there is no room or the model can't run so."""
        self.log.start()
        return lib.llama_init_from_model(model, context_parameters(settled, self.flag)) or None

    def buffers(self) -> tuple[EngineBuffer, ...]:
        """Return the buffers of the context that was made last."""
        return load_log.buffers(self.log.lines(), self.names)

    def flash_attention(self, settled: Settled) -> bool:
        """Tell whether the context that was made last uses flash attention."""
        asked = settled.options.flash_attention != "off"
        return asked and load_log.flash_attention(self.log.lines())


def fits(model: Any, info: ModelInfo, settled: Settled) -> bool:
    """Tell whether a context would take a small part of the memory that is free, at most.

    The estimate is by what the first context took: its cache by token, its compute buffer, and the
    score matrix that flash attention spares.
    """
    kv = sum(item.size_bytes for item in info.buffers if item.what == "kv")
    compute = sum(item.size_bytes for item in info.buffers if item.what == "compute")
    heads = lib.llama_model_n_head(model)
    scores = settled.n_ubatch * settled.n_ctx * heads * _SCORE_BYTES
    needed = kv * settled.n_ctx // max(info.n_ctx, 1) + compute + scores
    available: int = psutil.virtual_memory().available
    return bool(needed <= available // _SHARE)


def retuned_info(info: ModelInfo, settled: Settled, contexts: Contexts | None) -> ModelInfo:
    """Return what is said of a model that runs another way.

    ``contexts`` is what made its new context, None if it has the old one.
    """
    info = msgspec.structs.replace(
        info, threads=settled.threads, threads_batch=settled.threads_batch
    )
    if contexts is None:
        return info
    weights = tuple(item for item in info.buffers if item.what == "weights")
    return msgspec.structs.replace(
        info,
        n_batch=settled.n_batch,
        n_ubatch=settled.n_ubatch,
        flash_attention=contexts.flash_attention(settled),
        buffers=(*weights, *contexts.buffers()),
    )
