"""Reads the header of one GGUF file: bounded, without trusting a single length in it.

Follows ggml/src/gguf.cpp (``gguf_init_from_reader``) in what it accepts. The file is mapped, and
only the header's pages are touched; vocabularies are stepped over, never decoded. Every count is
compared with the bytes that are left before it is used, so a hostile file costs no more than an
honest one of the same length.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import struct
from pathlib import Path
from typing import Final, NoReturn

from gguf_tools.header.errors import HeaderError, HeaderErrorKind
from gguf_tools.header.raw import (
    SCALAR_SIZES,
    RawHeader,
    RawTensor,
    RawValue,
    ValueType,
    decode_text,
)
from gguf_tools.quants import REMOVED_TYPES, tensor_type
from gguf_tools.units import round_up

__all__ = ["read_raw_header"]

_DEFAULT_ALIGNMENT: Final = 32
_MAX_KEY_BYTES: Final = 65_535
_MAX_NAME_BYTES: Final = 63  # GGML_MAX_NAME counts the end mark
_MAX_DIMENSIONS: Final = 4
_MAX_ELEMENTS: Final = 2**30  # GGUF_MAX_ARRAY_ELEMENTS
_MAX_STRING_BYTES: Final = 2**30  # GGUF_MAX_STRING_LENGTH
_KEEP_BYTES: Final = 4096  # values up to this size stay in memory; larger ones are read on demand
_INT64_MAX: Final = 2**63 - 1

_KV_MIN_BYTES: Final = 8 + 1 + 4 + 1
_TENSOR_MIN_BYTES: Final = 8 + 4 + 4 + 8

_U32: Final = struct.Struct("<I").unpack_from
_I32: Final = struct.Struct("<i").unpack_from
_U64: Final = struct.Struct("<Q").unpack_from

# A run of strings of up to 63 bytes, matched in C: 38 ns a string instead of 60 in a Python loop.
# It can't be fooled, because each string's own length says where the next one starts; a chunk
# that holds a longer string doesn't match and is walked one by one.
_CHUNK_STRINGS: Final = 512
_SHORT_STRINGS: Final = re.compile(
    b"(?s:(?>"
    + b"|".join(
        re.escape(bytes([length])) + rb"\0{7}" + b".{%d}" % length for length in (*range(1, 64), 0)
    )
    + b")){%d}+" % _CHUNK_STRINGS
)


def read_raw_header(path: Path) -> RawHeader:
    """Return the header of one file.

    Raises:
        HeaderError: there is no usable header, for a reason that ``kind`` names.
    """
    try:
        # Before it is opened: opening a pipe waits for somebody who writes, perhaps for ever.
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            message = f"{path} is a folder: choose a .gguf file inside it."
            raise HeaderError("directory", message, path)
        if not stat.S_ISREG(mode):
            raise HeaderError(
                "unreadable", f"{path} is {_special(mode)}, not a file: choose a .gguf file.", path
            )
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size == 0:
                message = f"{path} is empty: the download has not begun or has failed."
                raise HeaderError("empty", message, path)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                return _Parser(path, view, status.st_mtime_ns).parse()
    except FileNotFoundError as error:
        raise HeaderError("missing", f"There is no file {path}.", path) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error  # the path stands in the sentence
        raise HeaderError("unreadable", f"{path} can't be read: {reason}.", path) from error


def _special(mode: int) -> str:
    """Return what is neither a file nor a folder, in words."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


