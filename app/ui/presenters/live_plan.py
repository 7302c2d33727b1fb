"""The plan of the model in the window, from what is known of this computer so far.

Bandwidth comes from the kept probe, rates from what was measured here before; each turn adds to
them, so that the next prediction rests on measurements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from app.data.bandwidths import kept_bandwidth, kept_probe, lift
from app.data.decode_rates import DecodeRates
from app.data.state import StateFile
from app.drafts import draft_facts
from app.engine.bandwidth import probe_size
from app.engine.protocol import Hello, LoadOptions, ModelInfo
from app.engine.recording import as_loaded, fingerprint
from app.engine.threads import clamp_threads
from app.machine import machine_for
from gguf_tools.facts import ModelFacts
from gguf_tools.plan import Plan, make_plan
from inspector.measured import samples_of
from inspector.plan_record import SettingsRecord
from inspector.planned import load_settings
from inspector.records import BandwidthRecord, TurnStats

__all__ = ["LivePlan"]


class LivePlan:
    """Plans one model after the other; `begin` takes the next."""

    def __init__(self, state: StateFile) -> None:
        self._state = state
        self.options = LoadOptions()
        self.path: str | None = None
        self.facts: ModelFacts | None = None
        self._engine_values: dict[str, Any] = {}
        self._plan: Plan | None = None

    def begin(self, path: str, options: LoadOptions) -> bool:
        """Take what is to be loaded; tell whether its file has to be read first."""
        self.options = options
        self._engine_values = {}
        if path == self.path:
            return False
        self.path = path
        self.facts = None
        return True

    def loaded(self, model: ModelInfo) -> None:
        """Take what the engine made of settings that were left to it."""
        self.options = msgspec.structs.replace(
            as_loaded(self.options, model),
            threads=model.threads,
            threads_batch=model.threads_batch,
            n_batch=model.n_batch,
            n_ubatch=model.n_ubatch,
            draft=self.options.draft if model.draft else None,  # it may have been refused
        )
        flash = model.flash_attention
        self._engine_values = {"compatibility": model.compatibility, "repack": model.repacked}
        if flash is not None:
            self._engine_values["flash_attention"] = "on" if flash else "off"

    @property
    def threads(self) -> int:
        """Threads that decode."""
        return clamp_threads(self.options.threads)

    @property
    def asked(self) -> SettingsRecord:
        """What a plan does not know of the settings."""
        return SettingsRecord(
            n_ctx=0, threads=self.threads, threads_batch=clamp_threads(self.options.threads_batch)
        )

    def probe(self, hello: Hello) -> BandwidthRecord | None:
        """Return what is known of the memory, None if no probe of this model's size was made."""
        size = probe_size((self.facts.bytes_read_per_token if self.facts else None) or 0)
        if kept_probe(self._state, hello.cpu, self.threads, size) is None:
            return None
        return kept_bandwidth(self._state, hello.cpu, self.threads, size)

    def plan(self, hello: Hello) -> Plan | None:
        """Return the plan, None for settings that can't be planned: the engine will say why."""
        facts = self.facts
        self._plan = None
        if facts is None or not facts.loadable:
            return None
        size = probe_size(facts.bytes_read_per_token or 0)
        bandwidth = kept_bandwidth(self._state, hello.cpu, self.threads, size)
        values = msgspec.to_builtins(self.options) | self._engine_values
        machine = machine_for(hello, bandwidth, self.options)
        try:
            draft = draft_facts(self.options.draft)
            plan = make_plan(facts, load_settings(values, facts, draft), machine)
        except ValueError:
            return None
        self._plan = self._rates(hello).fitted(plan, self._model)
        return self._plan

    def learn(self, hello: Hello, stats: TurnStats, *, busy: bool = False) -> bool:
        """Keep the rates of a turn; tell whether predictions changed.

        ``busy``: other programs ran meanwhile, so it counts only if it is faster than is known.
        """
        plan = self._plan
        if plan is None or stats.threads != self.threads:
            return False
        bare = replace(plan, machine=replace(plan.machine, fit=None))
        samples = samples_of(stats)
        learned = self._rates(hello).learn(bare, self._model, samples, busy=busy)
        return lift(self._state, hello.cpu, self.threads, plan, samples) or learned

    @property
    def _model(self) -> str:
        return "" if self.path is None else fingerprint(self.path)

    def _rates(self, hello: Hello) -> DecodeRates:
        compatibility = self._engine_values.get("compatibility", self.options.compatibility)
        return DecodeRates(
            self._state,
            cpu=hello.cpu,
            engine=hello.engine,
            threads=self.threads,
            compatibility=compatibility,
        )
