"""What all parts of a graph share: the batch, the caches' masks and the inputs.

Follows the inputs that src/llama-graph.cpp builds (``build_inp_embd``, ``build_attn_inp_*``,
``build_inp_out_ids``) for the prompt that ``llama_context::graph_reserve`` reserves memory for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gguf_tools.compute.graph import HOST, Graph, Node
from gguf_tools.header import Tensor
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import DIFFUSION, HYBRID, NO_CACHE
from gguf_tools.kv import kv_caches
from gguf_tools.quants import TensorType
from gguf_tools.settings import EngineSettings
from gguf_tools.units import round_up

__all__ = ["CacheInputs", "GraphContext"]


@dataclass(slots=True)
class CacheInputs:
    """Inputs that belong to one cache: its mask, indices and, for quantised types, rotations."""

    cells: int
    streams: int
    mask: Node
    k_indices: Node
    v_indices: Node
    k_rotation: Node | None
    v_rotation: Node | None


@dataclass(slots=True)
class GraphContext:
    """A graph under construction.

    ``tokens`` is the length of the prompt, a multiple of ``sequences``; ``outputs`` the rows that
    are wanted of it. ``wide`` is the input that first layers take further parts of (images), None
    where there are none.
    """

    shape: Hyperparameters
    settings: EngineSettings
    tensors: Mapping[str, Tensor]
    vocabulary: int
    tokens: int
    outputs: int
    sequences: int
    graph: Graph = field(default_factory=Graph)
    inputs: dict[str, Node] = field(default_factory=dict)
    caches: dict[str, CacheInputs] = field(default_factory=dict)
    wide: Node | None = None
    _blocks: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # Looped models run the same matrices in several layers.
        matrices = max(self.shape.layers // self.shape.loops, 1)
        self._blocks = tuple(f"blk.{layer % matrices}." for layer in range(self.shape.layers_all))

    @property
    def generates(self) -> bool:
        """Tell whether the model has an output matrix, its own or the embedding table."""
        return self.shape.architecture not in NO_CACHE - DIFFUSION | _EMBEDS

    @property
    def caching(self) -> bool:
        """Tell whether tokens see earlier ones through a cache, not only their own batch."""
        return self.shape.architecture not in NO_CACHE | _EMBEDS

    def cache_place(self, layer: int) -> int:
        """Return where a layer's cache and state lie."""
        return layer if self.settings.offload_kv else HOST

    # --- weights

    def rows(self, layer: int, name: str, suffix: str = "weight") -> int:
        """Return how many rows a layer's matrix has, 0 if there is none."""
        tensor = self.tensors.get(f"{self._blocks[layer]}{name}.{suffix}")
        return tensor.extent(1) if tensor is not None else 0

    def has(self, layer: int, name: str, suffix: str = "weight") -> bool:
        """Tell whether a layer has a tensor."""
        return f"{self._blocks[layer]}{name}.{suffix}" in self.tensors

    def tensor(self, layer: int, name: str, suffix: str = "weight") -> Tensor:
        """Return a layer's tensor; a KeyError says that the template doesn't fit the model."""
        return self.tensors[f"{self._blocks[layer]}{name}.{suffix}"]

    def routed(self, rows: int, used: int, x: Node, chosen: Node) -> Node:
        """Return the chosen experts' matrices of ``rows`` rows times ``x``."""
        out = self.graph.make((rows, used, chosen.ne[1]), x, chosen, weights=True)
        if self.settings.experts_on_cpu:
            out.place = HOST
        return out

    # --- inputs

    def input(self, name: str, *ne: int, unit: int = 4) -> Node:
        """Return an input by name, the same one each time."""
        node = self.inputs.get(name)
        if node is None:
            node = self.inputs[name] = self.graph.leaf(*ne, unit=unit)
        return node

    @property
    def positions(self) -> Node:
        """Return the positions of the tokens; four rows of them where images have a place too."""
        return self.input("positions", self.tokens * self.shape.position_rows)

    @property
    def output_ids(self) -> Node:
        """Return the indices of the rows that are wanted."""
        return self.input("output_ids", self.outputs)

    def embedded(self, *, scale: bool = False) -> Node:
        """Return the embedded tokens; the unused input for ready-made embeddings lives too."""
        graph = self.graph
        embedding = self.shape.embedding_length
        width = embedding * (1 + len(self.shape.deepstack))
        tokens = self.input("tokens", self.tokens)
        ready = self.input("embeddings", width, self.tokens)
        current = graph.make((embedding, self.tokens), tokens, weights=True)
        graph.expand(current)
        if width != embedding:
            current = graph.make((width, self.tokens), current)
            graph.expand(current)
        graph.expand(ready)
        if width != embedding:
            self.wide = current
            current = graph.view(current, embedding, self.tokens)
        if scale:
            current = graph.inplace(current)
        graph.expand(current)
        return current

    def cache(self, name: str, cells: int, *, streams: int | None = None) -> CacheInputs:
        """Return the inputs of a cache, the same ones each time."""
        known = self.caches.get(name)
        if known is not None:
            return known
        kv = self.settings.kv
        streams = self.settings.streams if streams is None else streams
        # In the graph, streams count only as far as sequences are in the batch.
        streams = min(streams, self.sequences)
        # Indexers score with half-precision masks in any case.
        unit = 2 if self.settings.flash_attention or name == "indexer" else 4
        graph = self.graph
        v_elements = self.tokens
        if not self.settings.flash_attention and not self.shape.mla:
            v_elements *= self.widest_v
        made = self.caches[name] = CacheInputs(
            cells=cells,
            streams=streams,
            mask=graph.leaf(cells, self.tokens // streams, 1, streams, unit=unit),
            k_indices=graph.leaf(self.tokens, unit=8),
            v_indices=graph.leaf(v_elements, unit=8),
            k_rotation=self._rotation(name, kv.type_k, keys=True),
            v_rotation=self._rotation(name, kv.type_v, keys=False),
        )
        return made

    def cached(self, layer: int, cache: CacheInputs) -> tuple[Node, Node]:
        """Return views of the K and V that a layer's attention reads from its cache."""
        shape, kv = self.shape, self.settings.kv
        held = self._held_by(layer)
        cells = cache.cells * cache.streams
        k_row = kv.type_k.row_bytes(shape.k_width(held))
        if shape.mla:  # V is the first part of K
            v_bytes = cells * k_row - kv.type_k.row_bytes(shape.k_width(held) - shape.kv_lora_rank)
        else:
            # Without flash attention V lies by columns, and all layers' rows are of one width.
            widest = shape.v_width(held) if kv.flash_attention else self.widest_v
            v_bytes = cells * kv.type_v.row_bytes(widest)
            v_bytes -= cache.cells * kv.type_v.row_bytes(widest - shape.v_width(held))
        place = self.cache_place(held)
        return self.graph.outside(place, cells * k_row), self.graph.outside(place, v_bytes)

    @property
    def widest_v(self) -> int:
        """Return the elements of the widest V row of any layer."""
        shape = self.shape
        return max(shape.v_width(layer) for layer in range(shape.layers_all))

    def _held_by(self, layer: int) -> int:
        """Return the layer whose cache a layer reads: one of the last two that have their own."""
        shape = self.shape
        if not 0 <= shape.kv_from_start <= layer:
            return layer
        return shape.kv_from_start - (2 if shape.sliding[layer] else 1)

    def _rotation(self, name: str, kind: TensorType, *, keys: bool) -> Node | None:
        """Return the Hadamard matrix that quantised caches rotate rows with."""
        shape = self.shape
        if not kind.quantized or (not keys and shape.mla):
            return None
        length = shape.head_k if keys else shape.head_v
        if shape.architecture in HYBRID - {"deepseek4"} and shape.swa_kind != "none":
            return None
        made = {cache.name: cache.layers for cache in kv_caches(shape, self.settings.kv)}
        lengths = {length(row.layer) for row in made.get(name, ())}
        first = length(0)
        if name == "indexer":  # its heads have a length of their own
            lengths = {first := shape.indexer_key_length}
        if len(lengths) != 1 or first == 0 or first % 64:
            return None
        size = 64
        only = lengths.pop()
        while keys and only and only % (size * 2) == 0:
            size *= 2
        return self.graph.leaf(size, size)

    @property
    def window_cells(self) -> int:
        """Return the cells of the cache of sliding layers."""
        kv = self.settings.kv
        if kv.swa_full:
            return kv.context
        window = self.shape.window * (kv.sequences if kv.unified else 1)
        return round_up(min(kv.context, window + kv.ubatch), 256)

    def layer_cache(self, layer: int) -> CacheInputs:
        """Return the cache that a layer attends to."""
        if self.shape.swa_kind != "none" and self.shape.sliding[layer]:
            return self.cache("swa", self.window_cells)
        return self.cache("main", self.settings.kv.context)


_EMBEDS = frozenset({"llama-embed"})
"""Architectures that have a cache, and neither use it nor their output matrix."""
