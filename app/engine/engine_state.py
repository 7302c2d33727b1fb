"""What the window shows of its engine, and how messages change it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from app.engine.outcome import Phase, remote_devices
from app.engine.protocol import (
    Chunk,
    DeviceInfo,
    Done,
    EngineMessage,
    Failed,
    Generate,
    Hello,
    Load,
    Loaded,
    ModelInfo,
    Progress,
    Request,
    Started,
    Tune,
    Tuned,
)

__all__ = ["PHASES", "EngineState", "EngineStatus", "followed", "remotes_in_use"]

EngineStatus: TypeAlias = Literal[
    "stopped", "starting", "idle", "loading", "ready", "prefill", "decode", "measuring", "lost"
]
# In which phase an engine that died now would have died; any other status is idle.
PHASES: dict[EngineStatus, Phase] = {
    "starting": "starting",
    "loading": "load",
    "prefill": "prefill",
    "decode": "decode",
    "measuring": "tune",
}


@dataclass(frozen=True, slots=True)
class EngineState:
    """What the window shows of the engine. ``fraction`` is of a load, ``sentence`` of a loss.

    While it is ``measuring`` it can be asked as if it were ready: it gives way.
    """

    status: EngineStatus = "stopped"
    pid: int | None = None
    hello: Hello | None = None
    model: ModelInfo | None = None
    path: str | None = None
    fraction: float = 0.0
    sentence: str = ""
    advice: tuple[str, ...] = ()
    detail: str = ""
    compatibility: bool = False
    lost_remotes: tuple[DeviceInfo, ...] = ()  # of other computers; one of them was lost
    silent_s: float = 0.0  # since it was told to stop, without a sign of it; 0.0: it answers
    from_outside: bool = False  # lost, but not for anything that other settings could mend

    @property
    def busy(self) -> bool:
        """Tell whether a request of the model is running."""
        return self.status in {"loading", "prefill", "decode", "measuring"}

    @property
    def answers(self) -> bool:
        """Tell whether a chat can be asked now."""
        return self.status in {"ready", "measuring"}


def followed(state: EngineState, message: EngineMessage, request: Request | None) -> EngineState:
    """Return the state after a message about a request, None where nobody waits for it."""
    match message:
        case Progress(phase="load"):
            return replace(state, fraction=message.fraction)
        case Loaded():
            return replace(
                state,
                status="ready",
                model=message.model,
                fraction=1.0,
                compatibility=state.compatibility or message.model.compatibility,
            )
        case Started():
            return replace(state, status="prefill")
        case Chunk():
            return replace(state, status="decode")
        case Done():
            return replace(state, status="ready")
        case Tuned():
            return _measured(replace(state, model=message.model))
        case Failed() if isinstance(request, Tune):
            return _measured(state)
        case Failed() if isinstance(request, Load):
            return replace(
                state,
                status="idle",
                path=None,
                model=None,
                fraction=0.0,
                sentence="" if message.kind == "cancelled" else message.message,
                advice=message.advice,
                detail=message.detail,
            )
        case Failed() if isinstance(request, Generate):
            return replace(state, status="ready" if state.model else "idle")
    return state


def remotes_in_use(state: EngineState) -> tuple[DeviceInfo, ...]:
    """Return the devices of other computers that an engine works with, or may work with."""
    hello, model = state.hello, state.model
    if model is not None:
        return remote_devices(model.devices, model.devices_used)
    devices = () if hello is None else hello.devices
    return remote_devices(devices, {device.name for device in devices})


def _measured(state: EngineState) -> EngineState:
    if state.status != "measuring":  # it gave way to a reply
        return state
    return replace(state, status="ready" if state.model else "idle")
