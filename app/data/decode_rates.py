"""Decode rates that were measured on this machine, kept so that the next prediction follows them.

They are kept by engine build, processor and threads, then by the model's file and the settings
that matter. A model that was not measured yet with these settings takes what it reached with
others, else what the model nearest to it in size reached, with less certainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, log
from typing import Final

import msgspec

from app.data.state import StateFile
from gguf_tools.expected import decode_key
from gguf_tools.machine import DecodeFit
from gguf_tools.plan import Plan, with_fit
from inspector.measured import DecodeSample, fit_decode

__all__ = ["DecodeRates"]

_MOST_SAMPLES: Final = 48
_MOST_GROUPS: Final = 48


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one model with one set of settings on the same devices.

    The fit is that of when they were kept. ``runs`` replies or benchmarks gave them, those whose
    rates are forgotten by now included. ``bytes_per_token`` is what a token read with an empty
    cache (0: kept by a version that did not note it).
    """

    model: str
    key: str
    devices: str = ""
    samples: tuple[DecodeSample, ...] = ()
    weights: float = 1.0
    cache: float = 1.0
    spread: float = 0.0
    runs: int = 1
    bytes_per_token: int = 0


class DecodeRates:
    """The rates of one machine: an engine build on a processor with so many threads."""

    def __init__(
        self, state: StateFile, *, cpu: str, engine: str, threads: int, compatibility: bool = False
    ) -> None:
        self._state = state
        state.follow()  # another process may have measured since
        mode = " | compatibility" if compatibility else ""
        self._name = f"decode {cpu} | {engine} | {threads} threads{mode}"

    def fitted(self, plan: Plan, model: str) -> Plan:
        """Return the plan with what was measured here; the same if nothing was.

        Args:
            plan: made without a fit.
            model: fingerprint of the model's file.
        """
        fit = self._fit(plan, model)
        return plan if fit is None else with_fit(plan, fit)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was measured yet, so that no model need be told from others."""
        return self._state.blob(self._name) is None

    def learn(self, plan: Plan, model: str, samples: Sequence[DecodeSample]) -> bool:
        """Keep rates of a model loaded by ``plan``; tell whether there were any."""
        if not samples or not model:
            return False
        bare = _without_fit(plan)
        key = decode_key(bare.memory.settings, bare.memory.placement)
        devices = _devices(bare)
        groups = self._groups()
        old = next(
            (
                item
                for item in groups
                if (item.model, item.key, item.devices) == (model, key, devices)
            ),
            None,
        )
        kept = (*(() if old is None else old.samples), *samples)[-_MOST_SAMPLES:]
        runs = 1 if old is None else old.runs + 1
        fit = fit_decode(bare, kept, key, runs=runs)
        if fit is None:
            return False
        others = [item for item in groups if item is not old][-_MOST_GROUPS + 1 :]
        group = _Group(
            model=model,
            key=key,
            devices=devices,
            samples=kept,
            weights=fit.weights,
            cache=fit.cache,
            spread=fit.spread,
            runs=runs,
            bytes_per_token=_size(bare),
        )
        self._state.set_blob(self._name, msgspec.json.encode([*others, group]))
        return True

    def _fit(self, plan: Plan, model: str) -> DecodeFit | None:
        key = decode_key(plan.memory.settings, plan.memory.placement)
        devices = _devices(plan)
        groups = [group for group in self._groups() if group.devices == devices]
        for group in reversed(groups):
            if (group.model, group.key) == (model, key):
                return fit_decode(plan, group.samples, key, runs=group.runs)
        same_file = [group for group in groups if model and group.model == model]
        same_key = [group for group in groups if group.key == key]
        size = _size(plan)
        # The latest, where none is nearer.
        same_key.sort(key=lambda group: _apart(group.bytes_per_token, size), reverse=True)
        for near in (*reversed(same_file), *reversed(same_key)):
            return DecodeFit(
                weights=near.weights,
                cache=near.cache,
                spread=near.spread,
                key=near.key,
                own=False,
                other_settings=bool(model) and near.model == model,
                count=len(near.samples),
                deepest=max((item.depth for item in near.samples), default=0),
                runs=near.runs,
            )
        return None

    def _groups(self) -> list[_Group]:
        kept = self._state.blob(self._name)
        if kept is None:
            return []
        try:
            return msgspec.json.decode(kept, type=list[_Group])
        except msgspec.DecodeError:
            return []


def _devices(plan: Plan) -> str:
    """Return what layers lie on besides the processor: rates of other devices say nothing."""
    accelerators = plan.machine.accelerators
    used = sorted({index for index in plan.memory.placement.layers if index > 0})
    return ", ".join(
        accelerators[index - 1].description or accelerators[index - 1].name for index in used
    )


def _size(plan: Plan) -> int:
    """Return the bytes that a token reads with an empty cache."""
    return plan.facts.bytes_read_per_token or plan.facts.weights_bytes or 0


def _apart(one_bytes: int, other_bytes: int) -> float:
    """Return by how much two sizes differ, as the logarithm of their quotient."""
    return abs(log(one_bytes / other_bytes)) if one_bytes > 0 and other_bytes > 0 else inf


def _without_fit(plan: Plan) -> Plan:
    return (
        plan if plan.machine.fit is None else replace(plan, machine=replace(plan.machine, fit=None))
    )
