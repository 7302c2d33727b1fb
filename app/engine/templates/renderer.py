"""Renders chat templates in a process of its own, within limits of time, output and memory.

A template is a program from an untrusted file. Python's sandbox keeps it from the machine, but
neither its time nor its memory can be bounded from within the same process, so it runs in a small
child which is killed when it passes a limit. The next call starts another.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import psutil

from app.engine.templates.errors import TEMPLATE_ERROR_KINDS, TemplateError
from app.engine.templates.frames import read_frame, write_frame
from app.program import own_command

__all__ = ["TemplateRenderer", "argv"]

CHILD_FLAG: Final = "--template-child"
TIME_LIMIT_S: Final = 2.0
OUTPUT_LIMIT_BYTES: Final = 10_000_000
MEMORY_LIMIT_BYTES: Final = 1024**3

_START_LIMIT_S: Final = 30.0
_QUIT_LIMIT_S: Final = 2.0
_POLL_S: Final = 0.02
# A machine that is busy loading a model may leave the child without a processor for seconds,
# which is no fault of the template: time counts as processor time, up to this many limits.
_WALL_LIMITS: Final = 5


def argv() -> list[str]:
    """Return the command that starts the child."""
    if getattr(sys, "frozen", False):
        return own_command(CHILD_FLAG)
    # Not by way of the program, which imports more than a template needs.
    return [sys.executable, "-m", "app.engine.templates.child"]


class TemplateRenderer:
    """Renders templates in a child process, started at the first call and after each kill.

    Calls from several threads wait for each other. Use it as a context manager, or `close` it.
    """

    def __init__(
        self,
        *,
        time_limit_s: float = TIME_LIMIT_S,
        output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
        command: Sequence[str] | None = None,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._output_limit_bytes = output_limit_bytes
        self._memory_limit_bytes = memory_limit_bytes
        self._command = list(command) if command is not None else argv()
        self._lock = threading.Lock()
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child, None while none runs."""
        child = self._child
        return None if child is None else child.pid

    def render(self, source: str, values: Mapping[str, object], now: str | None = None) -> str:
        """Return the text that a template makes of its variables.

        ``values`` must be plain JSON data; ``now`` (ISO 8601) is the time that it is told.

        Raises:
            TemplateError: it is faulty, was refused or passed a limit.
            ValueError: ``now`` is no time.
        """
        if now is not None:
            datetime.fromisoformat(now)
        request = {
            "source": source,
            "values": values,
            "now": now,
            "output_limit_bytes": self._output_limit_bytes,
            "memory_limit_bytes": self._memory_limit_bytes,
            # later than the parent's own limit, which gives the better message
            "wall_limit_s": self._time_limit_s * _WALL_LIMITS + 1.0,
        }
        with self._lock:
            answer = self._ask(json.dumps(request).encode())
        return _text_of(answer)

    def close(self) -> None:
        """End the child, at once if it is rendering. A later call would start a new one."""
        child = self._child
        if not self._lock.acquire(blocking=False):
            if child is not None:
                child.stop()
            self._lock.acquire()
        try:
            child, self._child = self._child, None
            if child is not None:
                child.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, request: bytes) -> bytes:
        child = self._running_child()
        try:
            return child.ask(request, self._time_limit_s, self._memory_limit_bytes)
        except TemplateError:
            self._child = None
            child.kill()
            raise

    def _running_child(self) -> _Child:
        if self._child is not None and not self._child.alive:
            self._child.kill()
            self._child = None
        if self._child is None:
            self._child = _Child(self._command)
        return self._child


class _Child:
    """One running child; after a `TemplateError` it is of no more use."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it and wait until it is ready.

        Raises:
            TemplateError: it does not start.
        """
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment_variables(),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise _not_started(str(error)) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        self._queue: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(
            target=_read_frames, args=(self._answers, self._queue), name="templates", daemon=True
        )
        self._reader.start()
        try:
            ready = self._queue.get(timeout=_START_LIMIT_S)
        except queue.Empty:
            ready = None
        if ready is None:
            self.kill()
            raise _not_started("it did not answer")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes, time_limit_s: float, memory_limit_bytes: int) -> bytes:
        """Return the answer to one request.

        Raises:
            TemplateError: a limit was passed, or the child died.
        """
        watched = _Watched(self._process.pid)
        try:
            write_frame(self._requests, request)
        except (OSError, ValueError) as error:
            raise _died() from error
        wall_end = time.monotonic() + time_limit_s * _WALL_LIMITS
        while True:
            try:
                answer = self._queue.get(timeout=_POLL_S)
            except queue.Empty:
                if watched.memory_bytes() > memory_limit_bytes:
                    raise TemplateError(
                        "memory", None, "The chat template takes too much memory"
                    ) from None
                if watched.used_s() > time_limit_s or time.monotonic() > wall_end:
                    raise TemplateError(
                        "time", None, f"The chat template takes longer than {time_limit_s:g} s"
                    ) from None
                continue
            if answer is None:
                raise _died()
            return answer

    def close(self) -> None:
        """Let the child end by itself, which it does at once unless it is rendering."""
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(_QUIT_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def stop(self) -> None:
        """End the child now; whoever waits for its answer learns that it died."""
        self._process.kill()

    def kill(self) -> None:
        """End the child now and free what it held."""
        self.stop()
        self._process.wait()
        self._reader.join()
        with contextlib.suppress(OSError):
            self._requests.close()
        self._answers.close()


class _Watched:
    """What a process uses. A process that is gone uses nothing: its end is noticed elsewhere."""

    def __init__(self, pid: int) -> None:
        self._process: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._process = psutil.Process(pid)
        self._start_s = self._processor_s()

    def used_s(self) -> float:
        """Return the processor time since the start."""
        return self._processor_s() - self._start_s

    def memory_bytes(self) -> int:
        """Return the resident memory."""
        if self._process is not None:
            with contextlib.suppress(psutil.Error):
                return int(self._process.memory_info().rss)
        return 0

    def _processor_s(self) -> float:
        if self._process is not None:
            with contextlib.suppress(psutil.Error):
                times = self._process.cpu_times()
                return float(times.user + times.system)
        return 0.0


def _read_frames(stream: IO[bytes], answers: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while (frame := read_frame(stream)) is not None:
            answers.put(frame)
    answers.put(None)


def _environment_variables() -> dict[str, str]:
    """Return the environment, in which the child finds this package from any folder."""
    root = str(Path(__file__).resolve().parents[3])
    inherited = os.environ.get("PYTHONPATH")
    path = root if not inherited else os.pathsep.join((root, inherited))
    return {**os.environ, "PYTHONPATH": path}


def _text_of(answer: bytes) -> str:
    body = answer[1:]
    if answer[:1] == b"T":
        return body.decode("utf-8", "replace")
    kind, line, message = json.loads(body)
    assert kind in TEMPLATE_ERROR_KINDS
    raise TemplateError(kind, line, message)


def _not_started(reason: str) -> TemplateError:
    return TemplateError("refused", None, f"The chat template renderer does not start: {reason}")


def _died() -> TemplateError:
    return TemplateError("memory", None, "The chat template broke the process that rendered it")
