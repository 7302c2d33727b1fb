"""Memory of this computer and of the engine's process, asked for while somebody looks."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.data.probe import host_memory
from app.engine.protocol import EngineMessage, MemoryNow, QueryMemory
from app.engine.qt_client import EngineProcess
from app.engine.recording import memory_sample
from app.ui.presenters.drivers import DriverWatch
from inspector.plan_record import PlanRecord
from inspector.records import LoadRecord, MemorySample

__all__ = ["MemoryWatch", "freed_bytes"]


def freed_bytes(plan: PlanRecord | None) -> dict[str, int]:
    """Return what unloading a model gives back, by memory pool; nothing without a plan.

    Weights that are mapped from the file count as free already: they are a cache of the disk.
    """
    freed: dict[str, int] = {}
    if plan is None:
        return freed
    for device in plan.devices:
        mapped = device.weights_bytes if device.kind == "cpu" and plan.settings.mmap else 0
        freed[device.pool] = freed.get(device.pool, 0) + device.used_bytes - mapped
    return freed


class MemoryWatch(QObject):
    """Asks the engine and the drivers of graphics cards.

    Signals:
        arrived(MemorySample): what was asked for last.
    """

    arrived = Signal(object)

    def __init__(
        self,
        engine: EngineProcess,
        load: Callable[[], LoadRecord | None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._load = load
        self._id = 0
        self.drivers = DriverWatch(self)
        engine.message.connect(self._on_message)

    def ask(self) -> None:
        """Ask now; the answer is told by `arrived`."""
        if self._engine.state.hello is not None:
            self.drivers.ask(self._engine.state.pid)
            self._id = self._engine.ask(QueryMemory(id=self._engine.new_id()))

    def sample(self, now: MemoryNow | None = None) -> MemorySample:
        """Return what is known at once; ``now`` adds what the engine says of itself."""
        memory = host_memory()
        hello = self._engine.state.hello
        return memory_sample(
            now,
            (memory.total_bytes, memory.free_bytes),
            at_ms=int(time.time() * 1000),
            devices=() if hello is None else hello.devices,
            drivers=self.drivers.says(self._engine.state, self._load()),
        )

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, MemoryNow) and message.id == self._id:
            self.arrived.emit(self.sample(message))
