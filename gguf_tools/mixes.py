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
from typing import Final, Literal, TypeAlias

from gguf_tools.header import Tensor
from gguf_tools.hparams import Hyperparameters
from gguf_tools.quants import TENSOR_TYPES, TensorType

__all__ = ["Choice", "Mix", "MixError", "choose_types", "engine_order"]

Category: TypeAlias = Literal[
    "output", "table", "qkv", "kv_b", "v", "k", "q", "attention_output", "up", "gate", "down", ""
]

_TYPES: Final = {kind.name: kind for kind in TENSOR_TYPES.values()}
_LAYER: Final = re.compile(r"blk\.\s*([+-]?\d+)")
_TABLES: Final = frozenset({"token_embd.weight", "per_layer_token_embd.weight"})
_PARTS: Final[tuple[tuple[str, Category], ...]] = (
    ("attn_qkv.weight", "qkv"),
    ("attn_kv_b.weight", "kv_b"),
    ("attn_v.weight", "v"),
    ("attn_k.weight", "k"),
    ("attn_q.weight", "q"),
    ("attn_output.weight", "attention_output"),
    ("ffn_up", "up"),
    ("ffn_gate", "gate"),
    ("ffn_down", "down"),
)
_VALUES: Final = frozenset({"v", "qkv", "kv_b"})

# Parts of names of matrices that stay as they are: small, or harmed by little precision.
_KEPT: Final = (
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
)
_KEPT_NAMES: Final = frozenset({"position_embd.weight", "token_types.weight"})
_GLM5: Final = "glm5-next"
_KEPT_GLM5: Final = (
    "hc_",
    "indexer.attn_q_b",
    "indexer.attn_k",
    "indexer.proj",
    "indexer_compressor_gate",
    "indexer_compressor_ape",
    "ssm_f_a.weight",
    "ssm_f_b.weight",
    "ssm_g_a.weight",
    "ssm_g_b.weight",
    "ssm_beta.weight",
    "attn_kv_a_mqa.weight",
    "attn_k_b.weight",
    "attn_v_b.weight",
)
_EIGHT_BITS_GLM5: Final = ("attn_q_a", "attn_q_b", "nextn.eh_proj")

_LOW: Final = frozenset({"IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ1_S", "IQ1_M"})
_LOW_S: Final = frozenset({"IQ2_S", "IQ2_M"})
_FIVE_BIT_OUTPUT: Final = _LOW | {"IQ3_XXS"}
_EMBEDDING: Final = {
    "IQ2_XXS": "Q2_K",
    "IQ2_XS": "Q2_K",
    "IQ1_S": "Q2_K",
    "IQ1_M": "Q2_K",
    "IQ2_S": "IQ3_S",
    "IQ2_M": "IQ3_S",
    "IQ3_XXS": "IQ3_S",
    "TQ1_0": "Q4_K",
    "TQ2_0": "Q4_K",
    "Q2_0": "Q4_K",
}
_OUTPUT_OF_EIGHT_EXPERTS: Final = frozenset(
    {
        "Q2_K",
        "IQ3_XS",
        "IQ3_XXS",
        "Q3_K_S",
        "Q3_K_M",
        "IQ4_NL",
        "Q4_K_S",
        "Q4_K_M",
        "IQ3_S",
        "IQ3_M",
        "IQ4_XS",
    }
)
_ATTENTION_OUTPUT: Final = {
    "Q2_K": "Q3_K",
    "IQ3_XXS": "IQ3_S",
    "Q3_K_M": "Q4_K",
    "Q3_K_L": "Q5_K",
    "IQ3_M": "Q4_K",
}
# What stands in for a type whose blocks of 256 don't divide a row: one with blocks of 32.
_FALLBACK: Final = {
    "IQ1_S": "IQ4_NL",
    "IQ1_M": "IQ4_NL",
    "IQ2_XXS": "IQ4_NL",
    "IQ2_XS": "IQ4_NL",
    "IQ2_S": "IQ4_NL",
    "IQ3_XXS": "IQ4_NL",
    "IQ3_S": "IQ4_NL",
    "IQ4_XS": "IQ4_NL",
    "Q2_0": "Q4_0",
    "Q2_K": "Q4_0",
    "Q3_K": "Q4_0",
    "TQ1_0": "Q4_0",
    "TQ2_0": "Q4_0",
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}
# llama.cpp calls these "70B" by architecture and layers; their values are shared by many heads.
_SEVENTY: Final = {"deci": 80, "jais2": 68, "llama": 80, "olmo": 80, "qwen2": 80}


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
    if name in _TABLES:
        return "table"
    return next((category for part, category in _PARTS if part in name), "")


