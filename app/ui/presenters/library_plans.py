"""Plans every variant of the library in the background: does it fit, and how fast would it be.

One file at a time, with a pause between two: headers are read by Python code, which must not keep
the window's thread waiting for the interpreter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.data.library.entries import ModelEntry
from app.data.library.fit import VariantFit, fit_of, unknown_fit
from app.data.probe import kept_bandwidth
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES, MOST_BYTES, probe_size
from app.engine.protocol import Hello
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for, machine_for
from app.ui import tasks
from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Machine
from inspector.planned import load_settings
from inspector.records import BandwidthRecord

__all__ = ["LibraryPlanner", "Machines", "PlanRequest"]

_TELL_S = 0.2
_PAUSE_S = 0.002


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a round of planning needs, gathered on the window's thread.

    ``values`` are the load settings by path, ``freed_bytes`` what unloading the present model
    gives back. ``may_measure``: memory's bandwidth may be measured if it never was.
    """

    hello: Hello
    entries: Sequence[ModelEntry]
    values: Mapping[str, Mapping[str, Any]]
    freed_bytes: dict[str, int]
    may_measure: bool


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

    @Slot()
    def cancel(self) -> None:
        """End the round that runs."""
        self._stop.set()

    # --- on the pool's thread ---

    def _work(self, number: int, stop: threading.Event, request: PlanRequest) -> None:
        machines = Machines(self._state, request.hello, may_measure=request.may_measure)
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
            fits[key] = _fit(entry, request, machines.of)
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


class Machines:
    """This computer with the bandwidth that was measured for what a model reads at each token."""

    def __init__(self, state: StateFile, hello: Hello, *, may_measure: bool) -> None:
        self._state = state
        self._hello = hello
        self._may_measure = may_measure
        self._bare = machine_for(hello, None)
        self._known: dict[int, Machine] = {}

    def of(self, bytes_per_token: int) -> Machine:
        """Return the machine for a model that reads so many bytes at each token."""
        size = probe_size(bytes_per_token)
        kind = size.bit_length()
        if kind not in self._known:
            record = self._record(size)
            self._known[kind] = self._with(record)
        return self._known[kind]

    def _record(self, size: int) -> BandwidthRecord | None:
        """Return the probe kept for this size; without one, that of main memory proper."""
        threads, cpu = clamp_threads(None), self._hello.cpu
        for wanted in (size, MOST_BYTES, LARGE_BYTES):
            kept = kept_bandwidth(self._state, cpu, threads, wanted)
            if kept is not None:
                return kept
        if not self._may_measure or self._bare.accelerators:
            return None
        self._may_measure = False  # once a round, whatever comes of it
        try:
            free = self._bare.cpu.free_bytes
            return bandwidth_for(self._state, cpu, threads, LARGE_BYTES, free_bytes=free)
        except MemoryError:
            return None

    def _with(self, record: BandwidthRecord | None) -> Machine:
        return self._bare if record is None else machine_for(self._hello, record)


def _fit(
    entry: ModelEntry, request: PlanRequest, machine_of: Callable[[int], Machine]
) -> VariantFit:
    try:
        facts = read_facts(Path(entry.path))
        load = load_settings(request.values[str(entry.path)], facts)
    except (HeaderError, OSError, ValueError) as error:
        return unknown_fit(str(error))
    machine = machine_of(facts.bytes_read_per_token or 0)
    return fit_of(facts, load, machine, freed_bytes=request.freed_bytes)
