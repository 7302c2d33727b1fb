"""This computer as the planner sees it: asked for in the background, measured once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.data.state import StateFile
from app.engine.bandwidth import MOST_BYTES, probe_size
from app.engine.protocol import Hello, LoadOptions
from app.engine.qt_client import EngineProcess
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for
from app.machines import Machines
from app.ui import tasks
from gguf_tools.facts import ModelFacts
from gguf_tools.machine import OF_LARGER, Device, Machine
from inspector.planning import Engine

__all__ = ["ThisMachine"]


class ThisMachine(QObject):
    """Follows the engine's devices while somebody looks.

    Signals:
        changed(): `machine` or `planning` is another one.
    """

    changed = Signal()

    def __init__(
        self,
        engine: EngineProcess,
        state: StateFile,
        freed_bytes: Callable[[], dict[str, int]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._state = state
        self._freed_bytes = freed_bytes
        self._hello: Hello | None = None
        self._wanted = False
        self._tried: set[int] = set()  # sizes at which it was measured, or could not be
        self._given_up = False
        self._facts: ModelFacts | None = None
        self._options = LoadOptions()
        self.machine: Machine | None = None
        self.planning = Engine()
        engine.state_changed.connect(self._on_engine)

    @property
    def is_settled(self) -> bool:
        """Tell whether all is known that will be found out by itself."""
        if self.machine is None:
            return False
        return self.machine.cpu.bandwidth_basis == "measured" or self._given_up

    def follow(self, facts: ModelFacts | None) -> None:
        """Ask again if another model is planned now."""
        if facts is not self._facts:
            self.ask(facts)

    def ask(self, facts: ModelFacts | None) -> None:
        """Find out what there is for a model; drivers may take their time.

        Bandwidth is that of reading what it reads with the threads it would be loaded with: a
        small model may lie in the processor's cache.
        """
        self._wanted = True
        self._facts = facts
        hello = self._engine.state.hello
        if hello is None:
            return
        self._hello = hello
        machines = Machines(self._state, hello, may_measure=False)
        options = LoadOptions() if facts is None else machines.options(facts, {})
        self._options = options
        self.planning = Engine(
            extra_buffers=not options.compatibility,
            repack=options.repack,
            fitted=lambda plan: machines.fitted(plan, options),
        )
        freed, size = self._freed_bytes(), self._bytes_per_token
        tasks.run(
            lambda: _without_own(machines.of(size, options), freed),
            self._on_machine, None, self,
        )  # fmt: skip

    @Slot()
    def ask_again(self) -> None:
        """Ask anew for the same model, if anybody did: something was measured meanwhile."""
        if self._wanted:
            self.ask(self._facts)

    @property
    def _bytes_per_token(self) -> int:
        read = None if self._facts is None else self._facts.bytes_read_per_token
        return read or MOST_BYTES

    @Slot(object)
    def _on_engine(self, _state: object) -> None:
        if self._wanted and self._engine.state.hello is not self._hello:
            self.ask(self._facts)

    def _on_machine(self, machine: Machine) -> None:
        if machine != self.machine:
            self.machine = machine
            self.changed.emit()
        cpu = machine.cpu
        is_lower = OF_LARGER in cpu.bandwidth_note and not machine.accelerators
        if cpu.bandwidth_basis != "measured" or is_lower:
            self._measure()

    def _measure(self) -> None:
        """Measure memory at the model's size once, while the engine leaves it alone."""
        hello, size = self._hello, probe_size(self._bytes_per_token)
        if size in self._tried or hello is None:
            return
        if self._engine.state.status not in {"idle", "ready"}:
            return
        self._tried.add(size)
        state = self._state
        threads = clamp_threads(self._options.threads)

        def failed(error: Exception) -> None:
            self._given_up = True
            if not isinstance(error, MemoryError):
                raise error

        tasks.run(
            lambda: bandwidth_for(state, hello.cpu, threads, size),
            lambda _record: self.ask(self._facts),
            failed,
            self,
        )


def _without_own(machine: Machine, freed: dict[str, int]) -> Machine:
    """Return a machine as if the present model were unloaded: a plan is about another load."""

    def given_back(device: Device) -> Device:
        more = freed.get(device.memory_pool, 0)
        if not more or device.free_bytes is None:
            return device
        free = device.free_bytes + more
        total = device.total_bytes
        return device.with_free(free if total is None else min(free, total))

    return replace(
        machine,
        cpu=given_back(machine.cpu),
        accelerators=tuple(given_back(device) for device in machine.accelerators),
    )
