"""How a model that is not here yet would fit this computer, and how fast it would be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from app.data.hub.errors import HubError
from app.data.hub.heads import read_head
from app.data.hub.values import Variant
from app.data.library.fit import VariantFit, unknown_fit
from app.data.state import StateFile
from app.engine.bandwidth import MOST_BYTES
from app.engine.qt_client import EngineProcess
from app.machines import Machines
from app.settings import Settings
from gguf_tools.facts import ModelFacts
from gguf_tools.machine import LOAD_LINE, Machine

__all__ = ["DownloadFits", "Read", "size_fit"]

Read = tuple[ModelFacts | None, VariantFit]


class DownloadFits:
    """Gathers what a prediction needs on the window's thread; what it gives runs on any other."""

    def __init__(
        self,
        engine: EngineProcess,
        state: StateFile,
        settings: Settings,
        freed_bytes: Callable[[], dict[str, int]],
    ) -> None:
        self._engine = engine
        self._state = state
        self._settings = settings
        self._freed_bytes = freed_bytes
        self._measuring = threading.Lock()

    def machine(self) -> Machine | None:
        """Return this computer with its present free memory, None until the engine told of it."""
        hello = self._engine.state.hello
        if hello is None:
            return None
        return Machines(self._state, hello, may_measure=False).of(MOST_BYTES)

    def reader(self, cache: Path, variant: Variant) -> Callable[[], Read]:
        """Return work that reads a variant's header from the cache and plans it."""
        hello = self._engine.state.hello
        values = self._settings.load_values()
        freed = self._freed_bytes()
        # Not beside a reply: that would slow it down, and the figure would be wrong.
        may_measure = not self._engine.state.busy
        tuned = bool(self._settings.get("tune"))

        def work() -> Read:
            try:
                facts = read_head(cache, variant)
            except HubError as error:
                return None, unknown_fit(str(error))
            if hello is None:
                return facts, unknown_fit("The engine has not told of this computer yet.")
            if not facts.loadable:
                return facts, unknown_fit((*facts.warnings, "It is no model for a chat.")[0])
            with self._measuring:
                machines = Machines(self._state, hello, may_measure=may_measure, tuned=tuned)
                return facts, machines.fit(facts, values, freed_bytes=freed)

        return work


def size_fit(size_bytes: int, machine: Machine | None) -> VariantFit:
    """Return how a model fits by its size alone, where its header is not known.

    Weights take about the size of the file, and an eighth of it is added for cache and buffers.
    No rate follows from a size, since not all weights need be read for a token.
    """
    note = "Judged by the size of the file alone."
    if machine is None:
        return unknown_fit(note)
    pools: dict[str, tuple[int, int]] = {}
    for device in machine.devices:
        if device.free_bytes is None or device.total_bytes is None:
            return unknown_fit(note)
        pools.setdefault(device.memory_pool, (device.free_bytes, device.total_bytes))
    free = sum(item[0] for item in pools.values())
    total = sum(item[1] for item in pools.values())
    needed = size_bytes + size_bytes // 8
    left = free - needed
    over = total - left > LOAD_LINE * total
    verdict = "too_large" if left < 0 else "tight" if over else "fits"
    return VariantFit(
        verdict=verdict,  # type: ignore[arg-type]
        context_tokens=0,
        needed_bytes=needed,
        left_bytes=left,
        note=note,
    )
