"""What a variant will be before it is made: each tensor's type, the file's size, what stands
against it.

Which type a tensor gets in a mix such as Q4_K_M follows ``llama_tensor_get_type_impl`` and
``tensor_type_fallback`` in llama.cpp's src/llama-quant.cpp (as of llama-cpp-python 0.3.36); a test
holds it against the quantiser's own dry run. Nothing is read but the header.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gguf_tools.facts import ModelFacts, facts_of
from gguf_tools.header import Header, Tensor
from gguf_tools.mixes import Mix, MixError, choose_types
from gguf_tools.naming import REQUANTIZED_KEY, parse_file_name, requantized_from
from gguf_tools.quants import FILE_TYPES, TENSOR_TYPES, TensorType
from gguf_tools.units import round_up

__all__ = [
    "MADE_BY",
    "MADE_BY_KEY",
    "QUANT_TYPES",
    "REQUANTIZED_KEY",
    "Expected",
    "Fallback",
    "QuantType",
    "QuantizeRequest",
    "expect",
    "quant_type",
    "refusal_of",
    "requantize_warning",
    "requantized_from",
    "suggested_name",
]

MADE_BY_KEY: Final = "general.quantized_by"
MADE_BY: Final = "Plimsoll (llama.cpp)"

_ALIGNMENT: Final = 32  # GGUF_DEFAULT_ALIGNMENT, which the quantiser pads to
_U32_KEY_BYTES: Final = 8 + 4 + 4  # length of the name, type, value
_TEXT_KEY_BYTES: Final = 8 + 4 + 8  # length of the name, type, length of the text
_IMATRIX_TYPES: Final = frozenset({"IQ3_XXS", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_M", "IQ1_S"})
_TABLES: Final = frozenset({"token_embd.weight", "per_layer_token_embd.weight", "output.weight"})


@dataclass(frozen=True, slots=True)
class QuantType:
    """A kind of variant: its name, its number in ``llama_ftype``, the type most tensors get."""

    name: str
    file_type: int
    tensor: TensorType


def _types(*rows: tuple[str, str]) -> tuple[QuantType, ...]:
    numbers = {name: number for number, name in FILE_TYPES.items()}
    tensors = {kind.name: kind for kind in TENSOR_TYPES.values()}
    return tuple(QuantType(name, numbers[name], tensors[tensor]) for name, tensor in rows)


QUANT_TYPES: Final = _types(
    ("F32", "F32"),
    ("BF16", "BF16"),
    ("F16", "F16"),
    ("Q8_0", "Q8_0"),
    ("Q6_K", "Q6_K"),
    ("Q5_K_M", "Q5_K"),
    ("Q5_K_S", "Q5_K"),
    ("Q5_1", "Q5_1"),
    ("Q5_0", "Q5_0"),
    ("Q4_K_M", "Q4_K"),
    ("Q4_K_S", "Q4_K"),
    ("Q4_1", "Q4_1"),
    ("Q4_0", "Q4_0"),
    ("IQ4_NL", "IQ4_NL"),
    ("IQ4_XS", "IQ4_XS"),
    ("MXFP4_MOE", "MXFP4"),
    ("Q3_K_L", "Q3_K"),
    ("Q3_K_M", "Q3_K"),
    ("Q3_K_S", "Q3_K"),
    ("IQ3_M", "IQ3_S"),
    ("IQ3_S", "IQ3_S"),
    ("IQ3_XS", "IQ3_S"),
    ("IQ3_XXS", "IQ3_XXS"),
    ("Q2_K", "Q2_K"),
    ("Q2_K_S", "Q2_K"),
    ("IQ2_M", "IQ2_S"),
    ("IQ2_S", "IQ2_XS"),
    ("IQ2_XS", "IQ2_XS"),
    ("IQ2_XXS", "IQ2_XXS"),
    ("IQ1_M", "IQ1_M"),
    ("IQ1_S", "IQ1_S"),
    ("TQ2_0", "TQ2_0"),
    ("TQ1_0", "TQ1_0"),
    ("Q2_0", "Q2_0"),
    ("Q1_0", "Q1_0"),
)
"""Kinds of variants that the engine can make, from large to small within a family."""

_BY_NAME: Final = {kind.name: kind for kind in QUANT_TYPES}
_ALIASES: Final = {"Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M", "FP16": "F16"}


def quant_type(name: str) -> QuantType:
    """Return a kind of variant by name, in any case; ``Q4_K`` means ``Q4_K_M``.

    Raises:
        ValueError: there is none of that name.
    """
    wanted = name.upper()
    found = _BY_NAME.get(_ALIASES.get(wanted, wanted))
    if found is None:
        raise ValueError(f"There is no quantisation {name!r}; choose of {', '.join(_BY_NAME)}.")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizeRequest:
    """A variant to be made. ``threads`` None leaves the number to the engine's side."""

    source: Path
    target: Path
    kind: QuantType
    allow_requantize: bool = False
    imatrix: Path | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Fallback:
    """A tensor whose rows the wanted type's blocks don't divide, and what it gets."""

    tensor: str
    row_elements: int
    wanted: TensorType
    taken: TensorType


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a variant will be. ``facts`` are those of the file to come, for planning it.

    ``source_types`` are the quantised types of tensors that would be converted (requantised);
    ``needs_imatrix`` the tensors that can't be made without an importance matrix. ``obstacle`` is
    a sentence where the engine would refuse whatever the options are.
    """

    kind: QuantType
    facts: ModelFacts
    file_bytes: int
    changed_tensors: int
    source_types: tuple[str, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    needs_imatrix: tuple[str, ...] = ()
    obstacle: str | None = None

    @property
    def requantized(self) -> bool:
        """Tell whether weights that are quantised already are quantised again."""
        return bool(self.source_types)

    @property
    def bits_per_weight(self) -> float | None:
        """Return the bits that a weight takes."""
        return self.facts.bits_per_weight


def expect(facts: ModelFacts, kind: QuantType, *, imatrix: bool = False) -> Expected:
    """Return what a variant of a model will be.

    Args:
        facts: the model to start from.
        kind: what to make.
        imatrix: whether an importance matrix will be given; some mixes choose differently then.
    """
    header, shape = facts.header, facts.shape
    if shape is None or facts.kind not in {"model", "embedding", "reranker", "diffusion", "draft"}:
        obstacle = f"{facts.path.name} is a {facts.kind}: only whole models can be quantised."
        return Expected(
            kind=kind,
            facts=facts,
            file_bytes=facts.file_bytes,
            changed_tensors=0,
            obstacle=obstacle,
        )
    mix = Mix(kind.name, kind.tensor, shape, imatrix=imatrix)
    try:
        chosen = choose_types(mix, header.tensors.values())
    except MixError as error:
        return Expected(
            kind=kind,
            facts=facts,
            file_bytes=facts.file_bytes,
            changed_tensors=0,
            obstacle=str(error),
        )
    tensors = {
        name: replace(tensor, type=chosen[name].taken, size_bytes=_size(tensor, chosen[name].taken))
        for name, tensor in header.tensors.items()
    }
    changed = [t for t in header.tensors.values() if chosen[t.name].taken is not t.type]
    sources = _quantised_types(changed)
    size = _file_bytes(header, tensors.values(), requantized=bool(sources))
    return Expected(
        kind=kind,
        facts=_facts_with(facts, tensors, kind, size),
        file_bytes=size,
        changed_tensors=len(changed),
        source_types=sources,
        fallbacks=tuple(
            Fallback(name, tensors[name].extent(0), choice.wanted, choice.taken)
            for name, choice in chosen.items()
            if choice.wanted is not choice.taken
        ),
        needs_imatrix=tuple(
            t.name
            for t in tensors.values()
            if t.name not in _TABLES
            and chosen[t.name].allowed
            and (t.type.name in _IMATRIX_TYPES or (kind.name == "Q2_K_S" and t.type.name == "Q2_K"))
        ),
    )


def refusal_of(expected: Expected, *, allow_requantize: bool, imatrix: bool) -> str | None:
    """Return why a variant won't be made, in a sentence; None if nothing speaks against it."""
    if expected.obstacle is not None:
        return expected.obstacle
    kind = expected.kind.name
    if expected.needs_imatrix and not imatrix:
        return (
            f"{kind} needs an importance matrix: without one the result would be garbage. "
            "Give its file, or choose a type with more bits."
        )
    if expected.changed_tensors == 0:
        return f"{expected.facts.path.name} is {kind} already: nothing would change."
    if expected.requantized and not allow_requantize:
        return (
            f"{expected.facts.path.name} is quantised already ({_words(expected.source_types)}): "
            f"{kind} made from it is worse than {kind} made from the 16-bit file. Start from that, "
            "or allow requantising (on the command line: --allow-requantize)."
        )
    return None


