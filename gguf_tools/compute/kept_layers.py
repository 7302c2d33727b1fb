"""Which layers stand for all: the allocator comes to rest after a few of a kind.

A graph of a few layers asks for the same buffers as that of all, if it has the ends on each device,
each pair of neighbouring kinds, and leaves whole cycles out. A test holds it against whole graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gguf_tools.compute.indexed import INDEXED
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import HYBRID, RECURRENT
from gguf_tools.kept import kept_with_header
from gguf_tools.settings import EngineSettings

__all__ = ["KeptLayers", "kept_layers"]

_EACH_COUNTS: Final = INDEXED | {
    "falcon-h1",
    "gemma3n",
    "gemma4",
    "kimi-k3",
    "nemotron_h",
    "nemotron_h_moe",
    "rwkv6",
    "rwkv6qwen2",
    "rwkv7",
    "arwkv7",
}
"""Architectures of which no layer can be left out: each has an input or a pattern of its own."""
_ALONE: Final = 3
_DIVIDED: Final = 2
_MORE: Final = 3
"""How many layers are kept of each end and each kind: on one device, on each of several, and more
for layers with a state, whose results cross from one layer to the next."""
_PAIR: Final = 2
_CYCLE: Final = 6
"""Results of neighbouring layers change places in the buffer, by twos; where the logits of a whole
batch follow, which take what is free then, also by threes. Whole cycles are left out."""
_SHARED: Final = 12
"""Layers of the one graph that serves every placement over two devices if all layers are alike, one
more for an odd number: the ends and pairs of both need no more."""


@dataclass(frozen=True, slots=True)
class KeptLayers:
    """Layers that stand for all, with a number for the kind of each and its device.

    ``devices`` end with the output's. With the same kinds graphs are the same, and with the same
    devices buffers are.
    """

    layers: tuple[int, ...]
    kinds: tuple[int, ...]
    devices: tuple[int, ...]

    def spread(self, built: tuple[int, ...], count: int) -> tuple[int, ...]:
        """Return the device of each of ``count`` layers and the output, for a graph of ``built``.

        ``built`` are layers of the same kinds, perhaps of another placement. Layers that are left
        out lie where the one before does.
        """
        spread: list[int] = []
        for layer, end, device in zip(built, (*built[1:], count), self.devices, strict=False):
            spread += [device] * (end - layer)
        return (*spread, self.devices[-1])


def kept_layers(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    layers: tuple[int, ...],
    devices: int,
) -> KeptLayers:
    """Return layers that stand for all: the ends on each device, and kinds of neighbours.

    Args:
        header: the model.
        shape: its hyperparameters.
        settings: as the engine takes them.
        layers: device of each layer, the output last.
        devices: how many devices there are.
    """
    more = _MORE if shape.architecture in RECURRENT | HYBRID else 0
    few_of_each = (_DIVIDED if any(layers) and not more else _ALONE) + more
    if shape.layers <= 2 * few_of_each or shape.architecture in _EACH_COUNTS or shape.loops > 1:
        every = tuple(range(shape.layers))
        return KeptLayers(every, every, layers)
    kinds = _kinds(header, shape)
    alike = len(set(kinds)) == 1
    logits = settings.outputs >= settings.prompt_tokens
    cycle = _CYCLE if alike and logits else _PAIR
    shared = _SHARED + len(kinds) % _PAIR if alike and devices > 1 and not logits else 0
    return _few_of_each_kind(kinds, layers, few_of_each, cycle, shared)


# Not by header: a slider asks for a hundred placements of one model, and a list of variants for
# dozens of models, whose headers would all be held.
@lru_cache(maxsize=1024)
def _few_of_each_kind(
    kinds: tuple[int, ...],
    layers: tuple[int, ...],
    few_of_each: int,
    cycle: int,
    least: int,
) -> KeptLayers:
    """Return what `kept_layers` does.

    Args:
        kinds: of each layer.
        layers: device of each layer, the output last.
        few_of_each: layers that are kept of each end and each kind.
        cycle: of layers on the output's device so many are left out, or a multiple.
        least: layers that are kept at least, if there are so many.
    """
    count = len(kinds)
    kept: set[int] = set()
    seen: dict[tuple[int, int, int], int] = {}
    start = 0
    for end in range(1, count + 1):
        if end < count and layers[end] == layers[start]:
            continue
        few = {
            *range(start, min(start + few_of_each, end)),
            *range(max(end - few_of_each, start), end),
        }
        for layer in range(start + 1, end):
            pair = (layers[start], kinds[layer - 1], kinds[layer])
            times = seen.get(pair, 0)
            if times < few_of_each:
                seen[pair] = times + 1
                few |= {layer - 1, layer}
        spare = [layer for layer in range(start, end) if layer not in few]
        few.update(spare[: len(spare) % (cycle if end == count else _PAIR)])
        kept |= few
        start = end
    spare = [layer for layer in range(count) if layer not in kept]
    kept.update(spare[: max(least - len(kept), 0)])
    chosen = tuple(sorted(kept))
    return KeptLayers(
        chosen,
        tuple(kinds[layer] for layer in chosen),
        (*(layers[layer] for layer in chosen), layers[-1]),
    )


@kept_with_header(4)
def _kinds(header: Header, shape: Hyperparameters) -> tuple[int, ...]:
    """Return a number for each layer that tells kinds of layers apart."""
    names: list[set[tuple[str, tuple[int, ...]]]] = [set() for _ in range(shape.layers)]
    for tensor in header.tensors.values():
        head, _, rest = tensor.name.removeprefix("dec.").partition(".")
        block, _, name = rest.partition(".")
        if head == "blk" and block.isdigit() and int(block) < shape.layers:
            names[int(block)].add((name, tensor.shape))
    numbers: dict[object, int] = {}
    kinds = []
    for layer in range(shape.layers):
        key = (
            frozenset(names[layer]),
            shape.sliding[layer],
            shape.recurrent[layer],
            layer in shape.deepstack,
            shape.heads[layer],
            shape.kv_heads[layer],
            layer % 4 if shape.architecture in {"smollm3", "llama4", "afmoe"} else 0,
            layer % shape.expert_step if shape.expert_step > 1 else 0,
        )
        kinds.append(numbers.setdefault(key, len(numbers)))
    return tuple(kinds)
