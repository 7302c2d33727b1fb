"""Writes GGUF files byte by byte, so that tests can make good, broken, hostile and huge ones.

The package's own writer refuses what is wrong; this one writes whatever it is told. Data that is
left out becomes a hole in a sparse file: a model of 400 GB takes some kilobytes on disk.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gguf_tools.quants import TENSOR_TYPES, TensorType

__all__ = ["BuiltTensor", "GgufBuilder", "pack_string", "pack_value", "type_named"]

_FORMATS = {
    "u8": (0, "B"),
    "i8": (1, "b"),
    "u16": (2, "H"),
    "i16": (3, "h"),
    "u32": (4, "I"),
    "i32": (5, "i"),
    "f32": (6, "f"),
    "bool": (7, "?"),
    "u64": (10, "Q"),
    "i64": (11, "q"),
    "f64": (12, "d"),
}


def type_named(name: str) -> TensorType:
    """Return a tensor type by name, in any case."""
    return next(kind for kind in TENSOR_TYPES.values() if kind.name.lower() == name.lower())


def pack_string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def pack_value(kind: str, value: Any) -> bytes:
    """Return type and value of a key; ``kind`` is ``u32``, ``str``, ``[f32]``, ``[str]``, …"""
    if kind == "str":
        return struct.pack("<I", 8) + pack_string(value)
    if kind == "[str]":
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(pack_string, value))
    if kind.startswith("["):
        number, code = _FORMATS[kind[1:-1]]
        return struct.pack("<IIQ", 9, number, len(value)) + struct.pack(
            f"<{len(value)}{code}", *value
        )
    number, code = _FORMATS[kind]
    return struct.pack("<I" + code, number, value)


@dataclass(slots=True)
class BuiltTensor:
    name: str
    shape: tuple[int, ...]
    type: TensorType
    data: npt.NDArray[Any] | None = None

    @property
    def size_bytes(self) -> int:
        rows = 1
        for extent in self.shape[1:]:
            rows *= extent
        return self.type.row_bytes(self.shape[0] if self.shape else 1) * rows


@dataclass(slots=True)
class GgufBuilder:
    """Collects keys and tensors, then writes them."""

    version: int = 3
    alignment: int = 32
    keys: list[tuple[str | bytes, bytes]] = field(default_factory=list)
    tensors: list[BuiltTensor] = field(default_factory=list)

    def key(self, name: str | bytes, kind: str, value: Any) -> GgufBuilder:
        self.keys.append((name, pack_value(kind, value)))
        return self

    def u32(self, name: str, value: int) -> GgufBuilder:
        return self.key(name, "u32", value)

    def text(self, name: str, value: str | bytes) -> GgufBuilder:
        return self.key(name, "str", value)

    def drop(self, *names: str) -> GgufBuilder:
        self.keys = [item for item in self.keys if item[0] not in names]
        return self

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        kind: str = "F32",
        data: npt.NDArray[Any] | None = None,
    ) -> GgufBuilder:
        """Add a tensor; ``shape[0]`` is the length of a row, the reverse of numpy's order."""
        if data is not None:
            data = np.ascontiguousarray(data)
            assert data.nbytes == BuiltTensor(name, tuple(shape), type_named(kind)).size_bytes, name
        self.tensors.append(BuiltTensor(name, tuple(shape), type_named(kind), data))
        return self

    def header(self) -> bytes:
        """Return everything before the tensor data, padding left out."""
        parts = [b"GGUF", struct.pack("<IQQ", self.version, len(self.tensors), len(self.keys))]
        for name, value in self.keys:
            parts += [pack_string(name), value]
        offset = 0
        for tensor in self.tensors:
            parts.append(pack_string(tensor.name))
            parts.append(struct.pack("<I", len(tensor.shape)))
            parts.append(struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape))
            parts.append(struct.pack("<iQ", tensor.type.id, offset))
            offset += -(-tensor.size_bytes // self.alignment) * self.alignment
        return b"".join(parts)

    def build(self) -> bytes:
        """Return the whole file; tensors without data are zeros."""
        out = bytearray(self.header())
        if self.tensors:
            out += bytes(-len(out) % self.alignment)
        for tensor in self.tensors:
            raw = tensor.data.tobytes() if tensor.data is not None else bytes(tensor.size_bytes)
            out += raw + bytes(-len(raw) % self.alignment)
        return bytes(out)

    def write(self, path: Path) -> Path:
        """Write the whole file, with holes where tensors have no data."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(self.header())
            if self.tensors:
                position = -(-file.tell() // self.alignment) * self.alignment
                for tensor in self.tensors:
                    file.seek(position)
                    if tensor.data is not None:
                        file.write(tensor.data.tobytes())
                    position += -(-tensor.size_bytes // self.alignment) * self.alignment
                file.truncate(position)
        return path

    def write_split(self, folder: Path, prefix: str, counts: Iterable[int]) -> list[Path]:
        """Write the tensors over several files, ``counts`` of them in each, as llama.cpp splits.

        The first file gets the metadata; all get the keys of a split.
        """
        folder.mkdir(parents=True, exist_ok=True)
        sizes = list(counts)
        assert sum(sizes) == len(self.tensors)
        paths = []
        first = 0
        for number, size in enumerate(sizes):
            keys = list(self.keys) if number == 0 else []
            part = GgufBuilder(self.version, self.alignment, keys=keys)
            part.key("split.no", "u16", number).key("split.count", "u16", len(sizes))
            part.key("split.tensors.count", "i32", len(self.tensors))
            part.tensors = self.tensors[first : first + size]
            first += size
            name = f"{prefix}-{number + 1:05d}-of-{len(sizes):05d}.gguf"
            paths.append(part.write(folder / name))
        return paths