def _allowed(tensor: Tensor, architecture: str) -> bool:
    """Tell whether a tensor is quantised at all: matrices of weights are, but for some."""
    name = tensor.name
    if all(tensor.extent(dimension) == 1 for dimension in range(1, len(tensor.shape))):
        return False
    if not name.endswith("weight") or name in _KEPT_NAMES:
        return False
    kept = _KEPT + _KEPT_GLM5 if architecture == _GLM5 else _KEPT
    return not any(part in name for part in kept)


def _more_bits(layer: int, layers: int) -> bool:
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
        self._seventy = _SEVENTY.get(self._architecture) == shape.layers and not (
            self._architecture == "llama" and shape.heads[0] == kv_heads
        )
        categories = [_category(tensor.name) for tensor in tensors]
        self._values = sum(category in _VALUES for category in categories)
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
        return Choice(_fitting(tensor, wanted), wanted, allowed=True)

    def _wanted(self, tensor: Tensor) -> str:
        mix, name = self._mix.name, tensor.name
        base = self._mix.base.name
        category = _category(name)
        if self._architecture == _GLM5 and any(part in name for part in _EIGHT_BITS_GLM5):
            return "Q8_0"
        if category == "output" or (self._tied and category == "table"):
            return self._output(tensor)
        if mix == "MXFP4_MOE":
            return self._mxfp4(tensor, category)
        if category == "table":
            return _EMBEDDING.get(mix, base)
        if mix in _LOW:
            return self._low(category)
        if category in _VALUES:
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
        if mix in _FIVE_BIT_OUTPUT:
            return "Q5_K"
        return "Q8_0" if base.name == "Q8_0" else "Q6_K"

    def _mxfp4(self, tensor: Tensor, category: Category) -> str:
        experts = tensor.extent(2) > 1
        if self._architecture == "bailingmoe3" and category not in {"up", "gate", "down"}:
            experts = False
        return "MXFP4" if experts else "Q8_0"

    def _low(self, category: Category) -> str:
        mix, base = self._mix.name, self._mix.base.name
        better = "IQ3_S" if mix in _LOW_S else "Q2_K"
        if category in _VALUES:
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
            return "IQ3_S" if mix in _LOW_S else base
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
                return "Q6_K" if _more_bits(self._value, self._values) else base
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
        more = _more_bits(layer, self._layers)
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
            return "Q5_K" if mix in _OUTPUT_OF_EIGHT_EXPERTS else base
        return _ATTENTION_OUTPUT.get(mix, base)

    def _gate_or_up(self, name: str, category: Category) -> str:
        if category == "gate":
            layer = self._layer(name, self._gate)
            self._gate += 1
        else:
            layer = self._layer(name, self._up)
            self._up += 1
        middle = self._layers // 8 <= layer < 7 * self._layers // 8
        return "IQ3_XXS" if self._mix.name == "IQ3_XS" and middle else self._mix.base.name


def _fitting(tensor: Tensor, wanted: TensorType) -> TensorType:
    """Return the type itself, or what stands in for it where its blocks don't divide a row."""
    row = tensor.extent(0)
    if row % wanted.block == 0:
        return wanted
    taken = _TYPES.get(_FALLBACK.get(wanted.name, ""))
    if taken is None:
        if wanted.block > 32:
            raise MixError(
                f"{wanted.name} needs rows of a multiple of {wanted.block} weights; those of "
                f"{tensor.name} have {row:,}."
            )
        taken = wanted
    return taken if row % taken.block == 0 else _TYPES["F16"]
