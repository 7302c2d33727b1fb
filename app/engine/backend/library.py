"""The shared library itself: log, devices, and the flag that ends a computation.

Importing this module loads llama.cpp; nothing else of the program does.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import llama_cpp as lib
from llama_cpp._ctypes_extensions import load_shared_library

from app.engine.protocol import DeviceInfo

__all__ = [
    "LIBRARIES",
    "AbortFlag",
    "NativeLog",
    "device_handles",
    "device_name",
    "devices",
    "engine_name",
    "ggml",
    "give_back_memory",
    "lib",
]

LIBRARIES = Path(lib.__file__).parent / "lib"
# ggml/include/ggml.h: none, debug, info, warn, error, continued
_LOG_LEVEL_DEBUG = 1
_LOG_LEVEL_ERROR = 4
_LOG_LEVEL_CONTINUED = 5
_KINDS: dict[int, Literal["cpu", "gpu", "igpu", "accel"]] = {0: "cpu", 1: "gpu", 2: "igpu"}


class NativeLog:
    """Takes llama.cpp's log: whole lines to stderr (the log file) and kept for `lines`."""

    def __init__(self, keep: int = 4000) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=keep)
        self._open = ""
        self._level = 0
        self._watcher: Callable[[str], None] | None = None
        # The callback object must live as long as the library may call it.
        self._callback = lib.llama_log_callback(self._on_text)
        lib.llama_log_set(self._callback, None)

    def _on_text(self, level: int, text: bytes, _user_data: object) -> None:
        if level != _LOG_LEVEL_CONTINUED:
            self._level = level
        if self._level == _LOG_LEVEL_DEBUG:
            return
        self._open += text.decode("utf-8", "replace")
        *whole, self._open = self._open.split("\n")
        for line in whole:
            if line.strip(". "):
                self._lines.append((self._level, line))
                print(line, file=sys.stderr)
                if self._watcher is not None:
                    self._watcher(line)

    @contextmanager
    def watched(self, watcher: Callable[[str], None]) -> Iterator[None]:
        """Call ``watcher`` with each line as it comes, in whatever thread logs it."""
        self._watcher = watcher
        try:
            yield
        finally:
            self._watcher = None

    def start(self) -> None:
        """Forget what was logged so far."""
        self._lines.clear()

    def lines(self) -> list[str]:
        """Return the lines logged since `start`."""
        return [line for _, line in self._lines]

    def errors(self) -> list[str]:
        """Return the lines that llama.cpp itself calls errors."""
        return [line for level, line in self._lines if level == _LOG_LEVEL_ERROR]


class AbortFlag:
    """A flag that llama.cpp reads between graph nodes, without Python.

    A Python callback would take the interpreter's lock for every node of every token. C's
    ``strlen`` on a two-byte buffer has the callback's shape and answers 0 or 1: the length of
    the text in the buffer.
    """

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        libc = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
        self.callback = ctypes.cast(libc.strlen, lib.ggml_abort_callback)
        self.data = ctypes.cast(self._buffer, ctypes.c_void_p)

    def set(self, on: bool) -> None:
        """Raise or lower the flag; any thread."""
        self._buffer[0] = b"1" if on else b"\0"

    def __bool__(self) -> bool:
        return self._buffer[0] != b"\0"


@cache
def ggml() -> Any:
    """Return two libraries with ggml's functions: the very copies that llama.cpp works with.

    Wheels carry ``libggml.so`` and ``libggml.so.0`` as two files; opening the first by its name
    would load ggml once more, with a device registry of its own. On Linux and macOS the handle of
    libllama finds the functions of what it was linked with; Windows looks only into the named one,
    where each library has one file.
    """
    if sys.platform == "win32":
        base: Any = load_shared_library("ggml-base", LIBRARIES)
        main: Any = load_shared_library("ggml", LIBRARIES)
    else:
        base = main = lib.llama_cpp._lib
    pointer = ctypes.c_void_p
    size = ctypes.POINTER(ctypes.c_size_t)
    for library, name, result, arguments in (
        (main, "ggml_backend_dev_count", ctypes.c_size_t, []),
        (main, "ggml_backend_dev_get", pointer, [ctypes.c_size_t]),
        (base, "ggml_backend_dev_name", ctypes.c_char_p, [pointer]),
        (base, "ggml_backend_dev_description", ctypes.c_char_p, [pointer]),
        (base, "ggml_backend_dev_type", ctypes.c_int, [pointer]),
        (base, "ggml_backend_dev_backend_reg", pointer, [pointer]),
        (base, "ggml_backend_reg_name", ctypes.c_char_p, [pointer]),
        (main, "ggml_backend_reg_by_name", pointer, [ctypes.c_char_p]),
        (main, "ggml_backend_register", None, [pointer]),
        (base, "ggml_backend_reg_get_proc_address", pointer, [pointer, ctypes.c_char_p]),
        (base, "ggml_backend_reg_dev_get", pointer, [pointer, ctypes.c_size_t]),
        (base, "ggml_backend_dev_memory", None, [pointer, size, size]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return main, base


def device_name(device: int) -> str:
    """Return the name of a device by its handle."""
    _, base = ggml()
    name: bytes = base.ggml_backend_dev_name(device)
    return name.decode("utf-8", "replace")


def device_handles() -> dict[str, int]:
    """Return llama.cpp's devices by name."""
    main, _ = ggml()
    handles = (main.ggml_backend_dev_get(i) for i in range(main.ggml_backend_dev_count()))
    return {device_name(handle): handle for handle in handles}


def give_back_memory() -> None:
    """Hand pages that the C library keeps for later back to the system, where it can (glibc).

    Without this a freed model leaves tens of MiB behind that look like the engine's own.
    """
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def devices(known: Mapping[str, DeviceInfo] | None = None) -> tuple[DeviceInfo, ...]:
    """Return what llama.cpp's backends report, with memory as of now (0 means unknown: None).

    Devices that are ``known`` by name are taken from there and not asked.
    """
    main, base = ggml()
    found = []
    for index in range(main.ggml_backend_dev_count()):
        device = main.ggml_backend_dev_get(index)
        held = (known or {}).get(device_name(device))
        if held is not None:
            found.append(held)
            continue
        free, total = ctypes.c_size_t(0), ctypes.c_size_t(0)
        base.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
        registry = base.ggml_backend_dev_backend_reg(device)
        found.append(
            DeviceInfo(
                name=device_name(device),
                description=base.ggml_backend_dev_description(device).decode("utf-8", "replace"),
                kind=_KINDS.get(base.ggml_backend_dev_type(device), "accel"),
                backend=base.ggml_backend_reg_name(registry).decode("utf-8", "replace"),
                total_bytes=total.value or None,
                free_bytes=free.value or None,
            )
        )
    return tuple(found)


def engine_name() -> str:
    """Return the identity of the engine build: binding version and llama.cpp's own."""
    version = lib.llama_version()
    text = version.decode() if isinstance(version, bytes) else str(version)
    return f"llama-cpp-python {lib.__version__} · llama.cpp {text}"
