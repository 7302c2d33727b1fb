"""What a family of architectures declares: a model of odd sizes, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.helpers.gguf_bytes import GgufBuilder

__all__ = ["Family"]

_ROW: Final = 32  # of a Q8_0 block
_PLAIN: Final = (
    "norm",
    "conv",
    "ssm_a",
    "gate_inp",
    "token_types",
    "lerp",
    "sinks",
    "time_mix_r_k",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A model without weights.

    ``keys`` are metadata with their types, those of the architecture without its name before
    them. ``outer`` are tensors outside the layers, ``layers`` those of each layer; a decoder's or
    encoder's begin with ``dec.`` or ``enc.``.
    """

    architecture: str
    keys: Mapping[str, tuple[str, Any]]
    outer: Mapping[str, tuple[int, ...]]
    layers: Sequence[Mapping[str, tuple[int, ...]]]

    def builder(self) -> GgufBuilder:
        """Return the file's builder; matrices are Q8_0 where their rows allow it."""
        out = GgufBuilder()
        out.text("general.architecture", self.architecture).text("general.name", "Shape")
        out.text("tokenizer.ggml.model", "no_vocab")
        for name, (kind, value) in self.keys.items():
            whole = name if name.startswith("tokenizer.") else f"{self.architecture}.{name}"
            out.key(whole, kind, value)
        for name, shape in self.outer.items():
            out.tensor(name, shape, _kind(name, shape))
        for layer, tensors in enumerate(self.layers):
            for name, shape in tensors.items():
                side = name[:4] if name.startswith(("enc.", "dec.")) else ""
                rest = name.removeprefix(side)
                out.tensor(f"{side}blk.{layer}.{rest}", shape, _kind(rest, shape))
        return out


def _kind(name: str, shape: tuple[int, ...]) -> str:
    plain = any(part in name for part in _PLAIN) or not name.endswith("weight")
    return "F32" if plain or len(shape) < 2 or shape[0] % _ROW else "Q8_0"
