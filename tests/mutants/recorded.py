"""The engine's figures, asked for once: a fault in a formula does not change what the engine says.

Tests that hold a plan against a dry run of the engine would take seconds for every fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.helpers import engine_dry_runs, quantize_dry_runs, rpc_server
from tests.helpers.engine_dry_runs import Asked, Ran
from tests.helpers.quantize_dry_runs import QuantizeRan
from tests.helpers.rpc_server import RpcServer

__all__ = ["record"]

_HEADER_BYTES = 4 << 20
_MOST_SERVERS = 2  # that a test asks for at once


def record(servers: ExitStack) -> None:
    """Put a memory before both kinds of dry runs; RPC servers live as long as ``servers``."""
    _record_loads(servers)
    _record_variants()


def _content(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(_HEADER_BYTES)).hexdigest(), path.stat().st_size


def _record_loads(servers: ExitStack) -> None:
    ask, serve = engine_dry_runs.dry_runs, rpc_server.rpc_server
    known: dict[object, list[Ran]] = {}
    # Before any test, since a test must not leave a process behind that it found not running.
    running = [servers.enter_context(serve()) for _ in range(_MOST_SERVERS)]
    lent: list[RpcServer] = []

    def dry_runs(path: Path, asked: Sequence[Asked], endpoint: str | None = None) -> Iterator[Ran]:
        devices = 0 if endpoint is None else endpoint.count(",") + 1
        key = (_content(path), tuple(asked), devices)
        if key not in known:
            known[key] = list(ask(path, asked, endpoint))
        yield from known[key]

    @contextmanager
    def lend(
        *, memory_bytes: int | None = None, threads: int = 1, port: int | None = None
    ) -> Iterator[RpcServer]:
        if (memory_bytes, threads, port) != (None, 1, None):
            with serve(memory_bytes=memory_bytes, threads=threads, port=port) as special:
                yield special
            return
        server = next(item for item in running if item not in lent)
        lent.append(server)
        try:
            yield server
        finally:
            lent.remove(server)

    engine_dry_runs.dry_runs = dry_runs
    rpc_server.rpc_server = lend


def _record_variants() -> None:
    ask = quantize_dry_runs.quantize_dry_runs
    known: dict[object, list[QuantizeRan]] = {}

    def dry_runs(asked: Sequence[tuple[Path, int]]) -> Iterator[QuantizeRan]:
        key = tuple((path.name, number) for path, number in asked)
        if key not in known:
            known[key] = list(ask(asked))
        for (path, _number), ran in zip(asked, known[key], strict=True):
            yield QuantizeRan(path, ran.file_type, ran.types)

    quantize_dry_runs.quantize_dry_runs = dry_runs
