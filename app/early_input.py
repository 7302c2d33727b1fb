"""Stdin, read from the first moment of a process on.

A process that works for another gets its orders through a pipe, and the pipe's end means that
nobody wants anything more. What the process needs for its work takes a second to import, and on a
busy computer ten; who would look at the pipe only then would live on for as long without anybody.
Reading is the one way to hear of the end that is the same on every system, so a thread reads from
the beginning and keeps what comes.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import TypeAlias

__all__ = ["Came", "EarlyInput"]

_PIECE_BYTES = 1 << 16

Came: TypeAlias = "queue.SimpleQueue[bytes]"
"""Bytes as they came; an empty piece is the end of the input."""


class EarlyInput:
    """Reads this process's stdin. Its end ends the process, until somebody takes what comes."""

    def __init__(self) -> None:
        self._came: Came = queue.SimpleQueue()
        self._is_taken = False
        self._gate = threading.Lock()
        if sys.platform == "win32":
            import msvcrt

            msvcrt.setmode(0, os.O_BINARY)
        threading.Thread(target=self._read, name="input", daemon=True).start()

    def take(self) -> Came:
        """Return what came and will come; from now on its end is the caller's business."""
        with self._gate:
            self._is_taken = True
        return self._came

    def _read(self) -> None:
        data = b"?"
        while data:
            try:
                data = os.read(0, _PIECE_BYTES)
            except OSError:
                data = b""
            with self._gate:
                if not data and not self._is_taken:
                    os._exit(0)  # nothing was begun that would have to be ended in order
            self._came.put(data)
