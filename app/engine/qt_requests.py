"""What the window asks of its engine: requests with their ids, and who waits for an answer."""

from __future__ import annotations

import itertools
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from app.engine.engine_state import EngineState
from app.engine.protocol import (
    ChatPrompt,
    CountTokens,
    Failed,
    Measure,
    ProtocolError,
    Request,
    encode_line,
)
from app.engine.qt_worker import QtWorker

__all__ = ["EngineRequests"]


class EngineRequests(QObject):
    """An engine's state, and requests to its worker. `EngineProcess` gives it a worker.

    Signals:
        state_changed(EngineState): after every change.
        message(EngineMessage): every answer; a request whose worker died gets a `Failed`.
    """

    state_changed = Signal(object)
    message = Signal(object)

    def __init__(self, parent: QObject | None, state: EngineState) -> None:
        super().__init__(parent)
        self._ids = itertools.count(1)
        self._state = state
        self._worker: QtWorker | None = None
        self._pending: dict[int, Request] = {}

    @property
    def state(self) -> EngineState:
        """What is known now."""
        return self._state

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The end of the worker's stderr."""
        return () if self._worker is None else tuple(self._worker.last_lines)

    def count(self, text: str) -> int:
        """Ask for the number of tokens of a text."""
        return self._ask(CountTokens(id=next(self._ids), text=text))

    def measure(self, chat: ChatPrompt, max_tokens: int | None) -> int:
        """Ask how a conversation fits."""
        return self._ask(Measure(id=next(self._ids), chat=chat, max_tokens=max_tokens))

    def ask(self, request: Request) -> int:
        """Send a request that was made elsewhere (tests, fault injection)."""
        return self._ask(request)

    def new_id(self) -> int:
        """Return an id for `ask`."""
        return next(self._ids)

    def _ask(self, request: Request) -> int:
        if self._worker is None or self._state.hello is None:
            self._pending[request.id] = request
            QTimer.singleShot(0, self, lambda: self._fail(request.id, "The engine is not running."))
            return request.id
        self._pending[request.id] = request
        self._write(request)
        return request.id

    def _write(self, request: Request) -> None:
        assert self._worker is not None
        try:
            self._worker.process.write(encode_line(request))
        except ProtocolError as error:
            self._fail(request.id, f"This can't be sent to the engine: {error}.")

    def _fail(self, request_id: int, sentence: str, kind: str = "engine") -> None:
        if self._pending.pop(request_id, None) is not None:
            self.message.emit(
                Failed(
                    id=request_id,
                    kind="cancelled" if kind == "cancelled" else "engine",
                    message=sentence,
                )
            )

    def _fail_pending(self, sentence: str, kind: str = "engine") -> None:
        for request_id in list(self._pending):
            self._fail(request_id, sentence, kind)

    def _set(self, **changes: object) -> None:
        self._become(replace(self._state, **changes))  # type: ignore[arg-type]

    def _become(self, state: EngineState) -> None:
        if state != self._state:
            self._state = state
            self.state_changed.emit(state)
