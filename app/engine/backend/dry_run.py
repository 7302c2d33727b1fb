"""What llama.cpp would allocate, without allocating: a load that reads no weights.

``no_alloc`` needs load mode "none"; with any other the library ends the process. Caches and
compute buffers are measured, recurrent states are really allocated and freed again.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from llama_cpp._ctypes_extensions import load_shared_library

from app.engine.backend import load_log
from app.engine.backend.context import context_parameters, model_parameters, settle
from app.engine.backend.library import AbortFlag, NativeLog, lib
from app.engine.backend.placing import Placing
from app.engine.interface import DryRunResult, EngineFailure
from app.engine.protocol import EngineBuffer, LoadOptions

__all__ = ["breakdown", "dry_run"]

_LIBRARIES = Path(lib.__file__).parent / "lib"
_BREAKDOWN = "_Z26llama_get_memory_breakdownPK13llama_context"
_SIZE = re.compile(r"llama_kv_cache\S*: size =\s*(?P<mib>[0-9.]+) MiB")
_MIB = 1 << 20


def dry_run(log: NativeLog, path: str, options: LoadOptions, placing: Placing) -> DryRunResult:
    """Return what a load with these options would allocate.

    Raises:
        EngineFailure: the model or the context is refused.
    """
    log.start()
    started = time.monotonic()
    if not Path(path).is_file():
        raise EngineFailure("bad_model", f"There is no file {path}.")
    parameters = model_parameters(options, lib.llama_progress_callback(lambda *_: True))
    placing.apply(parameters)
    parameters.no_alloc = True
    parameters.load_mode = lib.LLAMA_LOAD_MODE_NONE
    model = lib.llama_model_load_from_file(path.encode("utf-8", "surrogateescape"), parameters)
    if not model:
        raise _refused(log, "bad_model", "The model can't be loaded.")
    try:
        settled = settle(options, lib.llama_model_n_ctx_train(model))
        context = lib.llama_init_from_model(model, context_parameters(settled, AbortFlag()))
        if not context:
            raise _refused(log, "bad_request", "The context can't be made.")
        try:
            lines = log.lines()
            exact = breakdown(context)
            return DryRunResult(
                n_ctx=lib.llama_n_ctx(context),
                buffers=tuple(_from_log(lines) if exact is None else [*exact, *_outputs(lines)]),
                exact=exact is not None,
                seconds=time.monotonic() - started,
            )
        finally:
            lib.llama_free(context)
    finally:
        lib.llama_model_free(model)


def _refused(log: NativeLog, kind: Any, sentence: str) -> EngineFailure:
    lines = log.lines()
    causes = load_log.error_lines(lines)
    detail = "\n".join(lines[-40:])
    if causes:
        sentence = f"{sentence[:-1]}: {causes[0].rpartition(': ')[2].rstrip('.')}."
    return EngineFailure(kind, sentence, (), detail)


# --- from the log: to 0.01 MiB, caches of all devices together


def _outputs(lines: Iterable[str]) -> Iterator[EngineBuffer]:
    for item in load_log.buffers(lines):
        if item.what == "output":
            yield EngineBuffer(device="CPU", what="output", size_bytes=item.size_bytes)


def _from_log(lines: list[str]) -> Iterator[EngineBuffer]:
    cache = sum(float(match["mib"]) for line in lines if (match := _SIZE.search(line)))
    for item in load_log.buffers(lines):
        if item.what == "state":
            cache += item.size_bytes / _MIB
        elif item.what == "compute":
            name = "CPU" if item.device.endswith("_Host") else item.device
            yield EngineBuffer(device=name, what="compute", size_bytes=item.size_bytes)
    yield EngineBuffer(device="", what="cache", size_bytes=round(cache * _MIB))
    yield from _outputs(lines)


# --- from the library: to the byte, where its C++ ABI is known


class _Map(ctypes.Structure):
    """``std::map`` of libstdc++."""

    _fields_ = (
        ("compare", ctypes.c_uint64),
        ("colour", ctypes.c_uint64),
        ("root", ctypes.c_void_p),
        ("leftmost", ctypes.c_void_p),
        ("rightmost", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
    )


class _Node(ctypes.Structure):
    """A node of it: a buffer type and ``llama_memory_breakdown_data``."""

    _fields_ = (
        ("colour", ctypes.c_uint64),
        ("parent", ctypes.c_void_p),
        ("left", ctypes.c_void_p),
        ("right", ctypes.c_void_p),
        ("buffer_type", ctypes.c_void_p),
        ("model", ctypes.c_size_t),
        ("context", ctypes.c_size_t),
        ("compute", ctypes.c_size_t),
    )


def breakdown(context: Any) -> list[EngineBuffer] | None:
    """Return buffers by device, None where the library's map can't be read.

    llama.cpp has no C function for this; the C++ one is exported, and its map is read as
    libstdc++ lays it out. Some hundred bytes of nodes are left behind.
    """
    if not sys.platform.startswith("linux"):
        return None
    # Through this handle the functions of ggml are found too; opened by name, ggml would be
    # loaded a second time.
    main: Any = load_shared_library("llama", _LIBRARIES)
    try:
        function = getattr(main, _BREAKDOWN)
    except AttributeError:
        return None
    function.restype = _Map
    function.argtypes = [ctypes.c_void_p]
    found: _Map = function(context)
    if found.count > 64:
        return None
    nodes = list(_nodes(found.root, 64))
    if len(nodes) != found.count:
        return None
    sums: dict[tuple[str, str], int] = {}
    for node in nodes:
        device = _device_name(main, node.buffer_type)
        for what, size in (
            ("weights", node.model),
            ("cache", node.context),
            ("compute", node.compute),
        ):
            sums[device, what] = sums.get((device, what), 0) + size
    return [
        EngineBuffer(device=device, what=what, size_bytes=size)
        for (device, what), size in sorted(sums.items())
    ]


def _nodes(address: int | None, most: int) -> Iterator[_Node]:
    waiting = [address] if address else []
    while waiting and most > 0:
        node = _Node.from_address(waiting.pop())
        most -= 1
        yield node
        waiting += [item for item in (node.left, node.right) if item]


def _device_name(library: Any, buffer_type: int) -> str:
    library.ggml_backend_buft_is_host.restype = ctypes.c_bool
    library.ggml_backend_buft_is_host.argtypes = [ctypes.c_void_p]
    library.ggml_backend_buft_get_device.restype = ctypes.c_void_p
    library.ggml_backend_buft_get_device.argtypes = [ctypes.c_void_p]
    library.ggml_backend_dev_name.restype = ctypes.c_char_p
    library.ggml_backend_dev_name.argtypes = [ctypes.c_void_p]
    device = library.ggml_backend_buft_get_device(buffer_type)
    if library.ggml_backend_buft_is_host(buffer_type) or not device:
        return "CPU"
    name: bytes = library.ggml_backend_dev_name(device)
    return name.decode("utf-8", "replace")
