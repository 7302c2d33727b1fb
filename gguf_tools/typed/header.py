"""The header of a typed model, as a file would have it."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Final

from gguf_tools.header import Header
from gguf_tools.header.raw import RawHeader, RawTensor, RawValue, ValueType
from gguf_tools.mixes import fitting_type, more_bits
from gguf_tools.quants import TENSOR_TYPES
from gguf_tools.typed.model import TypedModel
from gguf_tools.typed.shape import TypedShape
from gguf_tools.typed.types import MIXES
from gguf_tools.units import format_count, round_up

__all__ = ["typed_header"]

_TYPES: Final = {kind.name: kind for kind in TENSOR_TYPES.values()}
_ALIGNMENT: Final = 32
_U32: Final = 4
_F32: Final = 6


def typed_header(model: TypedModel, shape: TypedShape) -> Header:
    """Return the header with every tensor in its place."""
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
        kind = fitting_type(_TYPES[type_name], shape[0], name)
        size = kind.row_bytes(shape[0]) * math.prod(shape[1:])
        self.rows.append(RawTensor(name, shape, kind, self.end, size))
        self.end = round_up(self.end + size, _ALIGNMENT)


def _add_tensors(out: _Tensors, model: TypedModel, shape: TypedShape) -> None:
    mix = MIXES[model.quantization]
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
        more = more_bits(layer, layers)
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
