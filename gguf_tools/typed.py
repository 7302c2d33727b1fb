"""A model nobody has a file of: typed as parameters, layers, KV heads, head size, quantisation.

From these few figures a header is made whose tensors add up to the parameters, so that a typed
model is planned by the very code that plans a file. What was not typed is filled in by the usual
proportions (those of the Llama 3 family for dense models) and named in ``assumed``.

Which tensor a file type quantises to which type follows ``llama_tensor_get_type`` in
src/llama-quant.cpp.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from gguf_tools.facts import ModelFacts, facts_of
from gguf_tools.header import Header
from gguf_tools.header.raw import RawHeader, RawTensor, RawValue, ValueType
from gguf_tools.quants import TENSOR_TYPES, TensorType
from gguf_tools.units import format_count, round_up

__all__ = ["QUANTIZATIONS", "TypedModel", "TypedModelError", "typed_basis", "typed_facts"]

TypedBasis: TypeAlias = Literal["typed", "assumed"]

_TYPES: Final = {kind.name: kind for kind in TENSOR_TYPES.values()}
_LARGE: Final = 2_000_000_000  # smaller models share one table for input and output
_LARGE_VOCABULARY: Final = 128_256
_SMALL_VOCABULARY: Final = 49_152
_ALIGNMENT: Final = 32
_U32: Final = 4
_F32: Final = 6


class TypedModelError(ValueError):
    """The figures don't make a model; the text is one sentence that says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedModel:
    """A model as a person knows it. What is 0 or None was not typed.

    ``parameters`` are all of them, ``parameters_active`` those that one token uses (only with
    ``experts``). ``quantization`` is one of `QUANTIZATIONS`.
    """

    name: str = ""
    parameters: int
    layers: int
    kv_heads: int
    head_length: int
    quantization: str = "Q4_K_M"
    context_length: int = 131_072
    heads: int = 0
    vocabulary: int = 0
    experts: int = 0
    experts_used: int = 0
    parameters_active: int = 0


@dataclass(frozen=True, slots=True)
class _Mix:
    """Types by role; ``more`` is for the layers that llama.cpp gives more bits."""

    body: str
    output: str = "Q6_K"
    attn_v: str = ""
    attn_v_more: str = ""
    attn_output: str = ""
    ffn_down: str = ""
    ffn_down_more: str = ""
    first_layers: tuple[str, str, int] = ("", "", 1)  # attn_v, ffn_down, in the first 1/n layers


_MIXES: Final[dict[str, _Mix]] = {
    "F32": _Mix("F32", "F32"),
    "F16": _Mix("F16", "F16"),
    "BF16": _Mix("BF16", "BF16"),
    "Q8_0": _Mix("Q8_0", "Q8_0"),
    "Q6_K": _Mix("Q6_K"),
    "Q5_K_M": _Mix("Q5_K", attn_v_more="Q6_K", ffn_down_more="Q6_K"),
    "Q5_K_S": _Mix("Q5_K"),
    "Q5_0": _Mix("Q5_0"),
    "Q4_K_M": _Mix("Q4_K", attn_v_more="Q6_K", ffn_down_more="Q6_K"),
    "Q4_K_S": _Mix("Q4_K", first_layers=("Q5_K", "Q5_K", 8)),
    "Q4_0": _Mix("Q4_0"),
    "Q4_1": _Mix("Q4_1"),
    "IQ4_XS": _Mix("IQ4_XS", attn_v="Q5_K", first_layers=("", "Q5_K", 8)),
    "MXFP4": _Mix("MXFP4", "Q8_0"),
    "Q3_K_L": _Mix("Q3_K", attn_v="Q5_K", attn_output="Q5_K", ffn_down="Q5_K"),
    "Q3_K_M": _Mix(
        "Q3_K",
        attn_v="Q4_K",
        attn_output="Q4_K",
        ffn_down="Q4_K",
        first_layers=("Q5_K", "Q5_K", 16),
    ),
    "Q3_K_S": _Mix("Q3_K"),
    "Q2_K": _Mix("Q2_K", attn_v="Q4_K", attn_output="Q3_K", ffn_down="Q3_K"),
    "Q8": _Mix("Q8_0", "Q8_0"),
    "Q4": _Mix("Q4_0", "Q4_0"),
}

QUANTIZATIONS: Final = tuple(_MIXES)
"""File types that can be typed. "Q4" and "Q8" are the plain 4.5 and 8.5 bits for every weight."""

# Types of large blocks whose rows don't divide fall back (``llama_tensor_get_type``'s end).
_FALLBACK: Final = {
    "Q2_K": "IQ4_NL",
    "Q3_K": "IQ4_NL",
    "IQ4_XS": "IQ4_NL",
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}


