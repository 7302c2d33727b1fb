"""How fast prompts are read: operations of a prompt, and the seconds that devices take for them.

A prompt is worked on many tokens at a time, so arithmetic is the limit, unless weights have to be
brought to the device that computes, or the prompt is short: each micro-batch reads the weights
once, as a token that is decoded does. What that and the full rate of arithmetic leave is the
ceiling; no prediction lies above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.launches import launch_seconds, launches_of
from gguf_tools.machine import CpuFeature, Device, Machine
from gguf_tools.placement import CPU, Placement
from gguf_tools.rates import LayerReads, attention_terms, layer_reads
from gguf_tools.roles import expert_share

__all__ = [
    "LINK_SHARES",
    "attention_flops",
    "least_prefill_seconds",
    "prefill_flops",
    "prefill_seconds",
]

LINK_SHARES: Final = (0.4, 0.6, 0.8)
"""What copies from main memory reach of the way to a device: at worst, likely, at best (assumed).

Pages of a mapped file go through a buffer of the driver; memory that is pinned reaches the best.
"""

_OFFLOADED_TOKENS: Final = 32  # GGML_OP_OFFLOAD_MIN_BATCH
_MATRIX_TOKENS: Final = 4  # kernels for many tokens work on so many at once

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
    reads: LayerReads, shape: Hyperparameters, tokens: int, outputs: int = 1, *, depth: int = 0
) -> float:
    """Return the operations of a prompt: two a weight and token, and attention to what came before.

    The output matrix counts only for the rows that are wanted. ``reads`` may be those for any
    features of the CPU; ``depth`` tokens lie in the cache before the prompt.
    """
    total = 2.0 * sum(reads.parameters) * tokens + 2.0 * reads.head_parameters * outputs
    return total + attention_flops(shape, tokens, depth)


def attention_flops(shape: Hyperparameters, tokens: int, depth: int = 0) -> float:
    """Return the operations of scores and sums over a prompt behind ``depth`` cached tokens."""
    if depth:
        return attention_flops(shape, depth + tokens) - attention_flops(shape, depth)
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
    depth: int = 0,
    held: Sequence[float] = (),
    experts_on_cpu: bool = False,
    link_share: float = LINK_SHARES[1],
) -> float | None:
    """Return how long a prompt is likely to take, None if a device's rate of arithmetic is unknown.

    Layers on the CPU are either computed there or copied to a device once a micro-batch,
    whichever is faster; so are experts in main memory. It is never less than
    `least_prefill_seconds`: an integer kernel may beat the rate that is assumed of a processor.

    Args:
        header: the model.
        shape: its hyperparameters.
        placement: where layers lie.
        machine: the devices.
        tokens: of the prompt.
        ubatch: tokens that are evaluated together at most.
        features: of the CPU, for whose kernels matrices are repacked.
        depth: tokens that lie in the cache before it.
        held: bytes of cache and state that a micro-batch reads at least, by device.
        experts_on_cpu: expert tensors stay on the CPU.
        link_share: what copies to a device reach of the way there.
    """
    reads = layer_reads(header, shape, features)
    prompt = _Prompt(
        reads, shape, placement, machine, tokens, max(ubatch, 1), depth, tuple(held), experts_on_cpu
    )
    likely, least = prompt.seconds(link_share), prompt.seconds(1.0, full=True)
    return None if likely is None or least is None else max(likely, least)


def least_prefill_seconds(
    header: Header,
    shape: Hyperparameters,
    placement: Placement,
    machine: Machine,
    tokens: int,
    ubatch: int,
    *,
    depth: int = 0,
    held: Sequence[float] = (),
    experts_on_cpu: bool = False,
) -> float | None:
    """Return the least time of a prompt, None if a device's rate of arithmetic is unknown.

    On each device micro-batches take as long as their operations at its full rate, or as reading
    what they need, whichever is longer. Arguments are those of `prefill_seconds`.
    """
    prompt = _Prompt(
        layer_reads(header, shape),
        shape,
        placement,
        machine,
        tokens,
        max(ubatch, 1),
        depth,
        tuple(held),
        experts_on_cpu,
    )
    return prompt.seconds(1.0, full=True)


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt on a machine; see `prefill_seconds` for what its parts are."""

    reads: LayerReads
    shape: Hyperparameters
    placement: Placement
    machine: Machine
    tokens: int
    ubatch: int
    depth: int
    held: tuple[float, ...]
    experts_on_cpu: bool

    def batches(self) -> tuple[tuple[int, int], ...]:
        """Return micro-batches as (tokens, how many of them)."""
        full, rest = divmod(self.tokens, self.ubatch)
        found = ((self.ubatch, full), (rest, 1 if rest else 0))
        return tuple((batch, times) for batch, times in found if times)

    def seconds(self, link_share: float, *, full: bool = False) -> float | None:
        """Return how long it takes; ``full``: at all rates that are known, none of them a share."""
        reads, tokens = self.reads, self.tokens
        devices, places = self.machine.devices, self.placement.layers[: self.shape.layers]
        attention = attention_flops(self.shape, tokens, self.depth) / max(self.shape.layers, 1)
        work = [0.0] * len(devices)
        moved = kernels = 0.0
        for layer, index in enumerate(places):
            work[index] += 2.0 * reads.parameters[layer] * tokens + attention
            if self.experts_on_cpu and index != CPU:
                work[index] -= 2.0 * reads.expert_parameters[layer] * tokens
            if index == CPU:
                kernels += self._kernels(layer) + attention / PREFILL_SHARE["cpu"]
                moved += reads.dense[layer] + reads.experts[layer]
        work[self.placement.output] += 2.0 * reads.head_parameters
        total = 0.0
        if self.experts_on_cpu:
            kept = self._expert_seconds(link_share, full=full)
            if kept is None:
                return None
            total = kept
        reading = self._reading_seconds()
        launching = self._launching_seconds()
        for index, device in enumerate(devices):
            if work[index] == 0:
                total += reading[index]
                continue
            seconds = _work_seconds(work[index], device, full=full)
            if index == CPU and kernels and device.flops_per_s and not full:
                seconds = kernels / device.flops_per_s
            if seconds is not None:
                seconds = max(seconds, reading[index], 0.0 if full else launching[index])
            if index == CPU and self.placement.offloaded:
                through = self._through_link(work[index], moved, full=full)
                known = (item for item in (seconds, through) if item is not None)
                seconds = min(known, default=None)
            if seconds is None:
                return None
            total += seconds
        return total

    def _kernels(self, layer: int) -> float:
        """Return a layer's operations on a processor, over what its kernels reach."""
        reads, alone = self.reads, 0
        if self.tokens % self.ubatch < _MATRIX_TOKENS:
            alone = self.tokens % self.ubatch
        if self.ubatch < _MATRIX_TOKENS:
            alone = self.tokens
        single = reads.dense_work[layer] + reads.expert_work[layer]
        return reads.prompt_work[layer] * (self.tokens - alone) + single * alone

    def _reading_seconds(self) -> list[float]:
        """Return how long each device reads: all micro-batches the layers, the last the output."""
        reads, devices = self.reads, self.machine.devices
        read = [0.0] * len(devices)
        read[CPU] += reads.input_rows * self.tokens
        read[self.placement.output] += reads.output
        for batch, times in self.batches():
            for layer, index in enumerate(self.placement.layers[: self.shape.layers]):
                read[index] += times * reads.dense[layer]
                if reads.experts[layer] and (index == CPU or not self.experts_on_cpu):
                    chosen = expert_share(self.shape, layer, batch)
                    read[index] += times * reads.experts[layer] * chosen
            for index, size in enumerate(self.held):
                read[index] += times * size
        return [
            size / device.bandwidth_bytes_per_s if device.bandwidth_bytes_per_s else 0.0
            for size, device in zip(read, devices, strict=True)
        ]

    def _launching_seconds(self) -> list[float]:
        """Return how long the kernels of all micro-batches take to be launched, by device."""
        devices = self.machine.devices
        counts = zip(*launches_of(self.shape, self.placement, len(devices)), devices, strict=True)
        times = sum(count for _, count in self.batches())
        return [times * sum(launch_seconds(*of_device)) / 2.0 for of_device in counts]

    def _expert_seconds(self, link_share: float, *, full: bool) -> float | None:
        """Return what experts take where they lie in main memory and layers on devices.

        Follows ggml/src/ggml-backend.cpp: a device takes products of at least 32 tokens over
        (``offload_op``), and of the experts only those that the micro-batch chose are copied to it
        (``copy_experts``): with b tokens about ``1 - (1 - used / count) ** b`` of them. So each
        micro-batch moves nearly all experts over the bus and then computes on the device; smaller
        ones are computed by the processor. Copies from pages of a mapped file don't reach the
        bus's rate, and copying does not overlap with computing here: a rough figure. None if a
        rate is unknown.
        """
        reads, cpu = self.reads, self.machine.cpu
        total = 0.0
        for layer, index in enumerate(self.placement.layers[: self.shape.layers]):
            if index == CPU or not reads.experts[layer]:
                continue
            device = self.machine.devices[index]
            link = device.link_bytes_per_s
            if device.memory_pool == cpu.memory_pool and cpu.bandwidth_bytes_per_s:
                link = cpu.bandwidth_bytes_per_s / 2  # read and written in one memory
            for batch, times in self.batches():
                read = reads.experts[layer] * expert_share(self.shape, layer, batch)
                if batch >= _OFFLOADED_TOKENS and link and device.kind != "rpc":
                    work = 2.0 * reads.expert_parameters[layer] * batch
                    computed = _work_seconds(work, device, full=full)
                    if computed is None:
                        return None
                    total += times * (read / (link * link_share) + computed)
                elif cpu.flops_per_s:
                    work = reads.expert_prompt_work[layer] * batch
                    if full:
                        work = 2.0 * reads.expert_parameters[layer] * batch
                    reading = read / cpu.bandwidth_bytes_per_s if cpu.bandwidth_bytes_per_s else 0.0
                    total += times * max(work / cpu.flops_per_s, reading)
                else:
                    return None
        return total

    def _through_link(self, work: float, moved: float, *, full: bool) -> float | None:
        device = self.machine.devices[self.placement.output]
        computed = _work_seconds(work, device, full=full)
        if computed is None or not device.link_bytes_per_s or device.kind == "rpc":
            return None
        batches = sum(times for _, times in self.batches())
        return computed + batches * moved / device.link_bytes_per_s


def _work_seconds(work: float, device: Device, *, full: bool) -> float | None:
    if not device.flops_per_s:
        return None
    return work / (device.flops_per_s * (1.0 if full else PREFILL_SHARE[device.kind]))
