"""What a client of the engine raises; each text is one clear sentence."""

from __future__ import annotations

from app.engine.outcome import Recovery, WorkerEnd
from app.engine.protocol import Failed

__all__ = ["EngineError", "RequestFailed", "WorkerDied"]


class EngineError(Exception):
    """The engine could not do what was asked; the text is one clear sentence."""

    advice: tuple[str, ...] = ()


class WorkerDied(EngineError):  # noqa: N818 - says what happened
    """The worker process ended."""

    def __init__(self, end: WorkerEnd, recovery: Recovery) -> None:
        super().__init__(recovery.sentence)
        self.end = end
        self.recovery = recovery
        self.advice = recovery.advice


class RequestFailed(EngineError):  # noqa: N818 - says what happened
    """The worker answered a request with `Failed`."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed
        self.advice = failed.advice