@dataclass(frozen=True, slots=True)
class _Shape:
    embedding: int
    heads: int
    vocabulary: int
    tied: bool
    feed_forward: tuple[int, ...]
    expert_feed_forward: int


def typed_facts(model: TypedModel) -> ModelFacts:
    """Return facts good enough for `make_plan`; sizes follow from the tensors that were made.

    ``assumed`` of the facts names every figure that was not typed.

    Raises:
        TypedModelError: the figures don't make a model.
    """
    _check(model)
    shape = _solve(model)
    header = _header(model, shape)
    facts = facts_of(header)
    if facts.shape is None:
        raise TypedModelError("These figures don't make a model that can be planned.")
    assumed = tuple(name for name, basis in typed_basis(model).items() if basis == "assumed")
    return replace(
        facts,
        name=model.name or f"{format_count(model.parameters)} {model.quantization}",
        quantization=model.quantization,
        assumed=assumed,
        warnings=("Typed, not read from a file: sizes are as good as what was typed.",),
    )


def typed_basis(model: TypedModel) -> dict[str, TypedBasis]:
    """Return how each figure of the facts was got: typed, or assumed from what was typed."""
    basis: dict[str, TypedBasis] = dict.fromkeys(
        ("parameters", "layers", "kv_heads", "key_length", "value_length", "quantization"),
        "typed",
    )
    basis["context_length"] = "typed"
    basis["embedding_length"] = "assumed"
    basis["feed_forward"] = "assumed"
    basis["architecture"] = "assumed"
    basis["heads"] = "typed" if model.heads else "assumed"
    basis["vocab_size"] = "typed" if model.vocabulary else "assumed"
    if model.experts:
        basis["experts"] = basis["experts_used"] = basis["parameters_active"] = "typed"
    return basis


# --- checks


def _check(model: TypedModel) -> None:
    ranges = (
        ("parameters", model.parameters, 1_000_000, 10_000_000_000_000),
        ("layers", model.layers, 1, 512),
        ("KV heads", model.kv_heads, 1, 1024),
        ("head size", model.head_length, 8, 1024),
        ("trained context", model.context_length, 256, 100_000_000),
        ("heads", model.heads or model.kv_heads, model.kv_heads, 4096),
        ("vocabulary", model.vocabulary or 256, 256, 4_000_000),
        ("experts", model.experts, 0, 4096),
    )
    for name, value, low, high in ranges:
        if not low <= value <= high:
            raise TypedModelError(f"Number of {name}: {value:,} is not from {low:,} to {high:,}.")
    if model.quantization not in _MIXES:
        known = ", ".join(QUANTIZATIONS)
        raise TypedModelError(
            f"No quantisation {model.quantization!r} is known; type one of {known}."
        )
    if not model.experts:
        return
    if not 1 <= model.experts_used <= model.experts:
        raise TypedModelError(
            f"A token uses from 1 to all {model.experts:,} experts, not {model.experts_used:,}."
        )
    if not 0 < model.parameters_active <= model.parameters:
        raise TypedModelError(
            "Type how many parameters a token uses: more than 0, and no more than there are."
        )


def _no_room(model: TypedModel) -> TypedModelError:
    return TypedModelError(
        f"{format_count(model.parameters)} parameters leave no room for {model.layers:,} layers "
        f"of {model.kv_heads:,} KV heads of {model.head_length:,}: type more parameters or fewer "
        "layers."
    )


# --- shape


def _solve(model: TypedModel) -> _Shape:
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
    return _Shape(embedding, heads, vocabulary, tables == 1, widths, 0)


def _solve_experts(model: TypedModel, vocabulary: int, tables: int, kv_width: int) -> _Shape:
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

    def shape_of(embedding: int) -> tuple[float, _Shape]:
        """Return how far a width misses both sums, and the shape that it gives."""
        heads = _heads(model, embedding)
        inner = expert_parameters / (3 * model.layers * model.experts * embedding)
        # Rows of whole blocks, or else the quantiser would fall back to larger types.
        width = _round_to(inner, 256 if inner >= 384 else 64)
        experts = 3 * model.layers * model.experts * embedding * width
        own = per_one * embedding + 2 * model.layers * embedding * heads * model.head_length
        off = abs(experts + own - model.parameters) / model.parameters
        blank = (0,) * model.layers
        shape = _Shape(embedding, heads, vocabulary, tables == 1, blank, width)
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


# --- header


