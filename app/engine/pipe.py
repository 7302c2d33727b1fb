"""The worker's end of the pipe: a way out, and a thread that takes requests."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable

from app.early_input import Came, EarlyInput
from app.engine.protocol import (
    Bench,
    Cancel,
    CountTokens,
    DryRun,
    EngineMessage,
    Failed,
    Generate,
    LineSplitter,
    Load,
    ProtocolError,
    Quantize,
    QueryMemory,
    Request,
    Score,
    Tune,
    decode_request,
    encode_line,
    request_id,
)

__all__ = ["Inbox", "Outbox"]

# For a load or an evaluation that notices that it is to stop, and for freeing the model in order;
# what is in the middle of something longer ends with the process.
_LAST_CHANCE_S = 1.0
# These keep the engine for as long as they take, and others are refused meanwhile; the rest is
# done in a moment, so what comes after it waits its turn.
_LONG = (Load, DryRun, Generate, Bench, Score, Quantize, Tune)


class Outbox:
    """Sends messages from any thread; ends the process when nobody reads any more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, message: EngineMessage) -> None:
        """Write one line."""
        try:
            data = memoryview(encode_line(message))
        except ProtocolError as error:
            data = memoryview(
                encode_line(
                    Failed(id=getattr(message, "id", 0), kind="bad_request", message=str(error))
                )
            )
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                os._exit(0)  # the window is gone


class Inbox:
    """Takes requests in a thread, so that a cancel is heard while the model computes.

    ``early`` has read stdin since the process began, and ends the process with it until `start`.
    ``on_cancel(target)`` is called in that thread. Small requests are put into `small`, the others
    into `queue`; after the end of input `queue` gives None.
    """

    def __init__(
        self,
        early: EarlyInput,
        outbox: Outbox,
        on_cancel: Callable[[int], None],
        on_end: Callable[[], None],
    ) -> None:
        self._early = early
        self.queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self.small: queue.SimpleQueue[CountTokens | QueryMemory] = queue.SimpleQueue()
        self.busy_id: int | None = None  # the long request that runs or is about to
        self._yields = False  # it ends early for any other request
        self._outbox = outbox
        self._on_cancel = on_cancel
        self._on_end = on_end

    def start(self) -> None:
        """Begin to read."""
        came = self._early.take()
        threading.Thread(target=self._read, args=(came,), name="requests", daemon=True).start()

    def _read(self, came: Came) -> None:
        splitter = LineSplitter()
        try:
            while data := came.get():
                for line in splitter.feed(data):
                    self._take(line)
        except ProtocolError as error:
            # Past an overlong line nothing can be trusted.
            print(f"requests can't be read any more: {error}", file=sys.stderr)
        self.queue.put(None)
        self._on_end()
        time.sleep(_LAST_CHANCE_S)
        os._exit(0)

    def _take(self, line: bytes) -> None:
        try:
            request = decode_request(line)
        except ProtocolError as error:
            self._outbox.send(Failed(id=request_id(line), kind="bad_request", message=str(error)))
            return
        if isinstance(request, Cancel):
            self._on_cancel(request.target)
        elif isinstance(request, CountTokens | QueryMemory):
            self.small.put(request)
            if self.busy_id is None:
                self.queue.put(request)
        elif self.busy_id is not None and not self._yields:
            self._outbox.send(
                Failed(
                    id=request.id,
                    kind="busy",
                    message="The engine is busy with another request; stop it first.",
                )
            )
        else:
            busy_id = self.busy_id
            if busy_id is not None:
                self._on_cancel(busy_id)
                self.busy_id, self._yields = None, False
            if isinstance(request, _LONG):
                self.busy_id = request.id
                self._yields = isinstance(request, Tune)
            self.queue.put(request)
