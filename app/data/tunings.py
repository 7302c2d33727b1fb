"""How each model runs fastest on this machine, as it was measured at its first load.

Kept in the state file by processor and engine build, then by the model's shape and what the user
asked of its load: files of one shape run alike. What is kept never overrules a setting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from app.data.state import StateFile
from gguf_tools.facts import ModelFacts

__all__ = ["KeptTuning", "Tunings", "model_shape", "tuning_key"]

_MOST: Final = 64
# What of a load changes which way is fastest, or leaves less to choose.
_MATTERS: Final = (
    "compatibility",
    "devices",
    "draft",
    "flash_attention",
    "gpu_layers",
    "n_batch",
    "n_ubatch",
    "sequences",
    "swa_full",
    "tensor_split",
    "threads",
    "threads_batch",
    "type_k",
    "type_v",
)

Outcome: TypeAlias = Literal["kept", "undone", "unfinished"]


class KeptTuning(msgspec.Struct, frozen=True, kw_only=True):
    """What came out for one model.

    ``undone`` means that the user wants the engine's defaults, ``unfinished`` that the engine did
    not live to tell: neither is measured again without being asked.
    """

    outcome: Outcome
    threads: int | None = None
    threads_batch: int | None = None
    flash_attention: Literal["auto", "on", "off"] = "auto"
    n_ubatch: int | None = None


def model_shape(facts: ModelFacts) -> str:
    """Return what tells models apart that may run differently: sizes and types, not weights."""
    shape = {
        "architecture": facts.architecture,
        "layers": facts.layers,
        "embedding": facts.embedding_length,
        "heads": facts.heads,
        "kv_heads": facts.kv_heads,
        "head_length": (facts.key_length, facts.value_length),
        "vocabulary": facts.vocab_size,
        "experts": (facts.experts, facts.experts_used),
        "window": facts.sliding_window,
        "types": {name: share.bytes for name, share in facts.tensor_types.items()},
    }
    return _digest(shape)


def tuning_key(shape: str, options: Mapping[str, Any]) -> str:
    """Return the name under which a tuning is kept.

    Args:
        shape: of `model_shape`.
        options: load options by name, as the user asked for them.
    """
    return f"{shape}-{_digest({name: options.get(name) for name in _MATTERS})}"


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Tunings:
    """What was measured on this machine; ``cpu`` and ``engine`` are those of the worker's hello."""

    def __init__(self, state: StateFile, *, cpu: str, engine: str) -> None:
        self._state = state
        self._name = f"tuning {cpu} | {engine}"

    def get(self, key: str) -> KeptTuning | None:
        """Return what is known of a model, None if it was never measured."""
        return self._all().get(key)

    def keep(self, key: str, tuning: KeptTuning) -> None:
        """Remember what came out; the oldest ones give way."""
        kept = self._all()
        kept.pop(key, None)
        kept[key] = tuning
        while len(kept) > _MOST:
            kept.pop(next(iter(kept)))
        self._write(kept)

    def begin(self, key: str) -> None:
        """Note that a measurement begins; if the engine dies of it, it is not tried again."""
        self.keep(key, KeptTuning(outcome="unfinished"))

    def forget(self, key: str) -> None:
        """Know nothing of a model, so that its next load measures it."""
        kept = self._all()
        if kept.pop(key, None) is not None:
            self._write(kept)

    def _all(self) -> dict[str, KeptTuning]:
        kept = self._state.blob(self._name)
        if kept is None:
            return {}
        try:
            return msgspec.json.decode(kept, type=dict[str, KeptTuning])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}

    def _write(self, kept: dict[str, KeptTuning]) -> None:
        self._state.set_blob(self._name, msgspec.json.encode(kept))
