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
from gguf_tools.machine import Basis, CpuFeature, DecodeFit, Device, Machine
from gguf_tools.memory import DeviceMemory, MemoryPlan, memory_plan
from gguf_tools.pools import PoolUse, longest_context, most_sequences, pools_of
from gguf_tools.prefill import LINK_SHARES, Holder, Prompt, prefill_flops
from gguf_tools.rates import (
    TokenBytes,
    layer_reads,
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
    "held_bytes",
    "kernel_features",
    "make_plan",
    "step_reads",
    "with_fit",
]

_PROMPT_TOKENS: Final = 512
_MOST_LOOKS: Final = 4  # for the longest context, where one step is not enough


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
    """Predicted reading of a prompt: operations a token, and tokens per second.

    ``expected_low`` and ``expected_high`` are given where the way is known and its speed is not.
    ``ceiling`` is what full rates of arithmetic allow, and reading the weights once a micro-batch.
    ``held_by`` is what takes most of the expected time.
    """

    flops_per_token: float
    flops_per_s: float | None
    flops_basis: Basis
    expected: float | None
    expected_low: float | None = None
    expected_high: float | None = None
    ceiling: float | None = None
    held_by: Holder = "arithmetic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The whole answer for one way of loading.

    ``max_context`` is the longest context of a sequence that memory holds, filled to its end;
    ``safe_context`` and ``max_sequences`` keep below the load line.
    """

    facts: ModelFacts
    load: LoadSettings
    machine: Machine
    memory: MemoryPlan
    devices: tuple[DevicePlan, ...]
    pools: tuple[PoolUse, ...]
    fits: bool | None
    max_context: int | None
    safe_context: int | None
    max_sequences: int | None
    decode: DecodePlan
    prefill: PrefillPlan
    ttft_s: float | None
    refusal: Refusal | None
    findings: tuple[Finding, ...]

    @property
    def fitting_context(self) -> int | None:
        """Return `safe_context`, or `max_context` where the weights are over the line already."""
        return self.safe_context or self.max_context

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
    prompt_tokens: int = _PROMPT_TOKENS,
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
    planable = _planable(load, refused)
    memory = memory_plan(facts, planable, machine)
    pools = pools_of(memory, freed_bytes or {})
    by_name = {pool.name: pool for pool in pools}
    devices = tuple(_device_plan(item, by_name) for item in memory.devices)
    lefts = [pool.left_bytes for pool in pools if pool.used_bytes]
    known = [left for left in lefts if left is not None]
    fits = all(left >= 0 for left in known) if len(known) == len(lefts) else None
    decode = _decode(facts, load, machine, memory, depth)
    held = decode.reads if depth == 0 else step_reads(facts, load, machine, memory, 0)
    prefill, first = _prefill(facts, load, machine, memory, prompt_tokens, held_bytes(held))
    step = seconds_per_token(decode.reads, machine)
    ttft = None if first is None or step is None else first + step
    longest, safe = (
        _max_context(facts, planable, machine, memory, pools, freed_bytes, below_line=below)
        for below in (False, True)
    )
    return Plan(
        facts=facts,
        load=load,
        machine=machine,
        memory=memory,
        devices=devices,
        pools=pools,
        fits=fits,
        max_context=longest,
        safe_context=safe,
        max_sequences=most_sequences(memory, pools),
        decode=decode,
        prefill=prefill,
        ttft_s=ttft,
        refusal=refused,
        findings=_findings(facts, load, machine, memory, refused, pools, longest, safe, decode),
    )


def _max_context(
    facts: ModelFacts,
    load: LoadSettings,
    machine: Machine,
    memory: MemoryPlan,
    pools: tuple[PoolUse, ...],
    freed_bytes: dict[str, int] | None,
    *,
    below_line: bool,
) -> int | None:
    """Return the longest context that fits, looked at again where one step from here is too long.

    Without flash attention scores grow with the context only until the feed-forward needs less
    than they do: below that a compute buffer shrinks no further.
    """
    settings, current = memory.settings, memory.settings.context_sequence
    longest = longest_context(facts, memory, pools, below_line=below_line)
    if settings.flash_attention:
        return longest
    for _ in range(_MOST_LOOKS):
        if not longest or longest >= current:
            break
        current = longest
        near = memory_plan(facts, replace(load, context=current * settings.streams), machine)
        near_pools = pools_of(near, freed_bytes or {})
        rooms = (pool.headroom_bytes if below_line else pool.left_bytes for pool in near_pools)
        if all(room is None or room >= 0 for room in rooms):
            break
        longest = longest_context(facts, near, near_pools, below_line=below_line)
    return longest


def with_fit(plan: Plan, fit: DecodeFit | None) -> Plan:
    """Return the plan with decoding predicted by what was measured; memory stays as it is."""
    machine = replace(plan.machine, fit=fit)
    decode = _decode(plan.facts, plan.load, machine, plan.memory, plan.decode.depth)
    findings = _findings(
        plan.facts,
        plan.load,
        machine,
        plan.memory,
        plan.refusal,
        plan.pools,
        plan.max_context,
        plan.safe_context,
        decode,
    )
    return replace(plan, machine=machine, decode=decode, findings=findings)


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


def _device_plan(item: DeviceMemory, pools: dict[str, PoolUse]) -> DevicePlan:
    pool = pools[item.device.memory_pool]
    return DevicePlan(
        memory=item,
        free_bytes=pool.free_bytes,
        left_bytes=pool.left_bytes,
        over_load_line=pool.over_load_line,
    )


# --- rates


def kernel_features(load: LoadSettings, machine: Machine) -> frozenset[CpuFeature]:
    """Return the CPU's features for which matrices are repacked with these settings."""
    if load.extra_buffers:
        return machine.cpu.features
    return (machine.cpu.features - {"amx"}) | {"by_name"} if load.repack else frozenset()