class _Parser:
    """Walks one mapped file from front to back."""

    def __init__(self, path: Path, view: mmap.mmap, modified_ns: int) -> None:
        self._path = path
        self._view = view
        self._size = len(view)
        self._at = 0
        self._modified_ns = modified_ns

    # --- bounded steps

    def _fail(self, kind: HeaderErrorKind, message: str) -> NoReturn:
        raise HeaderError(kind, f"{self._path} {message}", self._path)

    def _damaged(self, what: str) -> NoReturn:
        self._fail("damaged", f"is damaged or was made to do harm: {what}.")

    def _need(self, count: int) -> None:
        if count > self._size - self._at:
            self._fail(
                "truncated",
                f"ends inside its header after {self._size} bytes: the download is incomplete.",
            )

    def _u32(self) -> int:
        self._need(4)
        value: int = _U32(self._view, self._at)[0]
        self._at += 4
        return value

    def _u64(self) -> int:
        self._need(8)
        value: int = _U64(self._view, self._at)[0]
        self._at += 8
        return value

    def _string_length(self, what: str, limit: int) -> int:
        length = self._u64()
        if length > limit:
            self._damaged(f"{what} claims {length} bytes")
        self._need(length)
        return length

    # --- the parts of a header, in their order

    def parse(self) -> RawHeader:
        version = self._magic_and_version()
        tensor_count = self._u64()
        value_count = self._u64()
        # Each entry takes a least number of bytes, so no honest count passes what is left.
        left = self._size - self._at
        if value_count > _INT64_MAX or tensor_count > _INT64_MAX:
            self._damaged(f"it claims {value_count} keys and {tensor_count} tensors")
        if value_count * _KV_MIN_BYTES + tensor_count * _TENSOR_MIN_BYTES > left:
            if max(value_count, tensor_count) > 2**32:
                self._damaged(f"it claims {value_count} keys and {tensor_count} tensors")
            self._need(left + 1)
        values = self._values(value_count)
        alignment = self._alignment(values)
        tensors = self._tensors(tensor_count, alignment)
        header_bytes = self._at
        data_offset = round_up(header_bytes, alignment) if tensors else header_bytes
        end = data_offset
        if tensors:
            end += round_up(tensors[-1].offset + tensors[-1].size_bytes, alignment)
        return RawHeader(
            path=self._path,
            version=version,
            values=values,
            tensors=tensors,
            alignment=alignment,
            data_offset=data_offset,
            header_bytes=header_bytes,
            file_bytes=self._size,
            modified_ns=self._modified_ns,
            glued=end + 4 <= self._size and self._view[end : end + 4] == b"GGUF",
        )

    def _magic_and_version(self) -> int:
        head = self._view[:512]
        if head[:4] != b"GGUF":
            self._not_gguf(head)
        self._at = 4
        version = self._u32()
        if version & 0xFFFF == 0 and version != 0:
            self._fail(
                "byte_order",
                "was written for machines of the other byte order; llama.cpp can't load it here.",
            )
        if version == 1:
            self._fail("too_old", "is GGUF version 1, which llama.cpp reads no more: convert anew.")
        if version > 3:
            self._fail("too_new", f"is GGUF version {version}; this program reads 2 and 3.")
        if version == 0:
            self._damaged("its version is 0")
        return version

    def _not_gguf(self, head: bytes) -> NoReturn:
        if b"GGUF".startswith(head[:4]):
            self._need(4)
        if head.startswith(b"version https://git-lfs"):
            self._fail(
                "lfs_pointer",
                "is a git-LFS pointer, not the model itself: fetch the real file (git lfs pull).",
            )
        if re.match(rb"\s*<(?:!doctype|html|\?xml|head)", head, re.IGNORECASE):
            self._fail("web_page", "is a web page, not a model: the download led to a page.")
        if head[:4] in {b"lmgg", b"tjgg", b"fmgg", b"algg", b"ggml", b"ggjt", b"ggmf", b"ggla"}:
            self._fail(
                "old_format",
                "has a format from before GGUF, which llama.cpp reads no more: get a GGUF file.",
            )
        shown = " ".join(f"{byte:02x}" for byte in head[:4])
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in head[:4])
        self._fail("not_gguf", f"is not a GGUF file: it starts with {shown} ({text}).")

    def _values(self, count: int) -> dict[str, RawValue]:
        values: dict[str, RawValue] = {}
        for _ in range(count):
            length = self._string_length("a key", _MAX_KEY_BYTES)
            if length == 0:
                self._damaged("a key is empty")
            key = decode_text(self._view[self._at : self._at + length])
            self._at += length
            if key in values:
                self._damaged(f"the key {key[:80]} occurs twice")
            values[key] = self._value(key)
        return values

    def _value(self, key: str) -> RawValue:
        kind = self._u32()
        if kind != ValueType.ARRAY:
            if kind == ValueType.STRING:
                size = self._string_length(f"the value of {key[:80]}", _MAX_STRING_BYTES)
            elif kind in SCALAR_SIZES:
                size = SCALAR_SIZES[kind]
                self._need(size)
            else:
                self._damaged(f"the key {key[:80]} has the unknown type {kind}")
            return self._kept(kind, None, size)
        kind = self._u32()
        count = self._u64()
        if kind == ValueType.STRING:
            smallest = 8
        elif kind in SCALAR_SIZES:
            smallest = SCALAR_SIZES[kind]
        else:
            self._damaged(f"the key {key[:80]} has elements of the unknown type {kind}")
        if count > _MAX_ELEMENTS:
            self._damaged(f"the key {key[:80]} claims {count} elements")
        self._need(count * smallest)
        if kind == ValueType.STRING:
            return self._kept(kind, count, self._strings_end(count) - self._at)
        return self._kept(kind, count, count * smallest)

    def _kept(self, kind: int, count: int | None, size: int) -> RawValue:
        start = self._at
        self._at += size
        raw = self._view[start : start + size] if size <= _KEEP_BYTES else None
        return RawValue(kind, count, start, size, raw)

    def _strings_end(self, count: int) -> int:
        """Return where an array of ``count`` strings ends, without decoding one."""
        view = self._view
        at = self._at
        size = self._size
        while count:
            if count >= _CHUNK_STRINGS:
                match = _SHORT_STRINGS.match(view, at)
                if match is not None:
                    at = match.end()
                    count -= _CHUNK_STRINGS
                    continue
            steps = min(count, _CHUNK_STRINGS)
            count -= steps
            try:
                for _ in range(steps):
                    at += 8 + _U64(view, at)[0]
            except (struct.error, OverflowError):
                at = size + 1
            if at > size:
                self._need(size)  # a string runs past the end of the file
        return at

    def _alignment(self, values: dict[str, RawValue]) -> int:
        value = values.get("general.alignment")
        if value is None:
            return _DEFAULT_ALIGNMENT
        if value.type != 4 or value.count is not None or value.raw is None:
            self._damaged("its alignment is no 32-bit number")
        alignment: int = _U32(value.raw)[0]
        if alignment == 0 or alignment & (alignment - 1):
            self._damaged(f"its alignment {alignment} is no power of two")
        return alignment

    def _tensors(self, count: int, alignment: int) -> tuple[RawTensor, ...]:
        tensors: list[RawTensor] = []
        names: set[str] = set()
        expected = 0
        for _ in range(count):
            tensor = self._tensor()
            if tensor.name in names:
                self._damaged(f"the tensor {tensor.name} occurs twice")
            names.add(tensor.name)
            if tensor.offset != expected:
                self._damaged(f"the tensor {tensor.name} lies at {tensor.offset}, not {expected}")
            expected += round_up(tensor.size_bytes, alignment)
            tensors.append(tensor)
        return tuple(tensors)

    def _tensor(self) -> RawTensor:
        length = self._string_length("the name of a tensor", _MAX_NAME_BYTES)
        name = decode_text(self._view[self._at : self._at + length])
        self._at += length
        dimensions = self._u32()
        if dimensions > _MAX_DIMENSIONS:
            self._damaged(f"the tensor {name[:80]} claims {dimensions} dimensions")
        shape: list[int] = []
        elements = 1
        for _ in range(dimensions):
            extent = self._u64()
            shape.append(extent)
            elements *= max(extent, 1)
            if elements > _INT64_MAX:
                self._damaged(f"the tensor {name[:80]} claims {elements} elements")
        self._need(12)
        type_id: int = _I32(self._view, self._at)[0]
        kind = tensor_type(type_id)
        if kind is None:
            if type_id in REMOVED_TYPES:
                self._fail(
                    "too_old",
                    f"uses the type {REMOVED_TYPES[type_id]}, which llama.cpp reads no more.",
                )
            self._fail("too_new", f"uses the tensor type {type_id}, unknown to this program.")
        offset: int = _U64(self._view, self._at + 4)[0]
        self._at += 12
        first = shape[0] if shape else 1
        if first % kind.block:
            self._damaged(f"rows of the tensor {name} hold {first} elements, no whole blocks")
        rows = 1
        for extent in shape[1:]:
            rows *= extent
        return RawTensor(name, tuple(shape), kind, offset, kind.row_bytes(first) * rows)
