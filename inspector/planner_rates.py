"""How fast a planner's row decodes: ceilings, realistic rates, and operations per byte."""

from __future__ import annotations

from dataclasses import dataclass

from gguf_tools.machine import Basis, Device
from gguf_tools.plan import Plan, kernel_features
from gguf_tools.prefill import attention_flops, prefill_flops
from gguf_tools.rates import layer_reads
from inspector.planned import step_point

__all__ = ["Balance", "Rates", "balance_of", "rates_at"]


@dataclass(frozen=True, slots=True)
class Rates:
    """Decoding by all conversations together, in tokens per second; None is unknown.

    ``arithmetic`` tells that operations, not bandwidth, set the ceiling.
    """

    conversations: int
    bytes_per_step: float
    ceiling: float | None
    low: float | None
    high: float | None
    arithmetic: bool = False


@dataclass(frozen=True, slots=True)
class Balance:
    """Operations per byte of the machine beside those of the model's work.

    ``machine`` is what the device with the output can do for each byte it reads; ``decode`` what
    one conversation asks for, ``prefill`` what a batch of a prompt asks for. ``conversations`` are
    as many as it takes until arithmetic is the limit of decoding. None where a rate is unknown.
    """

    machine: float | None
    decode: float
    prefill: float
    batch: int
    conversations: int | None
    prefill_per_s: float | None
    flops_per_s: float | None
    flops_basis: Basis
    bandwidth_bytes_per_s: float | None
    bandwidth_basis: Basis


def rates_at(plan: Plan, depth: int, conversations: int) -> Rates:
    """Return decoding by ``conversations`` at once, each with ``depth`` tokens in its cache.

    They read the weights once together and each its own cache; their operations add up. The
    ceiling is whichever of bandwidth and arithmetic allows less.
    """
    point = step_point(plan, depth, conversations)
    if point.ceiling is None:
        return Rates(conversations, point.bytes_per_token, None, None, None)
    most = _arithmetic_ceiling(plan, depth)
    if most is None or most >= point.ceiling:
        return Rates(conversations, point.bytes_per_token, point.ceiling, point.low, point.high)
    low, high = (None if value is None else min(value, most) for value in (point.low, point.high))
    return Rates(conversations, point.bytes_per_token, most, low, high, arithmetic=True)


def _flops_per_token(plan: Plan, depth: int) -> float:
    """Return the operations of a decoded token: two a weight, and attention over the cache."""
    shape = plan.facts.shape
    assert shape is not None
    attention = attention_flops(shape, depth + 1) - attention_flops(shape, depth)
    reads = layer_reads(plan.facts.header, shape, kernel_features(plan.load, plan.machine))
    return prefill_flops(reads, shape, 1) - attention_flops(shape, 1) + attention


def _arithmetic_ceiling(plan: Plan, depth: int) -> float | None:
    """Return tokens per second that arithmetic allows; None if a rate is unknown or work is split.

    With experts on the CPU the shares of the work are not those of the layers, so nothing is said.
    """
    if plan.load.experts_on_cpu:
        return None
    places = plan.memory.placement.layers
    flops = _flops_per_token(plan, depth)
    seconds = 0.0
    for index in set(places):
        rate = plan.machine.devices[index].flops_per_s
        if not rate:
            return None
        seconds += flops * places.count(index) / len(places) / rate
    return 1.0 / seconds if seconds else None


def balance_of(plan: Plan) -> Balance:
    """Return operations per byte: what the machine can do, what decoding and prefill ask for."""
    device: Device = plan.machine.devices[plan.memory.placement.output]
    flops, bandwidth = device.flops_per_s, device.bandwidth_bytes_per_s
    ridge = flops / bandwidth if flops and bandwidth else None
    per_token = _flops_per_token(plan, 0)
    read = plan.facts.bytes_read_per_token or plan.facts.weights_bytes or 1
    decode = per_token / read
    batch = plan.memory.settings.ubatch
    # A batch of a mixture's prompt touches nearly all experts, so it reads all weights.
    weights = plan.facts.weights_bytes if plan.facts.experts else read
    prefill = per_token * batch / (weights or 1)
    users = None if ridge is None else max(round(ridge * weights / per_token), 1)
    return Balance(
        machine=ridge,
        decode=decode,
        prefill=prefill,
        batch=batch,
        conversations=users,
        prefill_per_s=plan.prefill.expected,
        flops_per_s=flops,
        flops_basis=device.flops_basis,
        bandwidth_bytes_per_s=bandwidth,
        bandwidth_basis=device.bandwidth_basis,
    )
