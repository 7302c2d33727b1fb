"""A llama.cpp RPC server of this machine, in a process of its own: it stands in for a GPU.

The server is the engine's own; its device is the processor. With ``memory_bytes`` it is a small
device: it reports that much memory, counts what is taken of it, and has no more to give.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RpcServer", "free_port", "load_engine", "rpc_server"]


@dataclass(frozen=True, slots=True)
class RpcServer:
    """A server that runs; ``endpoint`` is its address."""

    endpoint: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it at once, as a crash or a pulled plug would."""
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def rpc_server(
    *, memory_bytes: int | None = None, threads: int = 1, port: int | None = None
) -> Iterator[RpcServer]:
    """Run a server.

    Args:
        memory_bytes: memory of its device; the machine's if left out.
        threads: threads that compute.
        port: where it listens; a free one if left out.
    """
    endpoint = f"127.0.0.1:{free_port() if port is None else port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.rpc_server", endpoint, str(memory_bytes or 0),
         str(threads)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    try:
        _wait(endpoint, process)
        yield RpcServer(endpoint, process)
    finally:
        process.kill()
        process.wait()


def _wait(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    host, port = endpoint.split(":")
    for _ in range(1200):  # a machine under load takes its time
        if process.poll() is not None:
            break
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the RPC server did not start")


# --- in the child


def load_engine() -> Any:
    """Return a handle through which the functions of ggml are found as well.

    Opening those libraries by their own names would load them once more, with registries of
    devices of their own.
    """
    import llama_cpp
    from llama_cpp._ctypes_extensions import load_shared_library

    return load_shared_library("llama", Path(llama_cpp.__file__).parent / "lib")


_SIZE = ctypes.POINTER(ctypes.c_size_t)
_GET_MEMORY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _SIZE, _SIZE)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _SmallDevice:
    """Makes a device give out so many bytes and no more, and tell what is left.

    Functions are replaced in ggml's own structures (ggml/src/ggml-backend-impl.h):
    ``get_memory`` is the third of a device, ``alloc_buffer`` the second of a buffer type,
    ``free_buffer`` the first of a buffer.
    """

    def __init__(self, library: Any, device: int, memory_bytes: int) -> None:
        self._total = memory_bytes
        self._sizes: dict[int, int] = {}
        library.ggml_backend_dev_buffer_type.restype = ctypes.c_void_p
        library.ggml_backend_dev_buffer_type.argtypes = [ctypes.c_void_p]
        kind = _functions(library.ggml_backend_dev_buffer_type(device))
        self._allocate_really = _ALLOCATE(kind[1])
        self._free_really: Any = None
        self._callbacks = (
            _GET_MEMORY(self._memory), _ALLOCATE(self._allocate), _FREE(self._free)
        )  # fmt: skip
        memory, allocate, self._free_address = (
            ctypes.cast(callback, ctypes.c_void_p).value or 0 for callback in self._callbacks
        )
        _functions(device)[2] = memory
        kind[1] = allocate

    def _left(self) -> int:
        return self._total - sum(self._sizes.values())

    def _memory(self, _device: int, free: Any, total: Any) -> None:
        free[0], total[0] = self._left(), self._total

    def _allocate(self, kind: int, size_bytes: int) -> int | None:
        if size_bytes > self._left():
            return None
        buffer: int | None = self._allocate_really(kind, size_bytes)
        if buffer:
            self._sizes[buffer] = size_bytes
            functions = _functions(buffer)
            self._free_really = self._free_really or _FREE(functions[0])
            functions[0] = self._free_address
        return buffer

    def _free(self, buffer: int) -> None:
        self._sizes.pop(buffer, None)
        self._free_really(buffer)


def _functions(structure: int) -> Any:
    return ctypes.cast(structure, ctypes.POINTER(ctypes.c_void_p))


def _serve(endpoint: str, memory_bytes: int, threads: int) -> None:
    library = load_engine()
    library.ggml_backend_dev_by_type.restype = ctypes.c_void_p
    library.ggml_backend_dev_by_type.argtypes = [ctypes.c_int]
    device = library.ggml_backend_dev_by_type(0)
    kept = _SmallDevice(library, device, memory_bytes) if memory_bytes else None
    devices = (ctypes.c_void_p * 1)(device)
    library.ggml_backend_rpc_start_server.argtypes = [
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_size_t,
        ctypes.c_void_p,
    ]
    library.ggml_backend_rpc_start_server(endpoint.encode(), None, threads, 1, devices)
    del kept


if __name__ == "__main__":
    _serve(sys.argv[1], *map(int, sys.argv[2:4]))
