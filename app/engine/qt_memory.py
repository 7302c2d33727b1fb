"""What is known of main memory when an engine ends, so that its end can be told from a shortage."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

from app.engine.engine_state import EngineState
from app.engine.oom import killed_since, oom_kills

__all__ = ["LastMemory", "MemoryLooks"]

_LOOK_MS: Final = 2000
_FRESH_S: Final = 5.0  # what was seen of memory before that tells nothing of an end


@dataclass(frozen=True, slots=True)
class LastMemory:
    """Main memory around the end of an engine.

    ``memory``: free and total bytes, None where nobody can tell. ``may_take_bytes``: what the
    engine may have had of them by its end. ``oom_kills``: how many processes the kernel ended for
    lack of memory meanwhile, None where it does not count them.
    """

    memory: tuple[int, int] | None = None
    may_take_bytes: int = 0
    oom_kills: int | None = None


class MemoryLooks(QObject):
    """Looks at main memory while an engine lives, whoever watches.

    ``host_memory`` gives free and total bytes, a container's limit counted; ``kills`` is
    `oom_kills`.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.host_memory: Callable[[], tuple[int, int]] | None = None
        self.kills: Callable[[], int | None] = oom_kills
        self._memory: tuple[int, int] | None = None
        self._kills: int | None = None
        self._at_s = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        """An engine begins: what was seen before says nothing of it."""
        self._memory = None
        self._kills = self.kills()
        self._timer.start()

    def stop(self) -> None:
        """The engine is no more."""
        self._timer.stop()

    @Slot()
    def look(self) -> None:
        """Look now."""
        self._memory = self._now()
        self._kills = self.kills()
        self._at_s = time.monotonic()

    def at_the_end(self, state: EngineState) -> LastMemory:
        """Return what is known of memory, now that an engine in this state has ended."""
        killed = killed_since(self._kills, self.kills())
        if self._memory is not None and time.monotonic() - self._at_s < _FRESH_S:
            return LastMemory(self._memory, _takes_bytes(state), killed)
        # Nobody looked in time: what is free now, of which the engine may have had its part.
        return LastMemory(self._now(), _buffers_bytes(state), killed)

    def _now(self) -> tuple[int, int] | None:
        return None if self.host_memory is None else self.host_memory()


def _takes_bytes(state: EngineState) -> int:
    """Return what an engine may take between two looks at most.

    A system gives the pages of a buffer when they are written first: those of the computation
    while the first prompt is read, those of a context that is made to be measured at any time.
    """
    if state.status == "prefill":
        return _buffers_bytes(state, {"compute", "output"})
    return _buffers_bytes(state) if state.status == "measuring" else 0


def _buffers_bytes(state: EngineState, what: set[str] | None = None) -> int:
    """Return the engine's buffers; weights that are mapped are given back whenever they are
    wanted, and what lies on a card is no less in its host's figures by caution.
    """
    model = state.model
    if model is None:
        return 0
    return sum(
        buffer.size_bytes
        for buffer in model.buffers
        if (what is None or buffer.what in what) and not (buffer.what == "weights" and model.mmap)
    )
