"""This computer for many models at once: how each would be loaded, and what follows from that.

One place for what pages and commands say of a model before it is loaded: the settings it would
really get, the bandwidth of memory at its own size (a model that fits into a processor's last
cache is read faster than main memory), and rates by what was measured here before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from app.data.bandwidths import kept_bandwidth, kept_probe
from app.data.decode_rates import DecodeRates
from app.data.library.fit import VariantFit, fit_of_plan, unknown_fit
from app.data.state import StateFile
from app.data.tunings import Tunings, model_shape
from app.drafts import draft_facts
from app.engine.bandwidth import LARGE_BYTES, probe_size
from app.engine.protocol import Hello, LoadOptions
from app.engine.recording import fingerprint
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for, machine_for
from app.tuned import key_of, with_tuning
from gguf_tools.facts import ModelFacts
from gguf_tools.machine import Machine
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from inspector.planned import load_settings
from inspector.records import BandwidthRecord

__all__ = ["Machines", "decode_rates"]


def decode_rates(
    state: StateFile, hello: Hello, options: LoadOptions, *, compatibility: bool | None = None
) -> DecodeRates:
    """Return the decode rates that were measured with the threads of a load."""
    return DecodeRates(
        state,
        cpu=hello.cpu,
        engine=hello.engine,
        threads=clamp_threads(options.threads),
        compatibility=options.compatibility if compatibility is None else compatibility,
    )


class Machines:
    """This computer with the bandwidth that was measured for what a model reads at each token.

    Args:
        state: where measurements are kept.
        hello: of the engine.
        may_measure: what was never measured is measured, once; takes a second or two.
        tuned: models are loaded as they were measured to be fastest.
        each_size: a size without a probe of its own is measured too, as `plan` does for one model;
            takes a second for each power of two below half a GiB.
        quiet: asked before each measurement, on the thread that plans: whether nothing computes
            that it would disturb, or that would disturb it.
    """

    def __init__(
        self,
        state: StateFile,
        hello: Hello,
        *,
        may_measure: bool,
        tuned: bool = True,
        each_size: bool = False,
        quiet: Callable[[], bool] = lambda: True,
    ) -> None:
        self._quiet = quiet
        self._each_size = may_measure and each_size
        self._state = state
        self._hello = hello
        self._may_measure = may_measure
        self._tunings = Tunings(state, cpu=hello.cpu, engine=hello.engine) if tuned else None
        self._known: dict[tuple[object, ...], Machine] = {}
        self._free: dict[str, int | None] = {}

    def options(self, facts: ModelFacts, values: Mapping[str, Any]) -> LoadOptions:
        """Return the options that a model would be loaded with.

        Args:
            facts: the model.
            values: its load settings by key, as the user has them.
        """
        cpu, engine = self._hello.cpu, self._hello.engine
        asked = LoadOptions(**values)
        needed = self._state.compatibility(cpu, engine)
        options = msgspec.structs.replace(
            asked,
            compatibility=asked.compatibility or needed,
            repack=needed and not asked.compatibility and not self._state.repack_fails(cpu, engine),
        )
        if self._tunings is None:
            return options
        shape = model_shape(facts) if facts.loadable else ""
        return with_tuning(options, self._tunings.get(key_of(shape, options)))

    def of(self, bytes_per_token: int, options: LoadOptions | None = None) -> Machine:
        """Return the machine for a model that reads so many bytes at each token.

        Args:
            bytes_per_token: what it reads.
            options: the load it is for, of which threads and devices count; None is the usual one.
        """
        asked = options or LoadOptions()
        size, count = probe_size(bytes_per_token), clamp_threads(asked.threads)
        # By the size itself: of sizes in one class a probe may be near to one and not to another.
        key = (size, count, asked.threads_batch, asked.devices)
        if key not in self._known:
            record = self._record(size, count)
            self._known[key] = self._at_one_moment(machine_for(self._hello, record, asked))
        return self._known[key]

    def _at_one_moment(self, machine: Machine) -> Machine:
        """Return the machine with memory free as it was first seen: rows of a page add up alike."""
        for device in machine.devices:
            self._free.setdefault(device.name, device.free_bytes)
        cards = tuple(item.with_free(self._free[item.name]) for item in machine.accelerators)
        host = machine.cpu.with_free(self._free[machine.cpu.name])
        return replace(machine, cpu=host, accelerators=cards)

    def plan(
        self,
        facts: ModelFacts,
        values: Mapping[str, Any],
        *,
        freed_bytes: dict[str, int] | None = None,
        is_made: bool = True,
    ) -> Plan:
        """Return the plan of a model as it would be loaded, with rates as measured before.

        Args:
            facts: the model.
            values: its load settings by key.
            freed_bytes: what unloading the present model gives back, by memory pool.
            is_made: the file is there; what was measured of the file that a variant is to be made
                of is not the variant's own.

        Raises:
            ValueError: the file says too little, or the settings can't be planned.
        """
        options = self.options(facts, values)
        load = load_settings(msgspec.to_builtins(options), facts, draft_facts(options.draft))
        return self.plan_load(facts, load, options, freed_bytes=freed_bytes, is_made=is_made)

    def fit(
        self,
        facts: ModelFacts,
        values: Mapping[str, Any],
        *,
        freed_bytes: dict[str, int] | None = None,
    ) -> VariantFit:
        """Return how a model fits, with the reason where it can't be planned; see `plan`."""
        try:
            return fit_of_plan(self.plan(facts, values, freed_bytes=freed_bytes))
        except ValueError as error:
            return unknown_fit(str(error))

    def plan_load(
        self,
        facts: ModelFacts,
        load: LoadSettings,
        options: LoadOptions,
        *,
        freed_bytes: dict[str, int] | None = None,
        is_made: bool = True,
    ) -> Plan:
        """Return the plan of a load; the threads and devices are those of ``options``."""
        size = facts.bytes_read_per_token or facts.weights_bytes
        machine = self.of(size, options)
        plan = make_plan(facts, load, machine, freed_bytes=freed_bytes)
        return self.fitted(plan, options, is_made=is_made)

    def fitted(self, plan: Plan, options: LoadOptions, *, is_made: bool = True) -> Plan:
        """Return a plan with decoding predicted by what was measured here, if anything was."""
        rates = decode_rates(self._state, self._hello, options)
        if rates.is_empty:
            return plan
        return rates.fitted(plan, fingerprint(plan.facts.path) if is_made else "")

    def _record(self, size: int, threads: int) -> BandwidthRecord | None:
        """Return what is known of the memory's bandwidth, measured if nothing is."""
        cpu = self._hello.cpu
        kept = kept_bandwidth(self._state, cpu, threads, size)
        wanted = self._each_size and kept_probe(self._state, cpu, threads, size) is None
        if not wanted and (kept is not None or not self._may_measure):
            return kept
        if not self._quiet():
            return kept
        bare = machine_for(self._hello, None)
        self._may_measure = False  # once a round, whatever comes of it
        if bare.accelerators:
            return kept
        try:
            free = bare.cpu.free_bytes
            probed = size if self._each_size else LARGE_BYTES
            return bandwidth_for(self._state, cpu, threads, probed, free_bytes=free)
        except MemoryError:
            return kept
