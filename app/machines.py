"""This computer for many models at once: each with the bandwidth of memory at its own size.

A model that fits into a processor's last cache is read faster than main memory; so probes are
kept by size, and a library of small and large models is planned with several of them.
"""

from __future__ import annotations

from app.data.probe import kept_bandwidth
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES, MOST_BYTES, probe_size
from app.engine.protocol import Hello
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for, machine_for
from gguf_tools.machine import Machine
from inspector.records import BandwidthRecord

__all__ = ["Machines"]


class Machines:
    """This computer with the bandwidth that was measured for what a model reads at each token.

    ``may_measure``: what was never measured is measured, once; takes a second or two.
    """

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
