"""What a person types of a model."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TypedModel", "TypedModelError"]


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
