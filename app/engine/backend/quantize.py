"""llama.cpp's own quantiser: one file in, one file out, heard by its log."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from app.engine.backend.library import NativeLog, lib
from app.engine.interface import EngineFailure, QuantizeJob

__all__ = ["quantize"]

_TENSOR: Final = re.compile(r"\[\s*(\d+)/\s*(\d+)\]")
_INT: Final = 0
_TEXT: Final = 3
_MOST_TEXT_BYTES: Final = 127
# Rows of one tensor held at once; the default of 8 GiB is more than many computers have.
_BUFFER_BYTES: Final = 1 << 30


def quantize(log: NativeLog, job: QuantizeJob, on_tensor: Callable[[int, int], None]) -> None:
    """Write a variant; ``on_tensor(done, all)`` is called after each tensor, in the log's order.

    Raises:
        EngineFailure: llama.cpp gave up; the target may be there in part.
    """
    parameters = lib.llama_model_quantize_default_params()
    parameters.ftype = job.file_type
    parameters.nthread = job.threads
    parameters.allow_requantize = job.allow_requantize
    parameters.max_buf_size = _BUFFER_BYTES
    keys = _overrides(job.metadata)
    parameters.kv_overrides = ctypes.cast(keys, ctypes.POINTER(lib.llama_model_kv_override))
    importance = None
    if job.imatrix:
        importance = _importance(job.imatrix)
        parameters.imatrix = ctypes.cast(importance, ctypes.POINTER(lib.llama_model_imatrix_data))

    def watch(line: str) -> None:
        if match := _TENSOR.match(line):
            on_tensor(int(match[1]), int(match[2]))

    log.start()
    with log.watched(watch):
        code = lib.llama_model_quantize(
            job.source.encode("utf-8", "surrogateescape"),
            job.target.encode("utf-8", "surrogateescape"),
            ctypes.byref(parameters),
        )
    del importance  # lived until here for the library
    if code:
        raise EngineFailure("engine", _cause(log.errors()), (), "\n".join(log.lines()[-40:]))


def _cause(errors: list[str]) -> str:
    for line in errors:
        _, found, rest = line.partition("failed to quantize: ")
        if found:
            return f"The engine could not make the variant: {rest.strip().rstrip('.')}."
    return "The engine could not make the variant."


def _overrides(metadata: Mapping[str, str | int]) -> Any:
    """Return llama.cpp's array of metadata to set; an entry without a key ends it."""
    array = (lib.llama_model_kv_override * (len(metadata) + 1))()
    for entry, (key, value) in zip(array, metadata.items(), strict=False):
        entry.key = key.encode()
        if isinstance(value, int):
            entry.tag = _INT
            entry.value.val_i64 = value
        else:
            entry.tag = _TEXT
            data = value.encode("utf-8", "replace")[:_MOST_TEXT_BYTES]
            entry.value.val_str = data.decode("utf-8", "ignore").encode()
    return array


def _importance(entries: Mapping[str, Any]) -> Any:
    """Return llama.cpp's array of importance; an entry without a name ends it."""
    array = (lib.llama_model_imatrix_data * (len(entries) + 1))()
    for entry, (name, values) in zip(array, entries.items(), strict=False):
        entry.name = name.encode()
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        entry.size = values.size
    return array
