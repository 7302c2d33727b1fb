"""The hub process: requests as lines on stdin, answers as lines on stdout.

A process of its own, because a transfer in a thread can't be ended: the window ends the process
instead, at any moment and at once. It ends by itself when its stdin does.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.data.hub.errors import HubError
from app.data.hub.fetch import PATIENCE_S, download
from app.data.hub.protocol import (
    Access,
    Answer,
    Cancel,
    Fetch,
    Fetched,
    Found,
    HeadFailed,
    HeadKept,
    HeadsRead,
    Listed,
    LookUp,
    Moved,
    ReadHeads,
    Refused,
    Search,
    decode_request,
    encode_line,
)
from app.private_stdout import claim_stdout
from app.program import own_command

if TYPE_CHECKING:
    from app.data.hub.client import Hub

__all__ = ["child_argv", "main"]

_FLAG = "--hub"


def child_argv() -> list[str]:
    """Return the command line of a hub process, from source and in a built program."""
    return own_command(_FLAG)


def main() -> int:
    """Serve requests until stdin ends; return the exit code."""
    return _Child(claim_stdout()).run()


class _Child:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._writing = threading.Lock()
        self._access: Access | None = None
        self._hub: Hub | None = None
        self._making = threading.Lock()
        self._cancelled: set[int] = set()

    def run(self) -> int:
        with os.fdopen(0, "rb", buffering=0, closefd=False) as requests:
            while line := requests.readline():
                try:
                    request = decode_request(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    print(f"not a request: {error}", file=sys.stderr)
                    continue
                if isinstance(request, Access):
                    self._access = request
                elif isinstance(request, Cancel):
                    self._cancelled.add(request.target)
                else:
                    # A thread each, so that a search needn't wait for headers nobody wants now.
                    threading.Thread(target=self._serve, args=(request,), daemon=True).start()
        # Nobody listens any more: a transfer that runs must not go on in secret.
        os._exit(0)

    def _say(self, answer: Answer) -> None:
        data = memoryview(encode_line(answer))
        with self._writing:
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                os._exit(0)

    def _serve(self, request: Search | LookUp | ReadHeads | Fetch) -> None:
        try:
            self._answer(request)
        except HubError as error:
            self._say(Refused(id=request.id, kind=error.kind, sentence=str(error)))
        except Exception as error:
            import traceback

            traceback.print_exc()
            self._say(
                Refused(
                    id=request.id,
                    kind="unknown",
                    sentence=f"This failed in a way that nobody foresaw ({type(error).__name__}: "
                    "the log has the details).",
                )
            )

    def _answer(self, request: Search | LookUp | ReadHeads | Fetch) -> None:
        hub = self._the_hub()
        if isinstance(request, Search):
            self._say(Found(id=request.id, repositories=hub.search(request.text)))
        elif isinstance(request, LookUp):
            self._say(Listed(id=request.id, listing=hub.listing(request.repository)))
        elif isinstance(request, ReadHeads):
            self._read_heads(request, hub)
        else:
            paths = download(
                request.job,
                hub,
                lambda transfer: self._say(Moved(id=request.id, transfer=transfer)),
                PATIENCE_S if request.patience_s is None else request.patience_s,
            )
            self._say(Fetched(id=request.id, paths=tuple(map(str, paths))))

    def _the_hub(self) -> Hub:
        """Return the one hub of this process: its session is shared by all threads."""
        from app.data.hub.client import Hub

        with self._making:
            if self._access is None:
                raise HubError("unknown", "A hub process was not told how to reach the hub.")
            if self._hub is None:
                self._hub = Hub(self._access.access)
            return self._hub

    def _read_heads(self, request: ReadHeads, hub: Hub) -> None:
        from app.data.hub.heads import HeadReader, prune

        assert self._access is not None
        cache = Path(self._access.cache)
        reader = HeadReader(
            hub,
            request.listing,
            cache,
            lambda: request.id in self._cancelled,
        )
        for variant in request.variants:
            if request.id in self._cancelled:
                break
            try:
                reader.fetch(variant)
            except HubError as error:
                if error.kind not in {"header", "changed", "missing"}:
                    raise
                self._say(HeadFailed(id=request.id, key=variant.key, sentence=str(error)))
            except OSError as error:
                sentence = f"The header can't be kept ({error.strerror or error})."
                self._say(HeadFailed(id=request.id, key=variant.key, sentence=sentence))
            else:
                self._say(
                    HeadKept(id=request.id, key=variant.key, fetched_bytes=reader.fetched_bytes)
                )
        prune(cache)
        self._say(HeadsRead(id=request.id))
