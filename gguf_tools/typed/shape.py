"""Widths of a typed model: those with which its parameters add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from gguf_tools.typed.model import TypedModel, TypedModelError
from gguf_tools.units import counted, format_count

__all__ = ["TypedShape", "solve"]

_LARGE: Final = 2_000_000_000  # smaller models share one table for input and output
_LARGE_VOCABULARY: Final = 128_256
_SMALL_VOCABULARY: Final = 49_152


@dataclass(frozen=True, slots=True)
class TypedShape:
    """Widths and counts; ``feed_forward`` is of each layer, zeros where there are experts."""

    embedding: int
    heads: int
    vocabulary: int
    tied: bool
    feed_forward: tuple[int, ...]
    expert_feed_forward: int


def solve(model: TypedModel) -> TypedShape:
    """Return the shape that the figures make.

    Raises:
        TypedModelError: they make none.
    """
    large = model.parameters >= _LARGE
    vocabulary = model.vocabulary or (_LARGE_VOCABULARY if large else _SMALL_VOCABULARY)
    tables = 1 if not large else 2
    kv_width = model.kv_heads * model.head_length
    if model.experts:
        return _solve_experts(model, vocabulary, tables, kv_width)
    # A layer has 2 E Q (Q the width of all heads) of queries and outputs, 2 E KV of keys and
    # values, and 3 E F of feed-forward; with Q = E and F = 3.5 E the parameters give E.
    per_square = model.layers * (2.0 + 10.5)
    per_one = model.layers * 2.0 * kv_width + tables * vocabulary
    embedding, heads = _embedding(model, per_square, per_one, model.parameters, squares=12.5)
    fixed = (
        tables * vocabulary * embedding
        + (2 * model.layers + 1) * embedding
        + model.layers * 2 * embedding * (heads * model.head_length + kv_width)
    )
    rest = model.parameters - fixed
    widths = _spread(rest / (3 * embedding * model.layers), model.layers)
    if not widths or min(widths) <= 0:
        raise _no_room(model)
    return TypedShape(embedding, heads, vocabulary, tables == 1, widths, 0)


def _solve_experts(model: TypedModel, vocabulary: int, tables: int, kv_width: int) -> TypedShape:
    """Return the shape of a mixture: what a token leaves out is experts, the rest is dense."""
    idle = 1 - model.experts_used / model.experts
    expert_parameters = (
        (model.parameters - model.parameters_active) / idle if idle else model.parameters * 0.95
    )
    dense = model.parameters - expert_parameters
    per_one = model.layers * (2.0 * kv_width + model.experts) + tables * vocabulary
    if dense <= 0:
        raise TypedModelError(
            f"{format_count(model.parameters_active)} active of "
            f"{format_count(model.parameters)} parameters don't go with {model.experts_used:,} "
            f"of {model.experts:,} experts: type more active parameters."
        )
    near, _ = _embedding(model, model.layers * 2.0, per_one, dense, squares=2.0)

    def shape_of(embedding: int) -> tuple[float, TypedShape]:
        """Return how far a width misses both sums, and the shape that it gives."""
        heads = _heads(model, embedding)
        inner = expert_parameters / (3 * model.layers * model.experts * embedding)
        # Rows of whole blocks, or else the quantiser would fall back to larger types.
        width = _round_to(inner, 256 if inner >= 384 else 64)
        experts = 3 * model.layers * model.experts * embedding * width
        own = per_one * embedding + 2 * model.layers * embedding * heads * model.head_length
        off = abs(experts + own - model.parameters) / model.parameters
        blank = (0,) * model.layers
        shape = TypedShape(embedding, heads, vocabulary, tables == 1, blank, width)
        return off + abs(own - dense) / model.parameters, shape

    # Widths come in steps, so the best of the widths around decides.
    step = 256 if near >= 1024 else 64
    around = range(max(near * 2 // 3, step) // step * step, near * 3 // 2, step)
    found = [shape_of(width) for width in around]
    best = min(found, key=lambda item: item[0])[1]
    if best.expert_feed_forward <= 0:
        raise _no_room(model)
    return best


def _embedding(
    model: TypedModel, per_square: float, per_one: float, parameters: float, *, squares: float
) -> tuple[int, int]:
    """Return embedding length and heads: the root of ``a E² + b E = parameters``."""
    if model.heads:
        # The width of the heads is known, so attention grows with E and not with its square.
        known = model.layers * 2.0 * model.heads * model.head_length
        per_square, per_one = per_square * (squares - 2.0) / squares, per_one + known
    if per_square:
        root = math.sqrt(per_one**2 + 4 * per_square * parameters)
        exact = (root - per_one) / (2 * per_square)
    else:
        exact = parameters / per_one
    step = 256 if exact >= 1024 else 64
    embedding = _round_to(exact, step)
    if embedding <= 0:
        raise _no_room(model)
    return embedding, _heads(model, embedding)


def _heads(model: TypedModel, embedding: int) -> int:
    """Return the heads: as typed, else as many as make up the width, the same for each KV head."""
    if model.heads:
        return model.heads
    groups = max(round(embedding / (model.head_length * model.kv_heads)), 1)
    return groups * model.kv_heads


def _round_to(value: float, step: int) -> int:
    """Return the multiple of ``step`` that is nearest to ``value``."""
    return round(value / step) * step


def _spread(mean: float, layers: int) -> tuple[int, ...]:
    """Return a width for each layer, multiples of a block, that add up to ``mean`` a layer."""
    step = 256 if mean >= 2048 else 64
    units = round(mean * layers / step)
    each, more = divmod(units, layers)
    return tuple((each + (layer < more)) * step for layer in range(layers))


def _no_room(model: TypedModel) -> TypedModelError:
    return TypedModelError(
        f"{format_count(model.parameters)} parameters leave no room for "
        f"{counted(model.layers, 'layer')} of {counted(model.kv_heads, 'KV head')} of "
        f"{model.head_length:,}: type more parameters or fewer "
        "layers."
    )
