"""Plans every variant of the library in the background: does it fit, and how fast would it be.

One file at a time, with a pause between two: headers are read by Python code, which must not keep
the window's thread waiting for the interpreter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.data.library.entries import ModelEntry
from app.data.library.fit import VariantFit, unknown_fit
from app.data.state import StateFile
from app.engine.bandwidth import MOST_BYTES
from app.engine.protocol import Hello
from app.machines import Machines
from app.ui import tasks
from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Machine

__all__ = ["LibraryPlanner", "PlanRequest"]

_TELL_S = 0.2
_PAUSE_S = 0.002


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a round of planning needs, gathered on the window's thread.

    ``values`` are the load settings by path, ``freed_bytes`` what unloading the present model
    gives back. ``may_measure``: memory's bandwidth may be measured at each size at which it never
    was, while the planner is told that it is quiet. ``tuned``: models are loaded as they were
    measured to be fastest.
    """

    hello: Hello
    entries: Sequence[ModelEntry]
    values: Mapping[str, Mapping[str, Any]]
    freed_bytes: dict[str, int]
    may_measure: bool
    tuned: bool = True


class LibraryPlanner(QObject):
    """Plans variants in the order given.

    Signals:
        planned(dict of str path to VariantFit): some more are known.
        machine_known(Machine): what the predictions rest on.
        finished(): the round is through, or was ended.
    """

    planned = Signal(object)
    machine_known = Signal(object)
    finished = Signal()
    _some = Signal(int, object)
    _machine = Signal(int, object)

    def __init__(self, state: StateFile, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._round = 0
        self._stop = threading.Event()
        self._quiet = threading.Event()
        self.is_planning = False
        queued = Qt.ConnectionType.QueuedConnection
        self._some.connect(self._on_some, queued)
        self._machine.connect(self._on_machine, queued)

    def plan(self, request: PlanRequest) -> None:
        """Begin a round; not while one runs."""
        self._round += 1
        self.is_planning = True
        self._stop = threading.Event()
        number, stop = self._round, self._stop
        tasks.run(lambda: self._work(number, stop, request), self._on_done, self._on_failed, self)

    def set_quiet(self, quiet: bool) -> None:
        """Tell whether memory may be measured now: nothing computes that it would disturb."""
        if quiet:
            self._quiet.set()
        else:
            self._quiet.clear()

    @Slot()
    def cancel(self) -> None:
        """End the round that runs."""
        self._stop.set()

    # --- on the pool's thread ---

    def _work(self, number: int, stop: threading.Event, request: PlanRequest) -> None:
        machines = Machines(
            self._state,
            request.hello,
            may_measure=request.may_measure,
            tuned=request.tuned,
            each_size=True,  # so that `plan` and the panel say the same of each file
            quiet=self._quiet.is_set,
        )
        machine = machines.of(MOST_BYTES)
        if stop.is_set():
            return
        self._machine.emit(number, machine)
        fits: dict[str, VariantFit] = {}
        told = time.monotonic()
        for entry in request.entries:
            if stop.is_set():
                break
            key = str(entry.path)
            fits[key] = _fit(entry, request, machines)
            now = time.monotonic()
            if now - told >= _TELL_S:
                told = now
                self._some.emit(number, fits)
                fits = {}
            time.sleep(_PAUSE_S)
        if not stop.is_set():
            self._some.emit(number, fits)

    # --- on the window's thread ---

    @Slot(int, object)
    def _on_some(self, number: int, fits: dict[str, VariantFit]) -> None:
        if number == self._round and fits and not self._stop.is_set():
            self.planned.emit(fits)

    @Slot(int, object)
    def _on_machine(self, number: int, machine: Machine) -> None:
        if number == self._round:
            self.machine_known.emit(machine)

    def _on_done(self, _nothing: None) -> None:
        self.is_planning = False
        self.finished.emit()

    def _on_failed(self, error: Exception) -> None:
        self._on_done(None)
        raise error


def _fit(entry: ModelEntry, request: PlanRequest, machines: Machines) -> VariantFit:
    try:
        facts = read_facts(Path(entry.path))
        values = request.values[str(entry.path)]
        return machines.fit(facts, values, freed_bytes=request.freed_bytes)
    except (HeaderError, OSError, ValueError) as error:
        return unknown_fit(str(error))
