"""How fast prompts are read: operations of a prompt, and the seconds that devices take for them.

A prompt is worked on many tokens at a time, so arithmetic is the limit, unless weights have to be
brought to the device that computes, or the prompt is short: each micro-batch reads the weights
once, as a token that is decoded does. What that and the full rate of arithmetic leave is the
ceiling; no prediction lies above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.launches import launch_seconds, launches_of
from gguf_tools.machine import CpuFeature, Device, Machine
from gguf_tools.placement import CPU, Placement
from gguf_tools.rates import LayerReads, attention_terms, layer_reads
from gguf_tools.roles import expert_share

__all__ = [
    "LINK_SHARES",
    "Holder",
    "Prompt",
    "attention_flops",
    "least_prefill_seconds",
    "prefill_flops",
    "prefill_seconds",
]

Holder: TypeAlias = Literal["arithmetic", "reading", "launches", "link", "experts"]
"""What a prompt waits for most: ``link`` are layers brought to a device, ``experts`` those that lie
in main memory, wherever they are computed."""

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


@lru_cache(maxsize=256)  # a slider leaves the prompt as it is
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
    prompt = Prompt(
        header,
        shape,
        placement,
        machine,
        tokens,
        ubatch,
        features,
        depth=depth,
        held=held,
        experts_on_cpu=experts_on_cpu,
    )
    return prompt.likely(link_share)


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
    prompt = Prompt(
        header,
        shape,
        placement,
        machine,
        tokens,
        ubatch,
        depth=depth,
        held=held,
        experts_on_cpu=experts_on_cpu,
    )
    return prompt.least


class Prompt:
    """A prompt on a machine: what each device has to do for it, and how long that takes.

    Arguments are those of `prefill_seconds`. What all its answers share is worked out once.
    """

    def __init__(
        self,
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
    ) -> None:
        self._reads = layer_reads(header, shape, features)
        self._shape = shape
        self._placement = placement
        self._places = placement.layers[: shape.layers]
        self._machine = machine
        self._devices = machine.devices
        self._tokens = tokens
        self._held = held
        self._experts_on_cpu = experts_on_cpu
        ubatch = max(ubatch, 1)
        full, rest = divmod(tokens, ubatch)
        found = ((ubatch, full), (rest, 1 if rest else 0))
        self._batches = tuple((batch, times) for batch, times in found if times)
        self._count = sum(times for _, times in self._batches)
        self._alone = 0  # tokens that kernels for many leave over
        if rest < _MATRIX_TOKENS:
            self._alone = rest
        if ubatch < _MATRIX_TOKENS:
            self._alone = tokens
        self._attention = attention_flops(shape, tokens, depth) / max(shape.layers, 1)
        self._work = self._by_device()
        self._reading = self._reading_seconds()
        self.held_by: Holder = "arithmetic"
        """What holds the device that takes longest, as the last likely time was worked out."""
        self.least = self._seconds(1.0, full=True)
        """The least time, in seconds; see `least_prefill_seconds`."""

    def likely(self, link_share: float = LINK_SHARES[1]) -> float | None:
        """Return the likely time in seconds; see `prefill_seconds`."""
        likely = self._seconds(link_share)
        return None if likely is None or self.least is None else max(likely, self.least)

    def _by_device(self) -> list[float]:
        """Return the operations on each device."""
        reads, tokens, attention = self._reads, self._tokens, self._attention
        work = [0.0] * len(self._devices)
        for layer, index in enumerate(self._places):
            work[index] += 2.0 * reads.parameters[layer] * tokens + attention
            if self._experts_on_cpu and index != CPU:
                work[index] -= 2.0 * reads.expert_parameters[layer] * tokens
        work[self._placement.output] += 2.0 * reads.head_parameters
        return work

    def _kernels(self) -> float:
        """Return the processor's operations, each over the share that its kernel reaches."""
        reads, alone = self._reads, self._alone
        many, attention = self._tokens - alone, self._attention / PREFILL_SHARE["cpu"]
        total = 0.0
        for layer, index in enumerate(self._places):
            if index == CPU:
                single = reads.dense_work[layer] + reads.expert_work[layer]
                total += reads.prompt_work[layer] * many + single * alone + attention
        return total

    def _seconds(self, link_share: float, *, full: bool = False) -> float | None:
        """Return how long it takes; ``full``: at all rates that are known, none of them a share."""
        total = longest = 0.0
        holder: Holder = "arithmetic"
        if self._experts_on_cpu:
            kept = self._expert_seconds(link_share, full=full)
            if kept is None:
                return None
            total = kept
            if kept:
                longest, holder = kept, "experts"
        reading, work = self._reading, self._work
        launching = [0.0] * len(reading) if full else self._launching_seconds()
        kernels = 0.0 if full else self._kernels()
        for index, device in enumerate(self._devices):
            if work[index] == 0:
                total += reading[index]
                continue
            seconds = _work_seconds(work[index], device, full=full)
            if index == CPU and kernels and device.prompt_flops_per_s:
                seconds = kernels / device.prompt_flops_per_s
            what: Holder = "arithmetic"
            if seconds is not None:
                if max(reading[index], launching[index]) > seconds:
                    what = "reading" if reading[index] >= launching[index] else "launches"
                seconds = max(seconds, reading[index], launching[index])
            if index == CPU and self._placement.offloaded:
                through = self._through_link(work[index], full=full)
                if through is not None and (seconds is None or through < seconds):
                    seconds, what = through, "link"
            if seconds is None:
                return None
            if seconds > longest:
                longest, holder = seconds, what
            total += seconds
        if not full:
            self.held_by = holder
        return total

    def _reading_seconds(self) -> list[float]:
        """Return how long each device reads: all micro-batches the layers, the last the output."""
        reads, devices, places = self._reads, self._devices, self._places
        read = [0.0] * len(devices)
        read[CPU] += reads.input_rows * self._tokens
        read[self._placement.output] += reads.output
        for batch, times in self._batches:
            for layer, index in enumerate(places):
                read[index] += times * reads.dense[layer]
                if reads.experts[layer] and (index == CPU or not self._experts_on_cpu):
                    chosen = expert_share(self._shape, layer, batch)
                    read[index] += times * reads.experts[layer] * chosen
            for index, size in enumerate(self._held):
                read[index] += times * size
        return [
            size / device.bandwidth_bytes_per_s if device.bandwidth_bytes_per_s else 0.0
            for size, device in zip(read, devices, strict=True)
        ]

    def _launching_seconds(self) -> list[float]:
        """Return how long the kernels of all micro-batches take to be launched, by device."""
        launches = launches_of(self._shape.layers, self._placement, len(self._devices))
        counts = zip(*launches, self._devices, strict=True)
        return [self._count * sum(launch_seconds(*of_device)) / 2.0 for of_device in counts]

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
        reads, cpu = self._reads, self._machine.cpu
        total = 0.0
        for layer, index in enumerate(self._places):
            if index == CPU or not reads.experts[layer]:
                continue
            device = self._devices[index]
            link = device.link_bytes_per_s
            if device.memory_pool == cpu.memory_pool and cpu.bandwidth_bytes_per_s:
                link = cpu.bandwidth_bytes_per_s / 2  # read and written in one memory
            for batch, times in self._batches:
                read = reads.experts[layer] * expert_share(self._shape, layer, batch)
                if batch >= _OFFLOADED_TOKENS and link and device.kind != "rpc":
                    work = 2.0 * reads.expert_parameters[layer] * batch
                    computed = _work_seconds(work, device, full=full)
                    if computed is None:
                        return None
                    total += times * (read / (link * link_share) + computed)
                elif cpu.prompt_flops_per_s:
                    work = reads.expert_prompt_work[layer] * batch
                    if full:
                        work = 2.0 * reads.expert_parameters[layer] * batch
                    reading = read / cpu.bandwidth_bytes_per_s if cpu.bandwidth_bytes_per_s else 0.0
                    total += times * max(work / cpu.prompt_flops_per_s, reading)
                else:
                    return None
        return total

    def _through_link(self, work: float, *, full: bool) -> float | None:
        """Return what the processor's layers take if they are brought to the output's device."""
        device = self._devices[self._placement.output]
        computed = _work_seconds(work, device, full=full)
        if computed is None or not device.link_bytes_per_s or device.kind == "rpc":
            return None
        reads, moved = self._reads, 0.0
        for layer, index in enumerate(self._places):
            if index == CPU:
                moved += reads.dense[layer] + reads.experts[layer]
        return computed + self._count * moved / device.link_bytes_per_s


def _work_seconds(work: float, device: Device, *, full: bool) -> float | None:
    if not device.prompt_flops_per_s:
        return None
    return work / (device.prompt_flops_per_s * (1.0 if full else PREFILL_SHARE[device.kind]))
