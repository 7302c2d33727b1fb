"""Engines for commands, comparisons and variants: opened as this computer needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.data.probe import main_memory_bytes
from app.data.state import StateFile
from app.engine.client import EngineClient
from app.engine.protocol import Hello

if TYPE_CHECKING:
    from app.compare.engine import OpenClient

__all__ = ["opener"]


def opener(state: StateFile, remotes: Sequence[str] | None = None) -> OpenClient:
    """Return what makes clients, not yet started, that remember compatibility mode in ``state``.

    ``remotes`` are addresses of RPC servers to use, None those of the environment.

    Compatibility mode belongs to a processor and an engine build; both are known only when the
    worker has said hello, so it is looked up then.
    """

    def remember(hello: Hello) -> None:
        state.set_compatibility(hello.cpu, hello.engine, True)

    def open_client(on_notice: Callable[[str], None]) -> EngineClient:
        return EngineClient(
            needs_compatibility=lambda hello: state.compatibility(hello.cpu, hello.engine),
            on_notice=on_notice,
            remember_compatibility=remember,
            may_repack=lambda hello: not state.repack_fails(hello.cpu, hello.engine),
            repack_failed=lambda hello: state.set_repack_fails(hello.cpu, hello.engine),
            remotes=remotes,
            host_memory=main_memory_bytes,
        )

    return open_client
