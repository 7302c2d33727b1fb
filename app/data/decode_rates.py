"""Decode rates that were measured on this machine, kept so that the next prediction follows them.

They are kept by engine build, processor and threads, then by the model's file and the settings
that matter. A model that was not measured yet with these settings takes what it reached with
others, else what the model nearest to it in size reached, with less certainty.

Whatever else runs only makes a run slower: faster rates take the place of slower ones, and those
that were measured while other programs ran are marked, and count until quiet ones are known.
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
from inspector.measured import DecodeSample, fit_decode, likely_parts, undisturbed

__all__ = ["DecodeRates"]

_MOST_SAMPLES: Final = 48
_MOST_GROUPS: Final = 48
_MUCH_SLOWER: Final = 64.0


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one model with one set of settings on the same devices.

    The fit is that of when they were kept. ``runs`` replies or benchmarks gave them, those whose
    rates are forgotten by now included. ``bytes_per_token`` is what a token read with an empty
    cache, ``bandwidth_bytes_per_s`` what the processor's memory was taken to give, which the fit
    is relative to (0: kept by a version that did not note it); ``reading`` are the shares of the
    likely seconds, without and for the cache, that reading alone takes: 1 where memory holds the
    model back, less where its arithmetic does.
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
    bandwidth_bytes_per_s: float = 0.0
    reading: tuple[float, float] = (0.0, 0.0)

    @property
    def busy(self) -> bool:
        """Tell whether other programs ran when some of it was measured."""
        return any(item.busy for item in self.samples)


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

    def learn(
        self,
        plan: Plan,
        model: str,
        samples: Sequence[DecodeSample],
        *,
        busy: bool = False,
        even_busy: bool = False,
    ) -> bool:
        """Keep rates of one run of a model loaded by ``plan``; tell whether any count.

        Args:
            plan: with or without a fit.
            model: fingerprint of the model's file.
            samples: what the run gave.
            busy: other programs ran meanwhile: its rates are marked, and count only where they are
                faster than what is known.
            even_busy: they count where nothing is known, too.
        """
        if not samples or not model:
            return False
        if busy:
            samples = [msgspec.structs.replace(item, busy=True) for item in samples]
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
        if old is None and busy and not even_busy:
            return False
        known, fresh = undisturbed(bare, () if old is None else old.samples, samples)
        if not fresh:
            return False
        kept = (*known, *fresh)[-_MOST_SAMPLES:]
        runs = old.runs + 1 if old is not None and known else 1
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
            bandwidth_bytes_per_s=bare.machine.cpu.bandwidth_bytes_per_s or 0.0,
            reading=_reading(bare),
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
        groups.sort(key=lambda group: not group.busy)  # what comes last counts first
        same_file = [group for group in groups if model and group.model == model]
        same_key = [group for group in groups if group.key == key]
        size = _size(plan)
        # The latest, where none is nearer.
        same_key.sort(
            key=lambda group: (not group.busy, -_apart(group.bytes_per_token, size)),
        )
        for near in (*reversed(same_file), *reversed(same_key)):
            weights, cache = _at_bandwidth(plan, near)
            return DecodeFit(
                weights=weights,
                cache=cache,
                spread=near.spread,
                key=near.key,
                own=False,
                other_settings=bool(model) and near.model == model,
                count=len(near.samples),
                deepest=max((item.depth for item in near.samples), default=0),
                runs=near.runs,
                busy=near.busy,
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


def _at_bandwidth(plan: Plan, group: _Group) -> tuple[float, float]:
    """Return a group's factors for a plan whose memory is taken to give more or less.

    What was measured are seconds. A bandwidth that is known better afterwards raises the ceiling
    and makes no run faster, so the plan's parts are scaled as at the bandwidth of then. Where the
    plan's memory gives less, as for a model that no cache of the processor holds, what arithmetic
    cost the measured one is no more than what reading costs this one; but no better than likely.
    """
    then, now = group.bandwidth_bytes_per_s, plan.machine.cpu.bandwidth_bytes_per_s or 0.0
    factors = (group.weights, group.cache)
    if group.devices or not then or not now or now == then:
        return factors
    if now < then:
        slower = (max(share * then / now, 1.0) for share in group.reading)
        weights, cache = (
            min(factor, max(factor / times, 1.0))
            for factor, times in zip(factors, slower, strict=True)
        )
        return weights, cache
    depth = max(plan.decode.depth, 1)
    before, parts = likely_parts(_with_bandwidth(plan, then), depth), likely_parts(plan, depth)
    if before is None or parts is None:
        return factors
    weights, cache = (
        factor * old / new if new else factor
        for factor, old, new in zip(factors, before, parts, strict=True)
    )
    return weights, cache


def _reading(plan: Plan) -> tuple[float, float]:
    """Return the shares of the likely seconds of both parts that reading alone takes, 0 to 1."""
    now, depth = plan.machine.cpu.bandwidth_bytes_per_s, max(plan.decode.depth, 1)
    if not now:
        return 0.0, 0.0
    parts = likely_parts(plan, depth)
    read = likely_parts(_with_bandwidth(plan, now / _MUCH_SLOWER), depth)  # nothing else counts
    if parts is None or read is None:
        return 0.0, 0.0
    weights, cache = (
        min(slow / _MUCH_SLOWER / own, 1.0) if own else 0.0
        for slow, own in zip(read, parts, strict=True)
    )
    return weights, cache


def _with_bandwidth(plan: Plan, bytes_per_s: float) -> Plan:
    cpu = plan.machine.cpu.with_bandwidth(bytes_per_s)
    return replace(plan, machine=replace(plan.machine, cpu=cpu))


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
