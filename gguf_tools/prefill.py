"""How fast prompts are read: operations of a prompt, and the seconds that devices take for them.

A prompt is worked on many tokens at a time, so arithmetic is the limit, unless weights have to be
brought to the device that computes.
"""

from __future__ import annotations

from typing import Final

from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.machine import CpuFeature, Device, Machine
from gguf_tools.placement import CPU, Placement
from gguf_tools.rates import LayerReads, attention_terms, layer_reads
from gguf_tools.roles import expert_share

__all__ = ["LINK_SHARES", "attention_flops", "prefill_flops", "prefill_seconds"]

LINK_SHARES: Final = (0.4, 0.6, 0.8)
"""What copies from main memory reach of the way to a device: at worst, likely, at best (assumed).

Pages of a mapped file go through a buffer of the driver; memory that is pinned reaches the best.
"""

_OFFLOADED_TOKENS: Final = 32  # GGML_OP_OFFLOAD_MIN_BATCH

PREFILL_SHARE: Final[dict[str, float]] = {
    "gpu": 0.4,
    "igpu": 0.35,
    "accel": 0.35,
    "rpc": 0.3,
    "cpu": 0.5,
}
"""Shares of the arithmetic rate at which prompts are read (assumed).

On a processor that is attention's; what the weights reach is in `gguf_tools.kernels`.
"""


def prefill_flops(
    reads: LayerReads, shape: Hyperparameters, tokens: int, outputs: int = 1
) -> float:
    """Return the operations of a prompt: two a weight and token, and attention to what came before.

    The output matrix counts only for the rows that are wanted. ``reads`` may be those for any
    features of the CPU.
    """
    total = 2.0 * sum(reads.parameters) * tokens + 2.0 * reads.head_parameters * outputs
    return total + attention_flops(shape, tokens)


def attention_flops(shape: Hyperparameters, tokens: int) -> float:
    """Return the operations of scores and sums over a prompt of ``tokens``."""
    pairs = tokens * (tokens + 1) / 2 if shape.causal else float(tokens) ** 2
    window = min(shape.window, tokens) if shape.window else tokens
    near = window * (tokens - window) + window * (window + 1) / 2
    return sum(pair * (near if window else pairs) for pair, window in attention_terms(shape))


def prefill_seconds(
    header: Header,
    shape: Hyperparameters,
    placement: Placement,
    machine: Machine,
    tokens: int,
    ubatch: int,
    features: frozenset[CpuFeature] = frozenset(),
    *,
    experts_on_cpu: bool = False,
    link_share: float = LINK_SHARES[1],
) -> float | None:
    """Return how long a prompt takes, None if a device's rate of arithmetic is unknown.

    Layers on the CPU are either computed there or copied to a device once a micro-batch,
    whichever is faster; experts in main memory are told apart by `_expert_seconds`.
    ``link_share`` is what copies of them reach of the way to the device.
    """
    reads = layer_reads(header, shape, features)
    attention = attention_flops(shape, tokens) / max(shape.layers, 1)
    devices = machine.devices
    work = [0.0] * len(devices)
    moved = kernels = 0.0
    for layer in range(shape.layers):
        index = placement.layers[layer]
        work[index] += 2.0 * reads.parameters[layer] * tokens + attention
        if experts_on_cpu and index != CPU:
            work[index] -= 2.0 * reads.expert_parameters[layer] * tokens
        if index == CPU:
            kernels += reads.prompt_work[layer] * tokens + attention / PREFILL_SHARE["cpu"]
        if index == CPU:
            moved += reads.dense[layer] + reads.experts[layer]
    work[placement.output] += 2.0 * reads.head_parameters
    total = 0.0
    if experts_on_cpu:
        kept = _expert_seconds(reads, shape, placement, machine, tokens, ubatch, link_share)
        if kept is None:
            return None
        total = kept
    for index, device in enumerate(devices):
        if work[index] == 0:
            continue
        seconds = _work_seconds(work[index], device)
        if index == CPU and kernels and device.flops_per_s:
            seconds = kernels / device.flops_per_s
        if index == CPU and placement.offloaded:
            through = _through_link(work[index], moved, machine, placement, tokens, ubatch)
            seconds = min((item for item in (seconds, through) if item is not None), default=None)
        if seconds is None:
            return None
        total += seconds
    return total


def _expert_seconds(
    reads: LayerReads,
    shape: Hyperparameters,
    placement: Placement,
    machine: Machine,
    tokens: int,
    ubatch: int,
    link_share: float,
) -> float | None:
    """Return what a prompt's experts take where they lie in main memory and layers on devices.

    Follows ggml/src/ggml-backend.cpp: a device takes products of at least 32 tokens over
    (``offload_op``), and of the experts only those that the micro-batch chose are copied to it
    (``copy_experts``): with b tokens about ``1 - (1 - used / count) ** b`` of them. So each
    micro-batch moves nearly all experts over the bus and then computes on the device; smaller ones
    are computed by the processor. Copies from pages of a mapped file don't reach the bus's rate,
    and copying does not overlap with computing here: a rough figure. None if a rate is unknown.
    """
    total = 0.0
    cpu = machine.cpu
    full, rest = divmod(tokens, max(ubatch, 1))
    for layer, index in enumerate(placement.layers[: shape.layers]):
        if index == CPU or not reads.experts[layer]:
            continue
        device = machine.devices[index]
        link = device.link_bytes_per_s
        if device.memory_pool == cpu.memory_pool and cpu.bandwidth_bytes_per_s:
            link = cpu.bandwidth_bytes_per_s / 2  # read and written in one memory
        for batch, times in ((max(ubatch, 1), full), (rest, 1 if rest else 0)):
            if not times:
                continue
            if batch >= _OFFLOADED_TOKENS and link and device.kind != "rpc":
                moved = reads.experts[layer] * expert_share(shape, layer, batch)
                computed = _work_seconds(2.0 * reads.expert_parameters[layer] * batch, device)
                if computed is None:
                    return None
                total += times * (moved / (link * link_share) + computed)
            elif cpu.flops_per_s:
                total += times * reads.expert_prompt_work[layer] * batch / cpu.flops_per_s
            else:
                return None
    return total


def _work_seconds(work: float, device: Device) -> float | None:
    if not device.flops_per_s:
        return None
    return work / (device.flops_per_s * PREFILL_SHARE[device.kind])


def _through_link(
    work: float, moved: float, machine: Machine, placement: Placement, tokens: int, ubatch: int
) -> float | None:
    device = machine.devices[placement.output]
    computed = _work_seconds(work, device)
    if computed is None or not device.link_bytes_per_s or device.kind == "rpc":
        return None
    batches = -(-tokens // max(ubatch, 1))
    return computed + batches * moved / device.link_bytes_per_s
