"""A worker as a subprocess: its pipes, each read by a thread, and the ladder by which it ends."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from app.engine import launch
from app.engine.protocol import EngineMessage, LineSplitter, ProtocolError, decode_message

__all__ = ["Heard", "WorkerProcess"]

_GRACE_S: Final = 2.0

Heard: TypeAlias = "queue.Queue[EngineMessage | ProtocolError | None]"
"""Messages in their order; an error ends them, and so does None: the end of the output."""


class WorkerProcess:
    """One process. ``lines`` gets its stderr, and so does ``sink``."""

    def __init__(
        self,
        remotes: Sequence[str] | None,
        lines: deque[str],
        sink: Callable[[str], None] | None,
    ) -> None:
        self.messages: Heard = queue.Queue()
        self._lines = lines
        self._sink = sink
        self._process = subprocess.Popen(
            launch.worker_argv(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=launch.worker_environment(remotes=remotes),
            # Windows: no console window.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._threads = [
            threading.Thread(target=read, daemon=True)
            for read in (self._read_messages, self._read_stderr)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def _read_messages(self) -> None:
        assert self._process.stdout is not None
        splitter = LineSplitter()
        descriptor = self._process.stdout.fileno()
        try:
            while data := os.read(descriptor, 1 << 16):
                for line in splitter.feed(data):
                    self.messages.put(decode_message(line))
        except ProtocolError as error:
            self.messages.put(error)
        except OSError:
            pass
        self.messages.put(None)

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for raw in self._process.stderr:
            line = raw.decode("utf-8", "replace").rstrip()
            self._lines.append(line)
            if self._sink is not None:
                self._sink(line)

    def write(self, line: bytes) -> None:
        """Send a line. A worker that is gone hears nothing: the reading side knows the cause."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError):  # the other end is gone, or this one was closed meanwhile
            pass

    def kill(self) -> None:
        """End it at once; any thread."""
        self._process.kill()

    def ended(self) -> int:
        """Return the exit code of a process whose output has ended, and free its pipes."""
        code = self._process.wait()
        self._free()
        return code

    def close(self) -> None:
        """End it: close its stdin, then terminate, then kill."""
        process = self._process
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                pass
        for order in (None, process.terminate, process.kill):
            if order is not None:
                order()
            try:
                process.wait(timeout=_GRACE_S)
                break
            except subprocess.TimeoutExpired:
                continue
        self._free()

    def _free(self) -> None:
        for thread in self._threads:
            thread.join(timeout=_GRACE_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
