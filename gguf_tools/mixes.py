"""Which type each tensor of a variant gets: the engine's rules, from names and shapes alone.

A mix such as Q4_K_M gives most tensors one type, and more bits to those that lose most by it:
values of attention, the way back from the feed-forward part, the output matrix. The rules follow
``llama_tensor_get_type_impl``, ``tensor_allows_quantization`` and ``tensor_type_fallback`` in
llama.cpp's src/llama-quant.cpp, in the order of its weights (by layer, then by name), since some of
them count tensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gguf_tools.header import Tensor
from gguf_tools.hparams import Hyperparameters
from gguf_tools.mix_tables import (
    ATTENTION_OUTPUT,
    EIGHT_BITS_GLM5,
    EMBEDDING,
    FALLBACK,
    FIVE_BIT_OUTPUT,
    GLM5,
    KEPT,
    KEPT_GLM5,
    KEPT_NAMES,
    LOW,
    LOW_S,
    OUTPUT_OF_EIGHT_EXPERTS,
    PARTS,
    SEVENTY,
    TABLES,
    VALUES,
    Category,
)
from gguf_tools.quants import TENSOR_TYPES, TensorType

__all__ = [
    "Choice",
    "Mix",
    "MixError",
    "choose_types",
    "engine_order",
    "fitting_type",
    "more_bits",
]

_TYPES: Final = {kind.name: kind for kind in TENSOR_TYPES.values()}
_LAYER: Final = re.compile(r"blk\.\s*([+-]?\d+)")


class MixError(ValueError):
    """The engine has no rule for a tensor; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Mix:
    """A kind of variant for one model: its name, the type most tensors get, the model's shape."""

    name: str
    base: TensorType
    shape: Hyperparameters
    imatrix: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What a tensor gets. ``wanted`` differs from ``taken`` where its rows don't divide."""

    taken: TensorType
    wanted: TensorType
    allowed: bool


def choose_types(mix: Mix, tensors: Iterable[Tensor]) -> dict[str, Choice]:
    """Return each tensor's type in a variant, by name.

    Raises:
        MixError: the engine would give up.
    """
    ordered = sorted(tensors, key=lambda tensor: engine_order(tensor.name))
    rules = _Rules(mix, ordered)
    return {tensor.name: rules.choice(tensor) for tensor in ordered}


def engine_order(name: str) -> tuple[int, bytes]:
    """Return what the engine sorts tensors by: the layer, then the name."""
    match = _LAYER.match(name)
    return int(match[1]) if match else -1, name.encode()


def _category(name: str) -> Category:
    if name == "output.weight":
        return "output"
    if name in TABLES:
        return "table"
    return next((category for part, category in PARTS if part in name), "")


def _allowed(tensor: Tensor, architecture: str) -> bool:
    """Tell whether a tensor is quantised at all: matrices of weights are, but for some."""
    name = tensor.name
    if all(tensor.extent(dimension) == 1 for dimension in range(1, len(tensor.shape))):
        return False
    if not name.endswith("weight") or name in KEPT_NAMES:
        return False
    kept = KEPT + KEPT_GLM5 if architecture == GLM5 else KEPT
    return not any(part in name for part in kept)


