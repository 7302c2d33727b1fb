"""What a family of architectures declares: a model of odd sizes, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.helpers.gguf_bytes import GgufBuilder

__all__ = ["VOCABULARY", "Family", "attention", "base_keys", "feed_forward", "routed"]

VOCABULARY: Final = 1999

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


Shapes: TypeAlias = dict[str, tuple[int, ...]]
Keys: TypeAlias = dict[str, tuple[str, Any]]


def base_keys(
    *,
    layers: int,
    heads: int | Sequence[int],
    kv_heads: int | Sequence[int],
    head: int,
    value: int | None = None,
    width: int = 288,
    hidden: int | Sequence[int] = 608,
    context: int = 65536,
    rope: int | None = None,
) -> Keys:
    """Return the keys that nearly every architecture has.

    Counts are of all layers, or one a layer. ``value``, the length of a value head, and ``rope``
    are ``head`` if not given.
    """
    return {
        "vocab_size": ("u32", VOCABULARY),
        "block_count": ("u32", layers),
        "context_length": ("u32", context),
        "embedding_length": ("u32", width),
        "feed_forward_length": _count(hidden),
        "attention.head_count": _count(heads),
        "attention.head_count_kv": _count(kv_heads),
        "attention.key_length": ("u32", head),
        "attention.value_length": ("u32", head if value is None else value),
        "attention.layer_norm_rms_epsilon": ("f32", 1e-05),
        "attention.layer_norm_epsilon": ("f32", 1e-05),
        "rope.dimension_count": ("u32", head if rope is None else rope),
    }


def _count(value: int | Sequence[int]) -> tuple[str, Any]:
    return ("u32", value) if isinstance(value, int) else ("[i32]", list(value))


def attention(query: int, keys: int, *, width: int = 288) -> Shapes:
    """Return a norm and the four matrices of attention, ``query`` and ``keys`` values wide."""
    return {
        "attn_norm.weight": (width,),
        "attn_q.weight": (width, query),
        "attn_k.weight": (width, keys),
        "attn_v.weight": (width, keys),
        "attn_output.weight": (query, width),
    }


def feed_forward(hidden: int = 608, *, width: int = 288, norm: bool = True) -> Shapes:
    """Return a norm and the three matrices of a gated feed-forward layer."""
    matrices: Shapes = {
        "ffn_gate.weight": (width, hidden),
        "ffn_down.weight": (hidden, width),
        "ffn_up.weight": (width, hidden),
    }
    return {"ffn_norm.weight": (width,), **matrices} if norm else matrices


def routed(hidden: int, count: int, *, width: int = 288, shared: bool = False) -> Shapes:
    """Return a router and ``count`` experts, with one that all tokens use if ``shared``."""
    shapes: Shapes = {
        "ffn_gate_inp.weight": (width, count),
        "ffn_gate_exps.weight": (width, hidden, count),
        "ffn_down_exps.weight": (hidden, width, count),
        "ffn_up_exps.weight": (width, hidden, count),
    }
    if shared:
        shapes |= {
            "ffn_gate_shexp.weight": (width, hidden),
            "ffn_down_shexp.weight": (hidden, width),
            "ffn_up_shexp.weight": (width, hidden),
        }
    return shapes


def _kind(name: str, shape: tuple[int, ...]) -> str:
    plain = any(part in name for part in _PLAIN) or not name.endswith("weight")
    return "F32" if plain or len(shape) < 2 or shape[0] % _ROW else "Q8_0"
