"""A model's header as the rest of the program sees it, whatever number of files it lies in."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TypeAlias

from gguf_tools.header.errors import HeaderError
from gguf_tools.header.raw import (
    SCALAR_FORMATS,
    RawHeader,
    RawValue,
    ValueType,
    decode_text,
)
from gguf_tools.quants import TensorType

__all__ = ["Header", "Scalar", "Tensor", "Value"]

Scalar: TypeAlias = int | float | bool | str
Value: TypeAlias = Scalar | list[Scalar]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the model. ``shape[0]`` is the length of a row; ``file`` indexes `Header.files`.

    ``offset`` counts from the start of that file.
    """

    name: str
    shape: tuple[int, ...]
    type: TensorType
    size_bytes: int
    file: int
    offset: int

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    def extent(self, dimension: int) -> int:
        """Return an extent, 1 past the last dimension as in ggml."""
        return self.shape[dimension] if dimension < len(self.shape) else 1


class Header:
    """Metadata and tensors of a model. Small values are in memory, large ones read when asked for.

    ``path`` is the file the engine opens (the first shard), as the user sees it, with symlinks
    unresolved. ``engine_path`` equals it.
    """

    def __init__(self, path: Path, shards: tuple[RawHeader, ...]) -> None:
        self.path = path
        self._shards = shards
        self._values = shards[0].values
        self.files: tuple[Path, ...] = tuple(shard.path for shard in shards)
        self.version = shards[0].version
        self.alignment = shards[0].alignment
        self.file_bytes = sum(shard.file_bytes for shard in shards)
        self.header_bytes = sum(shard.header_bytes for shard in shards)
        self.tensors: Mapping[str, Tensor] = {
            raw.name: Tensor(
                raw.name, raw.shape, raw.type, raw.size_bytes, index, shard.data_offset + raw.offset
            )
            for index, shard in enumerate(shards)
            for raw in shard.tensors
        }

    # --- completeness

    @property
    def needed_bytes(self) -> int:
        """Bytes that complete files have at least, over all shards."""
        return sum(shard.needed_bytes for shard in self._shards)

    @property
    def incomplete_files(self) -> tuple[tuple[Path, int, int], ...]:
        """Shards that lack data: (path, bytes there, bytes needed)."""
        return tuple(
            (shard.path, shard.file_bytes, shard.needed_bytes)
            for shard in self._shards
            if shard.file_bytes < shard.needed_bytes
        )

    # --- metadata

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def keys(self) -> tuple[str, ...]:
        """Return all metadata keys in the file's order."""
        return tuple(self._values)

    def is_array(self, key: str) -> bool:
        """Tell whether a key is there and holds an array."""
        value = self._values.get(key)
        return value is not None and value.count is not None

    def array_length(self, key: str) -> int | None:
        """Return the number of elements without reading them, None if ``key`` is no array."""
        value = self._values.get(key)
        return None if value is None else value.count

    def value_type(self, key: str) -> str | None:
        """Return the type of a value as the format names it: ``u32``, ``str``, ``[f32]``, …"""
        value = self._values.get(key)
        if value is None:
            return None
        name = _TYPE_NAMES[value.type]
        return name if value.count is None else f"[{name}]"

    def value(self, key: str) -> Value | None:
        """Return the value of a key, None if it isn't there.

        Raises:
            HeaderError: the file has changed or gone since it was opened.
        """
        value = self._values.get(key)
        if value is None:
            return None
        raw = value.raw if value.raw is not None else self._read(value)
        if value.count is not None:
            return list(_elements(value, raw))
        if value.type == ValueType.STRING:
            return decode_text(raw)
        scalar: int | float = struct.unpack("<" + SCALAR_FORMATS[value.type], raw)[0]
        return scalar != 0 if value.type == ValueType.BOOL else scalar

    def text(self, key: str) -> str | None:
        """Return a value if it is text, else None."""
        value = self.value(key) if self._has(key, ValueType.STRING) else None
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        """Return a value if it is a whole number, else None."""
        value = None if self.is_array(key) else self.value(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def number(self, key: str) -> float | None:
        """Return a value if it is a number, else None."""
        value = None if self.is_array(key) else self.value(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return float(value)

    def texts(self, key: str) -> list[str]:
        """Return an array of texts, empty if the key holds none."""
        if not self.is_array(key) or self._values[key].type != ValueType.STRING:
            return []
        value = self.value(key)
        return [str(item) for item in value] if isinstance(value, list) else []

    def text_at(self, key: str, index: int) -> str | None:
        """Return one element of an array of texts without decoding the others.

        This is how special tokens are named: ``text_at("tokenizer.ggml.tokens", eos_id)``.
        """
        value = self._values.get(key)
        if value is None or value.count is None or value.type != ValueType.STRING:
            return None
        if not 0 <= index < value.count:
            return None
        raw = value.raw if value.raw is not None else self._read(value)
        at = 0
        for _ in range(index):
            at += 8 + int.from_bytes(raw[at : at + 8], "little")
        length = int.from_bytes(raw[at : at + 8], "little")
        return decode_text(raw[at + 8 : at + 8 + length])

    def _has(self, key: str, kind: int) -> bool:
        value = self._values.get(key)
        return value is not None and value.count is None and value.type == kind

    def _read(self, value: RawValue) -> bytes:
        shard = self._shards[0]
        try:
            with shard.path.open("rb") as file:
                file.seek(value.offset)
                raw = file.read(value.size_bytes)
        except OSError as error:
            message = f"{shard.path} can't be read: {error}."
            raise HeaderError("unreadable", message, shard.path) from error
        if len(raw) != value.size_bytes:
            message = f"{shard.path} has become shorter since it was opened."
            raise HeaderError("truncated", message, shard.path)
        return raw


_TYPE_NAMES = {
    0: "u8",
    1: "i8",
    2: "u16",
    3: "i16",
    4: "u32",
    5: "i32",
    6: "f32",
    ValueType.BOOL: "bool",
    ValueType.STRING: "str",
    10: "u64",
    11: "i64",
    12: "f64",
}


def _elements(value: RawValue, raw: bytes) -> Iterator[Scalar]:
    count = value.count or 0
    if value.type == ValueType.STRING:
        at = 0
        for _ in range(count):
            length = int.from_bytes(raw[at : at + 8], "little")
            yield decode_text(raw[at + 8 : at + 8 + length])
            at += 8 + length
        return
    code = SCALAR_FORMATS[value.type]
    items = struct.unpack(f"<{count}{code}", raw)
    yield from (item != 0 for item in items) if value.type == ValueType.BOOL else items
