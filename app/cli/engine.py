"""What commands that need an engine share: starting it as this computer needs, and exit codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.cli.exits import EXIT_ENGINE, EXIT_NO_MODEL, EXIT_USAGE
from app.compare.opener import opener
from app.data.state import StateFile
from app.engine.client import EngineClient, EngineError, RequestFailed

__all__ = ["exit_code_of", "open_engine"]


def open_engine(
    state: StateFile, on_notice: Callable[[str], None], remotes: Sequence[str] | None = None
) -> EngineClient:
    """Return a client, not yet started, that remembers what this computer needs.

    ``remotes`` are addresses of RPC servers to use, None those of the environment.
    """
    return opener(state, remotes)(on_notice)


def exit_code_of(error: EngineError) -> int:
    """Return 3 for a file that is no usable model, 2 for a bad request, 4 for the rest."""
    if isinstance(error, RequestFailed):
        known = {"bad_model": EXIT_NO_MODEL, "bad_request": EXIT_USAGE}
        return known.get(error.failed.kind, EXIT_ENGINE)
    return EXIT_ENGINE
