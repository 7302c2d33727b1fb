"""What one GGUF file says, before split files are joined: its values and tensors as they lie."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gguf_tools.quants import TensorType

__all__ = [
    "SCALAR_FORMATS",
    "SCALAR_SIZES",
    "RawHeader",
    "RawTensor",
    "RawValue",
    "ValueType",
    "decode_text",
]


class ValueType:
    """Numbers of ``gguf_type``."""

    BOOL: Final = 7
    STRING: Final = 8
    ARRAY: Final = 9


_SCALARS: Final[dict[int, struct.Struct]] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    ValueType.BOOL: struct.Struct("<b"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
SCALAR_FORMATS: Final = {kind: packed.format[1:] for kind, packed in _SCALARS.items()}
SCALAR_SIZES: Final = {kind: packed.size for kind, packed in _SCALARS.items()}


@dataclass(frozen=True, slots=True)
class RawValue:
    """Where a value lies: ``type`` of the value or of the array's elements.

    ``count`` is None for a scalar. ``raw`` holds the bytes of small values; for strings it leaves
    out the length that stands before them.
    """

    type: int
    count: int | None
    offset: int
    size_bytes: int
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class RawTensor:
    """One entry of the tensor list; ``offset`` counts from the start of the data section."""

    name: str
    shape: tuple[int, ...]
    type: TensorType
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class RawHeader:
    """What one file says, before split files are joined."""

    path: Path
    version: int
    values: dict[str, RawValue]
    tensors: tuple[RawTensor, ...]
    alignment: int
    data_offset: int
    header_bytes: int
    file_bytes: int
    modified_ns: int
    glued: bool  # another GGUF header starts where this file's data ends

    @property
    def needed_bytes(self) -> int:
        """Length a complete file has at least."""
        if not self.tensors:
            return self.header_bytes
        return self.data_offset + max(tensor.offset + tensor.size_bytes for tensor in self.tensors)


def decode_text(raw: bytes) -> str:
    """Return text; bytes that are no UTF-8 become replacement marks, the rest stays readable."""
    return raw.decode("utf-8", errors="replace")
