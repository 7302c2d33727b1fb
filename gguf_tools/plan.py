"""Does a model fit a machine, with which context, for how many conversations, and how fast?

`make_plan` answers for one way of loading, from the file's facts and a machine's figures alone:
nothing is loaded. Fast enough to be redrawn while a slider moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gguf_tools.expected import expected_share
from gguf_tools.facts import ModelFacts
from gguf_tools.findings import Finding, find
from gguf_tools.machine import LOAD_LINE, Basis, CpuFeature, DecodeFit, Device, Machine
from gguf_tools.memory import DeviceMemory, MemoryPlan, memory_plan
from gguf_tools.placement import CPU
from gguf_tools.rates import (
    TokenBytes,
    decode_ceiling,
    prefill_flops,
    prefill_seconds,
    seconds_per_token,
    token_bytes,
)
from gguf_tools.settings import LoadSettings, Refusal, refusal

__all__ = [
    "DecodePlan",
    "DevicePlan",
    "Plan",
    "PoolUse",
    "PrefillPlan",
    "kernel_features",
    "make_plan",
    "with_fit",
]

_STEP: Final = 256
_PROMPT: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlan:
    """A device's budget: what the model takes, what others hold, what is left."""

    memory: DeviceMemory
    free_bytes: int | None
    left_bytes: int | None
    over_load_line: bool

    @property
    def device(self) -> Device:
        """Return the device."""
        return self.memory.device


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """Devices that draw on one memory, together."""

    name: str
    total_bytes: int | None
    free_bytes: int | None
    used_bytes: int
    others_bytes: int | None

    @property
    def left_bytes(self) -> int | None:
        """Return what is left, negative if it doesn't fit, None if the probe failed."""
        return None if self.free_bytes is None else self.free_bytes - self.used_bytes

    @property
    def over_load_line(self) -> bool:
        """Tell whether the model and others together pass the load line."""
        if self.total_bytes is None:
            return False
        taken = self.used_bytes + (self.others_bytes or 0)
        return taken > LOAD_LINE * self.total_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePlan:
    """Predicted decoding, in tokens per second; rates are None where a bandwidth is unknown.

    ``depth`` is how many tokens the cache holds then; ``busiest`` is the index of the device that
    reads most of a token's bytes.
    """

    reads: tuple[TokenBytes, ...]
    bytes_per_token: int
    bandwidth_bytes_per_s: float | None
    bandwidth_basis: Basis
    ceiling: float | None
    expected_low: float | None
    expected_high: float | None
    depth: int = 0
    busiest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillPlan:
    """Predicted reading of a prompt: operations a token, and tokens per second."""

    flops_per_token: float
    flops_per_s: float | None
    flops_basis: Basis
    expected: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The whole answer for one way of loading."""

    facts: ModelFacts
    load: LoadSettings
    machine: Machine
    memory: MemoryPlan
    devices: tuple[DevicePlan, ...]
    pools: tuple[PoolUse, ...]
    fits: bool | None
    max_context: int | None
    max_sequences: int | None
    decode: DecodePlan
    prefill: PrefillPlan
    ttft_s: float | None
    refusal: Refusal | None
    findings: tuple[Finding, ...]

    @property
    def layers_offloaded(self) -> int:
        """Return how many layers, the output included, lie off the CPU."""
        return self.memory.placement.offloaded


def make_plan(
    facts: ModelFacts,
    load: LoadSettings,
    machine: Machine,
    *,
    depth: int = 0,
    prompt_tokens: int = _PROMPT,
    freed_bytes: dict[str, int] | None = None,
) -> Plan:
    """Return the plan for one way of loading.

    Args:
        facts: the model.
        load: how it would be loaded.
        machine: where.
        depth: tokens in the cache for which the decode rate is given.
        prompt_tokens: length of the prompt that the time to the first token is given for.
        freed_bytes: what unloading the present model gives back, by memory pool.

    Raises:
        ValueError: the file says too little, or there is no cache of the type asked for.
    """
    shape = facts.shape
    if shape is None:
        raise ValueError("The file says too little about the model to plan its memory.")
    refused = refusal(shape, load)
    memory = memory_plan(facts, _planable(load, refused), machine)
    pools = _pools(memory, freed_bytes or {})
    by_name = {pool.name: pool for pool in pools}
    devices = tuple(_device_plan(item, by_name) for item in memory.devices)
    lefts = [pool.left_bytes for pool in pools if pool.used_bytes]
    known = [left for left in lefts if left is not None]
    fits = all(left >= 0 for left in known) if len(known) == len(lefts) else None
    decode = _decode(facts, load, machine, memory, depth)
    prefill, first = _prefill(facts, machine, memory, prompt_tokens, kernel_features(load, machine))
    step = seconds_per_token(decode.reads, machine)
    ttft = None if first is None or step is None else first + step
    plan = Plan(
        facts=facts,
        load=load,
        machine=machine,
        memory=memory,
        devices=devices,
        pools=pools,
        fits=fits,
        max_context=_max_context(facts, memory, pools),
        max_sequences=_max_sequences(memory, pools),
        decode=decode,
        prefill=prefill,
        ttft_s=ttft,
        refusal=refused,
        findings=(),
    )
    return replace(plan, findings=_findings(plan))


def with_fit(plan: Plan, fit: DecodeFit | None) -> Plan:
    """Return the plan with decoding predicted by what was measured; memory stays as it is."""
    machine = replace(plan.machine, fit=fit)
    decode = _decode(plan.facts, plan.load, machine, plan.memory, plan.decode.depth)
    fitted = replace(plan, machine=machine, decode=decode)
    return replace(fitted, findings=_findings(fitted))


def _planable(load: LoadSettings, refused: Refusal | None) -> LoadSettings:
    """Return settings that can be planned: a refused pair is planned with its smallest repair."""
    if refused is None:
        return load
    match refused.fix:
        case "flash_on":
            return replace(load, flash_attention="on")
        case "v_f16":
            return replace(load, type_v="f16")
        case "kv_f16":
            return replace(load, type_k="f16", type_v="f16")
        case "kv_same":
            return replace(load, type_v=load.type_k)
        case "flash_off":
            return replace(load, flash_attention="off")
        case "one_sequence":
            return replace(load, sequences=1)
        case "fewer_sequences":
            return replace(load, sequences=min(load.sequences, 256))
        case _:
            return load


# --- room


def _pools(memory: MemoryPlan, freed: dict[str, int]) -> tuple[PoolUse, ...]:
    grouped: dict[str, list[DeviceMemory]] = {}
    for item in memory.devices:
        grouped.setdefault(item.device.memory_pool, []).append(item)
    pools = []
    for name, items in grouped.items():
        totals = [item.device.total_bytes for item in items if item.device.total_bytes]
        frees = [item.device.free_bytes for item in items if item.device.free_bytes is not None]
        total = max(totals, default=None)
        free = max(frees, default=None)
        if free is not None:
            free += freed.get(name, 0)
            free = min(free, total) if total is not None else free
        others = None if total is None or free is None else max(total - free, 0)
        used = sum(item.total_bytes for item in items)
        pools.append(
            PoolUse(
                name=name, total_bytes=total, free_bytes=free, used_bytes=used, others_bytes=others
            )
        )
    return tuple(pools)


def _device_plan(item: DeviceMemory, pools: dict[str, PoolUse]) -> DevicePlan:
    pool = pools[item.device.memory_pool]
    return DevicePlan(
        memory=item,
        free_bytes=pool.free_bytes,
        left_bytes=pool.left_bytes,
        over_load_line=pool.over_load_line,
    )


def _growth(memory: MemoryPlan, heads: int) -> dict[str, float]:
    """Return bytes that one more cell of context takes in each pool, over all sequences."""
    settings = memory.settings
    growth: dict[str, float] = {}
    devices = memory.devices
    for cache in memory.caches:
        if not cache.grows:
            continue
        for layer in cache.layers:
            device = devices[memory.placement.layers[layer.layer]].device
            row = (layer.k_row_bytes + layer.v_row_bytes) * cache.streams / cache.tokens_per_cell
            growth[device.memory_pool] = growth.get(device.memory_pool, 0.0) + row
    if memory.draft is not None:
        for index, row in enumerate(memory.draft.growth):
            pool = devices[index].device.memory_pool
            growth[pool] = growth.get(pool, 0.0) + row * settings.streams
    if not growth:
        return {}
    mask = settings.prompt_tokens * (2 if settings.flash_attention else 4)
    scores = 0 if settings.flash_attention else 4 * settings.prompt_tokens * heads
    for index, item in enumerate(devices):
        if item.kv_bytes or index == CPU:
            pool = item.device.memory_pool
            extra = mask + (scores if item.kv_bytes else 0)
            growth[pool] = growth.get(pool, 0.0) + extra / settings.streams
    return growth


def _max_context(facts: ModelFacts, memory: MemoryPlan, pools: tuple[PoolUse, ...]) -> int | None:
    """Return the longest context of a sequence that fits, at most the trained one.

    Memory grows evenly with the context, so one step from the planned context finds the end. None
    if a pool's free memory is unknown, 0 if not even the weights fit.
    """
    trained = facts.context_length or memory.settings.context_sequence
    growth = _growth(memory, facts.heads or 0)
    current = memory.settings.context_sequence
    longest = float(trained)
    for pool in pools:
        rate = growth.get(pool.name, 0.0)
        if pool.used_bytes == 0:
            continue
        if pool.left_bytes is None:
            return None
        if rate == 0:
            if pool.left_bytes < 0:
                return 0
            continue
        longest = min(longest, current + pool.left_bytes / rate)
    return max(int(longest) // _STEP * _STEP, 0)


def _max_sequences(memory: MemoryPlan, pools: tuple[PoolUse, ...]) -> int | None:
    """Return how many sequences of the planned length fit at once."""
    settings = memory.settings
    one: dict[str, float] = {}
    for item in memory.devices:
        share = item.kv_bytes / settings.streams + item.state_bytes / settings.sequences
        pool = item.device.memory_pool
        one[pool] = one.get(pool, 0.0) + share
    best: float | None = None
    for pool_use in pools:
        if pool_use.used_bytes == 0:
            continue
        if pool_use.left_bytes is None:
            return None
        share = one.get(pool_use.name, 0.0)
        if share == 0:
            if pool_use.left_bytes < 0:
                return 0
            continue
        here = settings.streams + pool_use.left_bytes / share
        best = here if best is None else min(best, here)
    if best is None:
        return None
    return max(min(int(best), 256), 0)


# --- rates


def kernel_features(load: LoadSettings, machine: Machine) -> frozenset[CpuFeature]:
    """Return the CPU's features for which matrices are repacked with these settings."""
    if load.extra_buffers:
        return machine.cpu.features
    return machine.cpu.features - {"amx"} if load.repack else frozenset()


