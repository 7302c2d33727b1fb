"""Facts of a typed model, and where each of its figures comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from gguf_tools.facts import ModelFacts, facts_of
from gguf_tools.typed.header import typed_header
from gguf_tools.typed.model import TypedModel, TypedModelError
from gguf_tools.typed.shape import solve
from gguf_tools.typed.types import MIXES, QUANTIZATIONS
from gguf_tools.units import format_count

__all__ = ["TypedBasis", "typed_basis", "typed_facts"]

TypedBasis: TypeAlias = Literal["typed", "assumed"]


def typed_facts(model: TypedModel) -> ModelFacts:
    """Return facts good enough for `make_plan`; sizes follow from the tensors that were made.

    ``assumed`` of the facts names every figure that was not typed.

    Raises:
        TypedModelError: the figures don't make a model.
    """
    _check(model)
    facts = facts_of(typed_header(model, solve(model)))
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
    if model.quantization not in MIXES:
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