def step_reads(
    facts: ModelFacts, load: LoadSettings, machine: Machine, memory: MemoryPlan, depth: int
) -> tuple[TokenBytes, ...]:
    """Return what a decoded token reads of each device with ``depth`` tokens in the cache."""
    shape = facts.shape
    assert shape is not None
    return token_bytes(
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


def held_bytes(reads: tuple[TokenBytes, ...]) -> tuple[float, ...]:
    """Return the part of it that is cache and state, by device: a micro-batch reads it, too."""
    return tuple(item.kv + item.state for item in reads)


def _decode(
    facts: ModelFacts, load: LoadSettings, machine: Machine, memory: MemoryPlan, depth: int
) -> DecodePlan:
    reads = step_reads(facts, load, machine, memory, depth)
    expected = expected_share(reads, machine, memory.settings, memory.placement)
    seconds = seconds_per_token(reads, machine)
    total = sum(item.total for item in reads)
    busiest = max(range(len(reads)), key=lambda index: reads[index].total)
    return DecodePlan(
        reads=reads,
        bytes_per_token=round(total),
        bandwidth_bytes_per_s=total / seconds if seconds else None,
        bandwidth_basis=machine.devices[busiest].bandwidth_basis,
        ceiling=1.0 / seconds if seconds else None,
        expected_low=expected[0] if expected else None,
        expected_high=expected[1] if expected else None,
        depth=depth,
        busiest=busiest,
    )


def _prefill(
    facts: ModelFacts,
    load: LoadSettings,
    machine: Machine,
    memory: MemoryPlan,
    tokens: int,
    held: tuple[float, ...],
) -> tuple[PrefillPlan, float | None]:
    shape = facts.shape
    assert shape is not None
    features = kernel_features(load, machine)
    reads = layer_reads(facts.header, shape, features)
    moves = load.experts_on_cpu and bool(facts.experts) and memory.placement.offloaded > 0

    prompt = Prompt(
        facts.header,
        shape,
        memory.placement,
        machine,
        tokens,
        memory.settings.ubatch,
        features,
        held=held,
        experts_on_cpu=moves,
    )
    worst, likely, best = LINK_SHARES
    found, floor = prompt.likely(likely), prompt.least
    holder = prompt.held_by
    most = least = None
    if moves:
        most, least = prompt.likely(worst), prompt.likely(best)
    device = machine.devices[memory.placement.output]
    plan = PrefillPlan(
        flops_per_token=prefill_flops(reads, shape, tokens) / tokens,
        flops_per_s=device.prompt_flops_per_s,
        flops_basis=device.flops_basis,
        expected=tokens / found if found else None,
        expected_low=tokens / most if most else None,
        expected_high=tokens / least if least else None,
        ceiling=tokens / floor if floor else None,
        held_by=holder,
    )
    return plan, found


def _findings(
    facts: ModelFacts,
    load: LoadSettings,
    machine: Machine,
    memory: MemoryPlan,
    refused: Refusal | None,
    pools: tuple[PoolUse, ...],
    max_context: int | None,
    safe_context: int | None,
    decode: DecodePlan,
) -> tuple[Finding, ...]:
    return find(
        facts=facts,
        load=load,
        machine=machine,
        memory=memory,
        refused=refused,
        pools=tuple((pool.name, pool.left_bytes, pool.over_load_line) for pool in pools),
        max_context=max_context,
        safe_context=safe_context,
        expected_high=decode.expected_high,
        reads=decode.reads,
    )
