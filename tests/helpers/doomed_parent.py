"""A parent that is about to be killed: it brings an engine's process to a phase and waits there.

    python -m tests.helpers.doomed_parent PHASE MODEL TARGET

Prints the worker's process id once the phase is reached. Without faults in the environment
(``PLIMSOLL_FAULTS``) a phase that begins with "stuck" is refused by the worker.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any, Final

from app.engine.client import EngineClient
from app.engine.protocol import Fault, Load, LoadOptions, Quantize, Request
from app.engine.worker_process import WorkerProcess
from tests.helpers.engine import chat, generate

__all__ = ["main"]

_LONG: Final = "the ship lies deep in the water " * 240  # about 1,700 tokens
_SHORT: Final = "Count to a thousand."
_OPTIONS: Final = LoadOptions(n_ctx=4096)


class _Owner:
    """What a parent does until a phase is reached."""

    def __init__(self, model: str, target: str) -> None:
        self._model = model
        self._target = target
        self._client = EngineClient()
        self._client.start()

    def idle(self) -> int | None:
        return self._client.pid

    def loading(self) -> int | None:
        return self._sent(Load(id=self._client.new_id(), path=self._model, options=_OPTIONS))

    def stuck_loading(self) -> int | None:
        self._arm("load")
        return self.loading()

    def reading(self) -> int | None:
        return self._asked(_LONG, "Started")

    def writing(self) -> int | None:
        return self._asked(_SHORT, "Chunk")

    def stuck_writing(self) -> int | None:
        self._arm("decode")
        return self._asked(_SHORT, None)

    def making(self) -> int | None:
        request = Quantize(
            id=self._client.new_id(), source=self._model, target=self._target, kind="Q6_K",
            allow_requantize=True, threads=1,
        )  # fmt: skip
        return self._sent(request, "Progress")

    def _arm(self, phase: Any) -> None:
        fault = Fault(id=self._client.new_id(), signal="hang", phase=phase)
        self._client.send(fault)
        list(self._client.messages(fault.id))

    def _asked(self, text: str, until: str | None) -> int | None:
        self._client.load(self._model, _OPTIONS)
        request = generate(self._client, chat(text), max_tokens=1800)  # type: ignore[arg-type]
        return self._sent(request, until)

    def _sent(self, request: Request, until: str | None = None) -> int | None:
        """Send something and wait for its first message of a kind, if one is named."""
        self._client.send(request)
        if until is not None:
            next(m for m in self._client.messages(request.id) if type(m).__name__ == until)
        return self._client.pid


_PHASES: Final = {
    "idle": _Owner.idle,
    "loading": _Owner.loading,
    "stuck in a load": _Owner.stuck_loading,
    "reading a prompt": _Owner.reading,
    "writing a reply": _Owner.writing,
    "stuck in a reply": _Owner.stuck_writing,
    "making a variant": _Owner.making,
}


def main(arguments: list[str]) -> None:
    """Come to a phase, say so, and wait to be killed."""
    phase, model, target = arguments
    if phase == "starting":  # there is no client before the hello
        process = WorkerProcess(None, deque(maxlen=10), None)
        pid: int | None = process.pid
    else:
        pid = _PHASES[phase](_Owner(model, target))
    print(pid, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1:])
