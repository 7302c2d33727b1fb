"""A process that has read every module of the window and splits off one at each wish (POSIX).

A forked window makes its own `QApplication` and everything after it, so it differs from a new
interpreter's only in that modules are not read again. `Nursery` is the side that wishes; run as a
module, this file is the nursery, which gets its wishes from a socket that is its stdin.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

__all__ = ["Nursery", "SplitOff"]

_ROOT = Path(__file__).resolve().parents[2]
_PIECE_BYTES = 1 << 16
_POLL_S = 0.005


class SplitOff:
    """A forked window, used like a `subprocess.Popen` with text pipes."""

    def __init__(self, nursery: Nursery, pid: int, pipes: tuple[IO[str], IO[str], IO[str]]) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self._nursery = nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if self._code is None:
            self._code = self._nursery.code_of(self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: as with Popen.
        """
        end_s = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end_s is not None and time.monotonic() > end_s:
                assert timeout is not None
                raise subprocess.TimeoutExpired("window", timeout)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """Starts windows quickly. Use as a context manager."""

    def __enter__(self) -> Self:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.helpers.window_nursery"],
                cwd=_ROOT,
                stdin=theirs.fileno(),
                # Idle threads of a library for matrices would not survive the fork.
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
        self._process.wait(timeout=30)

    def split_off(self, arguments: list[str], environment: Mapping[str, str]) -> SplitOff:
        """Return a new window."""
        ends = [os.pipe(), os.pipe(), os.pipe()]
        theirs = [ends[0][0], ends[1][1], ends[2][1]]
        wish = {"arguments": arguments, "environment": dict(environment)}
        socket.send_fds(self._socket, [_line(wish)], theirs)
        for handle in theirs:
            os.close(handle)
        pid = int(self._answer())
        pipes = (os.fdopen(ends[0][1], "w"), os.fdopen(ends[1][0]), os.fdopen(ends[2][0]))
        return SplitOff(self, pid, pipes)

    def code_of(self, pid: int) -> int | None:
        """Return the exit code of a window, None while it runs."""
        self._socket.sendall(_line({"code": pid}))
        answer = self._answer()
        return None if answer is None else int(answer)

    def _answer(self) -> Any:
        line, _handles = _received(self._socket)
        if not line:
            raise ChildProcessError("the nursery has ended")
        return json.loads(line)


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _received(stream: socket.socket) -> tuple[bytes, list[int]]:
    """Return a line, empty at the end, and the descriptors that came with it."""
    line, handles = b"", list[int]()
    while not line.endswith(b"\n"):
        data, came, _flags, _address = socket.recv_fds(stream, _PIECE_BYTES, 3)
        handles += came
        if not data:
            return b"", handles
        line += data
    return line, handles


# --- the nursery itself


def _main() -> int:
    import inspector.widgets.plots.growth
    import tests.helpers.window_child as child
    from app.ui.application import Application
    from app.ui.later import Later

    _ = inspector.widgets.plots.growth  # read by the window a moment after it stands
    for part in vars(Application).values():
        if isinstance(part, Later):
            importlib.import_module(part.module)
    gc.collect()
    gc.freeze()  # pages of what was read stay shared
    wishes = socket.socket(fileno=os.dup(0))
    codes: dict[int, int] = {}
    while True:
        line, handles = _received(wishes)
        if not line:
            return 0
        wish = json.loads(line)
        if "code" in wish:
            _collect(codes)
            wishes.sendall(_line(codes.get(wish["code"])))
            continue
        pid = os.fork()
        if pid == 0:
            wishes.close()
            for number, handle in enumerate(handles):
                os.dup2(handle, number)
                os.close(handle)
            os.environ.clear()
            os.environ.update(wish["environment"])
            child.main(wish["arguments"])  # never returns
        for handle in handles:
            os.close(handle)
        wishes.sendall(_line(pid))


def _collect(codes: dict[int, int]) -> None:
    """Note the exit codes of windows that have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        codes[pid] = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(_main())
