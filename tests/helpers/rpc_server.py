"""A llama.cpp RPC server of this machine, in a process of its own: it stands in for a GPU.

The server is the engine's own; its device is the processor. `memory_bytes` makes it a small
device: it reports so much, and the process can't have more.
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
    *, memory_bytes: int | None = None, limit_bytes: int | None = None, threads: int = 1
) -> Iterator[RpcServer]:
    """Run a server.

    Args:
        memory_bytes: what its device says that it has and has free; the machine's if left out.
        limit_bytes: what the process can really have beside what it holds at its start.
        threads: threads that compute.
    """
    endpoint = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.rpc_server", endpoint, str(memory_bytes or 0),
         str(limit_bytes or 0), str(threads)],
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
    for _ in range(400):
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


_GET_MEMORY = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)


def _small_device(device: int, memory_bytes: int) -> Any:
    """Make a device report so much memory: ``get_memory`` is the third of its functions
    (``ggml_backend_device_i`` in ggml/src/ggml-backend-impl.h).
    """

    def tell(_device: int, free: Any, total: Any) -> None:
        free[0] = total[0] = memory_bytes

    callback = _GET_MEMORY(tell)
    functions = ctypes.cast(device, ctypes.POINTER(ctypes.c_void_p))
    functions[2] = ctypes.cast(callback, ctypes.c_void_p).value or 0
    return callback


def _limit(beyond_bytes: int) -> None:
    import resource

    status = Path("/proc/self/status").read_text()
    now = next(line for line in status.splitlines() if line.startswith("VmSize"))
    most = int(now.split()[1]) * 1024 + beyond_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _serve(endpoint: str, memory_bytes: int, limit_bytes: int, threads: int) -> None:
    library = load_engine()
    library.ggml_backend_dev_by_type.restype = ctypes.c_void_p
    library.ggml_backend_dev_by_type.argtypes = [ctypes.c_int]
    device = library.ggml_backend_dev_by_type(0)
    kept = _small_device(device, memory_bytes) if memory_bytes else None
    devices = (ctypes.c_void_p * 1)(device)
    library.ggml_backend_rpc_start_server.argtypes = [
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_size_t,
        ctypes.c_void_p,
    ]
    if limit_bytes:
        _limit(limit_bytes)
    library.ggml_backend_rpc_start_server(endpoint.encode(), None, threads, 1, devices)
    del kept


if __name__ == "__main__":
    _serve(sys.argv[1], *map(int, sys.argv[2:5]))
