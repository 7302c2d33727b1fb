"""A network between an engine and a server on this machine: counted, slow, or cut."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from types import TracebackType
from typing import Self

__all__ = ["Network"]

_PIECE = 1 << 16


class Network:
    """Passes what is sent to ``endpoint`` on, and counts it; connect to `endpoint`.

    ``delay_s`` is the way in one direction, ``bytes_per_s`` what fits through it.
    """

    def __init__(
        self, endpoint: str, *, delay_s: float = 0.0, bytes_per_s: float | None = None
    ) -> None:
        host, port = endpoint.split(":")
        self._target = (host, int(port))
        self._delay_s = delay_s
        self._bytes_per_s = bytes_per_s
        self._lock = threading.Lock()
        self._streams: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent_bytes = 0
        self.received_bytes = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()
        self.cut()

    @property
    def moved_bytes(self) -> int:
        """What went through in both directions."""
        with self._lock:
            return self.sent_bytes + self.received_bytes

    def cut(self) -> None:
        """Break every connection."""
        with self._lock:
            streams, self._streams = self._streams, []
        for stream in streams:
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            stream.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target, timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            for stream in (near, far):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._streams += [near, far]
            for source, target, there in ((near, far, True), (far, near, False)):
                _Pipe(self, source, target, there=there).start()

    def _count(self, size: int, *, there: bool) -> None:
        with self._lock:
            if there:
                self.sent_bytes += size
            else:
                self.received_bytes += size


class _Pipe:
    """One direction: a thread that takes, and one that hands on when the time has come."""

    def __init__(
        self, network: Network, source: socket.socket, target: socket.socket, *, there: bool
    ) -> None:
        self._network = network
        self._source = source
        self._target = target
        self._there = there
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._arrived = threading.Condition()

    def start(self) -> None:
        for work in (self._take, self._hand_on):
            threading.Thread(target=work, daemon=True).start()

    def _take(self) -> None:
        data = b" "
        free_s = 0.0
        while data:
            try:
                data = self._source.recv(_PIECE)
            except OSError:
                data = b""
            self._network._count(len(data), there=self._there)
            now_s = time.monotonic()
            rate = self._network._bytes_per_s
            free_s = max(free_s, now_s) + (len(data) / rate if rate else 0.0)
            with self._arrived:
                self._waiting.append((free_s + self._network._delay_s, data))
                self._arrived.notify()

    def _hand_on(self) -> None:
        while True:
            with self._arrived:
                while not self._waiting:
                    self._arrived.wait()
                due_s, data = self._waiting.popleft()
            wait_s = due_s - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)
            try:
                if not data:
                    self._target.shutdown(socket.SHUT_WR)
                    return
                self._target.sendall(data)
            except OSError:
                return
