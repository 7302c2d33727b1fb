"""Importance matrices: how much each input of a matrix matters, as llama.cpp's imatrix tool writes.

Two formats: GGUF with sums of squares and counts, and the older binary one. What a quantiser
wants is the mean (common/imatrix-loader.cpp and tools/quantize/quantize.cpp of llama.cpp).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from gguf_tools.header import Header, HeaderError, Tensor, open_header

__all__ = ["Imatrix", "ImatrixError", "read_imatrix"]

_SUMS: Final = ".in_sum2"
_COUNTS: Final = ".counts"
_MOST_ENTRIES: Final = 1_000_000
_MOST_NAME_BYTES: Final = 4096


class ImatrixError(ValueError):
    """A file that is no importance matrix; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Imatrix:
    """Importance by tensor (float32, one value an input and expert), and what it was made on."""

    entries: Mapping[str, npt.NDArray[np.float32]]
    datasets: tuple[str, ...] = ()
    chunks: int | None = None


def read_imatrix(path: Path) -> Imatrix:
    """Return the importance matrix in a file.

    Raises:
        ImatrixError: it holds none that is whole and finite.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        found = _from_gguf(open_header(path)) if magic == b"GGUF" else _from_binary(path)
    except HeaderError as error:
        raise ImatrixError(str(error)) from error
    except OSError as error:
        raise ImatrixError(f"{path} can't be read: {error.strerror}.") from error
    if not found.entries:
        raise ImatrixError(f"{path.name} holds no importance matrix.")
    for name, values in found.entries.items():
        if not np.isfinite(values).all():
            raise ImatrixError(f"{path.name} is damaged: {name} holds values that are no numbers.")
    return found


def _from_gguf(header: Header) -> Imatrix:
    entries = {}
    for name, tensor in header.tensors.items():
        if not name.endswith(_SUMS):
            continue
        base = name.removesuffix(_SUMS)
        counted = header.tensors.get(base + _COUNTS)
        if counted is None:
            raise ImatrixError(f"{header.path.name} is damaged: {base} has no counts.")
        sums, counts = _floats(header, tensor), np.rint(_floats(header, counted))
        if counts.size == 0 or sums.size % counts.size:
            raise ImatrixError(f"{header.path.name} is damaged: {base} has odd counts.")
        rows = sums.reshape(counts.size, -1)
        # An expert that no token reached weighs its inputs alike.
        safe = np.where(counts > 0, counts, 1)[:, None]
        means = np.where(counts[:, None] > 0, rows / safe, 1.0)
        entries[base] = np.ascontiguousarray(means, dtype=np.float32).reshape(-1)
    return Imatrix(
        entries=entries,
        datasets=tuple(header.texts("imatrix.datasets")),
        chunks=header.integer("imatrix.chunk_count"),
    )


def _floats(header: Header, tensor: Tensor) -> npt.NDArray[np.float32]:
    if tensor.type.name != "F32":
        raise ImatrixError(f"{header.path.name} is damaged: {tensor.name} is not in F32.")
    with header.files[tensor.file].open("rb") as file:
        file.seek(tensor.offset)
        data = file.read(tensor.size_bytes)
    if len(data) != tensor.size_bytes:
        raise ImatrixError(f"{header.path.name} is incomplete: {tensor.name} is cut off.")
    return np.frombuffer(data, dtype="<f4")


def _from_binary(path: Path) -> Imatrix:
    """Read the older format: sums are of all calls, so the mean is theirs over the calls."""
    size = path.stat().st_size
    with path.open("rb") as file:
        entries = dict(_binary_entries(file, path.name, size))
        tail = file.read(4)
        chunks = struct.unpack("<i", tail)[0] if len(tail) == 4 else None
        named = file.read(4)
        length = struct.unpack("<i", named)[0] if len(named) == 4 else 0
        dataset = file.read(length) if 0 < length <= _MOST_NAME_BYTES else b""
    datasets = (dataset.decode("utf-8", "replace"),) if dataset else ()
    return Imatrix(entries=entries, datasets=datasets, chunks=chunks)


def _binary_entries(
    file: BinaryIO, name: str, size_bytes: int
) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    def number() -> int:
        data = file.read(4)
        if len(data) < 4:
            raise ImatrixError(f"{name} is no importance matrix, or is cut off.")
        return int(struct.unpack("<i", data)[0])

    count = number()
    if not 0 < count <= _MOST_ENTRIES:
        raise ImatrixError(f"{name} is no importance matrix.")
    for _ in range(count):
        length = number()
        if not 0 < length <= _MOST_NAME_BYTES:
            raise ImatrixError(f"{name} is no importance matrix.")
        tensor = file.read(length).decode("utf-8", "replace")
        calls, values = number(), number()
        if not 0 < values * 4 <= size_bytes:
            raise ImatrixError(f"{name} is no importance matrix.")
        data = file.read(values * 4)
        if len(data) < values * 4:
            raise ImatrixError(f"{name} is cut off.")
        sums = np.frombuffer(data, dtype="<f4")
        yield tensor, np.ascontiguousarray(sums / calls if calls > 0 else sums, dtype=np.float32)