def more_bits(layer: int, layers: int) -> bool:
    """Tell whether a layer is among those that get more bits: the ends, and every third."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


class _Rules:
    """The rules for one variant; counts tensors on the way."""

    def __init__(self, mix: Mix, tensors: list[Tensor]) -> None:
        self._mix = mix
        shape = mix.shape
        self._architecture = shape.architecture
        self._experts = shape.experts
        self._layers = shape.layers_all
        kv_heads = shape.kv_heads[0] if shape.kv_heads else 0
        self._grouped = shape.heads[0] // kv_heads if kv_heads else 0
        self._seventy = SEVENTY.get(self._architecture) == shape.layers and not (
            self._architecture == "llama" and shape.heads[0] == kv_heads
        )
        categories = [_category(tensor.name) for tensor in tensors]
        self._values = sum(category in VALUES for category in categories)
        self._tied = "output" not in categories
        self._value = 0  # counts of tensors met so far
        self._down = 0
        self._gate = 0
        self._up = 0

    def choice(self, tensor: Tensor) -> Choice:
        """Return what a tensor gets; tensors must come in the engine's order."""
        if not _allowed(tensor, self._architecture):
            return Choice(tensor.type, tensor.type, allowed=False)
        if not self._mix.base.quantized:
            return Choice(self._mix.base, self._mix.base, allowed=True)
        wanted = _TYPES[self._wanted(tensor)]
        return Choice(fitting_type(wanted, tensor.extent(0), tensor.name), wanted, allowed=True)

    def _wanted(self, tensor: Tensor) -> str:
        mix, name = self._mix.name, tensor.name
        base = self._mix.base.name
        category = _category(name)
        if self._architecture == GLM5 and any(part in name for part in EIGHT_BITS_GLM5):
            return "Q8_0"
        if category == "output" or (self._tied and category == "table"):
            return self._output(tensor)
        if mix == "MXFP4_MOE":
            return self._mxfp4(tensor, category)
        if category == "table":
            return EMBEDDING.get(mix, base)
        if mix in LOW:
            return self._low(category)
        if category in VALUES:
            return self._value_type()
        if category in {"k", "q"}:
            if category == "k" and self._experts == 8:
                return "Q8_0"
            return {"IQ3_XS": "IQ3_XXS", "IQ3_XXS": "IQ2_S"}.get(mix, base)
        if category == "down":
            return self._down_type(name)
        if category == "attention_output":
            return self._attention_output()
        if category in {"gate", "up"}:
            return self._gate_or_up(name, category)
        return base

    def _output(self, tensor: Tensor) -> str:
        mix, base = self._mix.name, self._mix.base
        divides = tensor.extent(0) % base.block == 0
        if mix == "MXFP4_MOE" or self._architecture == "falcon" or not divides:
            return "Q8_0"
        if mix in FIVE_BIT_OUTPUT:
            return "Q5_K"
        return "Q8_0" if base.name == "Q8_0" else "Q6_K"

    def _mxfp4(self, tensor: Tensor, category: Category) -> str:
        experts = tensor.extent(2) > 1
        if self._architecture == "bailingmoe3" and category not in {"up", "gate", "down"}:
            experts = False
        return "MXFP4" if experts else "Q8_0"

    def _low(self, category: Category) -> str:
        mix, base = self._mix.name, self._mix.base.name
        better = "IQ3_S" if mix in LOW_S else "Q2_K"
        if category in VALUES:
            self._value += 1
            return "Q4_K" if self._grouped >= 4 or self._experts >= 4 else better
        if category == "k" and self._experts == 8:
            return "Q4_K"
        if category == "down":
            early = self._down < self._layers // 8
            self._down += 1
            return better if early else base
        if category == "attention_output":
            if self._experts == 8:
                return "Q5_K"
            if mix in {"IQ1_S", "IQ1_M"}:
                return "IQ2_XXS"
            return "IQ3_S" if mix in LOW_S else base
        return base

    def _value_type(self) -> str:
        found = self._value_mix()
        if self._seventy and found in {"Q3_K", "Q4_K"}:
            found = "Q5_K"
        if self._experts == 8:
            found = "Q8_0"
        self._value += 1
        return found

    def _value_mix(self) -> str:
        mix, base, grouped = self._mix.name, self._mix.base.name, self._grouped >= 4
        match mix:
            case "Q2_K":
                return "Q4_K" if grouped else "Q3_K"
            case "Q2_K_S" | "IQ3_XS" | "IQ3_S":
                return "Q4_K" if grouped else base
            case "IQ3_XXS":
                if grouped:
                    return "Q4_K"
                return "IQ3_XXS" if self._mix.imatrix else "IQ3_S"
            case "IQ3_M":
                return "Q4_K"
            case "Q3_K_M":
                return "Q5_K" if self._value < 2 else "Q4_K"
            case "Q3_K_L":
                return "Q5_K"
            case "IQ4_NL" | "IQ4_XS":
                return "Q5_K" if grouped else base
            case "Q4_K_M" | "Q5_K_M":
                return "Q6_K" if more_bits(self._value, self._values) else base
            case "Q4_K_S":
                return "Q5_K" if self._value < 4 else base
        return base

    def _layer(self, name: str, met: int) -> int:
        """Return the layer: by count, or with experts, which may lie in any order, by name."""
        if self._experts <= 1:
            return met
        match = _LAYER.match(name)
        layer = int(match[1]) if match else -1
        if not 0 <= layer < self._layers:
            raise MixError(f"The engine can't tell to which layer {name} belongs.")
        return layer

    def _down_type(self, name: str) -> str:
        layer = self._layer(name, self._down)
        self._down += 1
        mix, base, imatrix = self._mix.name, self._mix.base.name, self._mix.imatrix
        falcon = self._architecture == "falcon"
        early = layer < self._layers // 8
        first = layer < self._layers // 16
        more = more_bits(layer, self._layers)
        match mix:
            case "Q2_K":
                return "Q3_K"
            case "Q2_K_S":
                return "Q4_K" if early else base
            case "IQ3_XXS" if not imatrix:
                return "Q4_K" if early else "Q3_K"
            case "Q3_K_M":
                if first:
                    return "Q5_K"
                return "Q4_K" if not falcon or more else "Q3_K"
            case "IQ3_M":
                return "Q4_K" if early or (self._experts == 8 and more) else base
            case "Q3_K_L":
                return "Q4_K" if falcon else "Q5_K"
            case "Q4_K_M" if falcon:
                return "Q6_K" if first else "Q5_K" if more else "Q4_K"
            case "Q4_K_M" | "Q5_K_M":
                return "Q6_K" if more else base
            case "IQ4_NL" | "IQ4_XS" if not imatrix:
                return "Q5_K" if early else base
            case "Q4_K_S":
                return "Q5_K" if early and not falcon else base
            case "Q4_0" | "Q5_0" if imatrix and early:
                return "Q4_1" if mix == "Q4_0" else "Q5_1"
        return base

    def _attention_output(self) -> str:
        mix, base = self._mix.name, self._mix.base.name
        if self._architecture == "falcon":
            return "Q4_K" if mix == "Q3_K_L" else base
        if self._experts == 8:
            return "Q5_K" if mix in OUTPUT_OF_EIGHT_EXPERTS else base
        return ATTENTION_OUTPUT.get(mix, base)

    def _gate_or_up(self, name: str, category: Category) -> str:
        if category == "gate":
            layer = self._layer(name, self._gate)
            self._gate += 1
        else:
            layer = self._layer(name, self._up)
            self._up += 1
        middle = self._layers // 8 <= layer < 7 * self._layers // 8
        return "IQ3_XXS" if self._mix.name == "IQ3_XS" and middle else self._mix.base.name


def fitting_type(wanted: TensorType, row: int, name: str) -> TensorType:
    """Return the type itself, or what stands in for it where its blocks don't divide a row.

    Raises:
        MixError: nothing does.
    """
    if row % wanted.block == 0:
        return wanted
    taken = _TYPES.get(FALLBACK.get(wanted.name, ""))
    if taken is None:
        if wanted.block > 32:
            raise MixError(
                f"{wanted.name} needs rows of a multiple of {wanted.block} weights; those of "
                f"{name} have {row:,}."
            )
        taken = wanted
    return taken if row % taken.block == 0 else _TYPES["F16"]