def requantize_warning(expected: Expected) -> str | None:
    """Return what to know before a variant is made from a quantised file, None otherwise."""
    if not expected.requantized:
        return None
    return (
        f"Made from weights in {_words(expected.source_types)}, so it is worse than the same type "
        "made from 16 bits; it will be marked as requantised."
    )


def suggested_name(facts: ModelFacts, kind: QuantType) -> str:
    """Return a file name for a variant, after the name of the model's file."""
    base = parse_file_name(facts.path.name).base or facts.name
    return f"{base}-{kind.name}.gguf"


def _words(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _quantised_types(tensors: Iterable[Tensor]) -> tuple[str, ...]:
    sizes: dict[str, int] = {}
    for tensor in tensors:
        if tensor.type.quantized:
            sizes[tensor.type.name] = sizes.get(tensor.type.name, 0) + tensor.size_bytes
    return tuple(sorted(sizes, key=lambda name: -sizes[name]))


def _size(tensor: Tensor, kind: TensorType) -> int:
    row = tensor.extent(0)
    return kind.row_bytes(row) * (tensor.elements // row) if row else 0


def _file_bytes(header: Header, tensors: Iterable[Tensor], *, requantized: bool) -> int:
    """Return the size of the file: header with the keys that are added, and padded tensors."""
    head = header.header_bytes
    for key in ("general.quantization_version", "general.file_type"):
        if key not in header:
            head += _U32_KEY_BYTES + len(key)
    if requantized and REQUANTIZED_KEY not in header:
        head += _TEXT_KEY_BYTES + len(REQUANTIZED_KEY) + len("Q4_K_M")
    if MADE_BY_KEY not in header:
        head += _TEXT_KEY_BYTES + len(MADE_BY_KEY) + len(MADE_BY)
    return round_up(head, _ALIGNMENT) + sum(round_up(t.size_bytes, _ALIGNMENT) for t in tensors)


def _facts_with(
    facts: ModelFacts, tensors: Mapping[str, Tensor], kind: QuantType, file_bytes: int
) -> ModelFacts:
    header = copy.copy(facts.header)
    header.tensors = tensors
    header.file_bytes = file_bytes
    found = facts_of(header)
    return replace(found, file_bytes=file_bytes, needed_bytes=file_bytes, quantization=kind.name)