def _header(model: TypedModel, shape: _Shape) -> Header:
    arch = "qwen3moe" if model.experts else "llama"
    values: dict[str, RawValue] = {}

    def text(key: str, value: str) -> None:
        raw = value.encode()
        values[key] = RawValue(ValueType.STRING, None, 0, len(raw), raw)

    def number(key: str, value: int) -> None:
        values[f"{arch}.{key}"] = RawValue(_U32, None, 0, 4, struct.pack("<I", value))

    text("general.architecture", arch)
    text("general.name", model.name or f"{format_count(model.parameters)}")
    number("block_count", model.layers)
    number("context_length", model.context_length)
    number("embedding_length", shape.embedding)
    number("attention.head_count", shape.heads)
    number("attention.head_count_kv", model.kv_heads)
    number("attention.key_length", model.head_length)
    number("attention.value_length", model.head_length)
    number("vocab_size", shape.vocabulary)
    if model.experts:
        number("expert_count", model.experts)
        number("expert_used_count", model.experts_used)
        number("expert_feed_forward_length", shape.expert_feed_forward)
    else:
        raw = struct.pack(f"<{model.layers}I", *shape.feed_forward)
        key = f"{arch}.feed_forward_length"
        values[key] = RawValue(_U32, model.layers, 0, len(raw), raw)
    values[f"{arch}.attention.layer_norm_rms_epsilon"] = RawValue(
        _F32, None, 0, 4, struct.pack("<f", 1e-5)
    )
    tensors = _Tensors()
    _add_tensors(tensors, model, shape)
    raw_header = RawHeader(
        path=Path(f"{model.name or 'typed'}.gguf"),
        version=3,
        values=values,
        tensors=tuple(tensors.rows),
        alignment=_ALIGNMENT,
        data_offset=0,
        header_bytes=0,
        file_bytes=tensors.end,
        modified_ns=0,
        glued=False,
    )
    return Header(raw_header.path, (raw_header,))


class _Tensors:
    """Tensors laid one after another, as in a file."""

    def __init__(self) -> None:
        self.rows: list[RawTensor] = []
        self.end = 0

    def add(self, name: str, shape: tuple[int, ...], type_name: str) -> None:
        kind = _fitting(_TYPES[type_name], shape[0])
        size = kind.row_bytes(shape[0]) * math.prod(shape[1:])
        self.rows.append(RawTensor(name, shape, kind, self.end, size))
        self.end = round_up(self.end + size, _ALIGNMENT)


def _fitting(kind: TensorType, row: int) -> TensorType:
    if row % kind.block == 0:
        return kind
    smaller = _TYPES[_FALLBACK.get(kind.name, "F16")]
    return smaller if row % smaller.block == 0 else _TYPES["F16"]


def _add_tensors(out: _Tensors, model: TypedModel, shape: _Shape) -> None:
    mix = _MIXES[model.quantization]
    width, layers = shape.embedding, model.layers
    q_width, kv_width = shape.heads * model.head_length, model.kv_heads * model.head_length
    table = mix.output if shape.tied else mix.body
    out.add("token_embd.weight", (width, shape.vocabulary), table)
    out.add("output_norm.weight", (width,), "F32")
    if not shape.tied:
        out.add("output.weight", (width, shape.vocabulary), mix.output)
    for layer in range(layers):
        block = f"blk.{layer}."
        first = layer < layers // mix.first_layers[2] if mix.first_layers[2] > 1 else False
        more = _more_bits(layer, layers)
        value = (first and mix.first_layers[0]) or (more and mix.attn_v_more) or mix.attn_v
        down = (first and mix.first_layers[1]) or (more and mix.ffn_down_more) or mix.ffn_down
        out.add(block + "attn_norm.weight", (width,), "F32")
        out.add(block + "attn_q.weight", (width, q_width), mix.body)
        out.add(block + "attn_k.weight", (width, kv_width), mix.body)
        out.add(block + "attn_v.weight", (width, kv_width), value or mix.body)
        out.add(block + "attn_output.weight", (q_width, width), mix.attn_output or mix.body)
        out.add(block + "ffn_norm.weight", (width,), "F32")
        if model.experts:
            ff = shape.expert_feed_forward
            out.add(block + "attn_q_norm.weight", (model.head_length,), "F32")
            out.add(block + "attn_k_norm.weight", (model.head_length,), "F32")
            out.add(block + "ffn_gate_inp.weight", (width, model.experts), "F32")
            out.add(block + "ffn_gate_exps.weight", (width, ff, model.experts), mix.body)
            out.add(block + "ffn_up_exps.weight", (width, ff, model.experts), mix.body)
            out.add(block + "ffn_down_exps.weight", (ff, width, model.experts), down or mix.body)
        else:
            ff = shape.feed_forward[layer]
            out.add(block + "ffn_gate.weight", (width, ff), mix.body)
            out.add(block + "ffn_up.weight", (width, ff), mix.body)
            out.add(block + "ffn_down.weight", (ff, width), down or mix.body)


def _more_bits(layer: int, layers: int) -> bool:
    """Tell whether a layer gets more bits (``use_more_bits``)."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