def _decode(
    facts: ModelFacts, load: LoadSettings, machine: Machine, memory: MemoryPlan, depth: int
) -> DecodePlan:
    shape = facts.shape
    assert shape is not None
    reads = token_bytes(
        facts.header,
        shape,
        memory.settings,
        memory.placement,
        memory.caches,
        memory.states,
        devices=len(machine.devices),
        depth=depth,
        experts_on_cpu=load.experts_on_cpu,
        features=kernel_features(load, machine),
    )
    expected = expected_share(reads, machine, memory.settings, memory.placement)
    seconds = seconds_per_token(reads, machine)
    total = sum(item.total for item in reads)
    busiest = max(range(len(reads)), key=lambda index: reads[index].total)
    return DecodePlan(
        reads=reads,
        bytes_per_token=round(total),
        bandwidth_bytes_per_s=total / seconds if seconds else None,
        bandwidth_basis=machine.devices[busiest].bandwidth_basis,
        ceiling=decode_ceiling(reads, machine),
        expected_low=expected[0] if expected else None,
        expected_high=expected[1] if expected else None,
        depth=depth,
        busiest=busiest,
    )


def _prefill(
    facts: ModelFacts,
    machine: Machine,
    memory: MemoryPlan,
    tokens: int,
    features: frozenset[CpuFeature],
) -> tuple[PrefillPlan, float | None]:
    shape = facts.shape
    assert shape is not None
    flops = prefill_flops(facts.header, shape, tokens)
    seconds = prefill_seconds(
        facts.header,
        shape,
        memory.placement,
        machine,
        tokens,
        memory.settings.ubatch,
        features,
    )
    device = machine.devices[memory.placement.output]
    plan = PrefillPlan(
        flops_per_token=flops / tokens,
        flops_per_s=device.flops_per_s,
        flops_basis=device.flops_basis,
        expected=tokens / seconds if seconds else None,
    )
    return plan, seconds


def _findings(plan: Plan) -> tuple[Finding, ...]:
    return find(
        facts=plan.facts,
        load=plan.load,
        machine=plan.machine,
        memory=plan.memory,
        refused=plan.refusal,
        pools=tuple((pool.name, pool.left_bytes, pool.over_load_line) for pool in plan.pools),
        max_context=plan.max_context,
        expected_high=plan.decode.expected_high,
        reads=plan.decode.reads,
    )
