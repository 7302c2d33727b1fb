"""KV caches: which there are, how many cells and bytes each takes, layer by layer.

Follows ``create_memory`` (src/llama-model.cpp), src/llama-kv-cache.cpp and its relatives
``-iswa``, ``-dsa``, ``-dsa-iswa``, ``-msa`` and ``-dsv4``, and src/llama-memory-hybrid*.cpp. The
bytes are llama.cpp's own to the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.tables import HYBRID, NO_CACHE, RECURRENT
from gguf_tools.quants import TENSOR_TYPES, TensorType
from gguf_tools.units import ceil_div, round_up

__all__ = ["CacheLayer", "KvCache", "KvSettings", "kv_caches", "window_cells"]

_CELLS: Final = 256  # caches grow in steps of this many cells
_CSA_RATIO: Final = 4
_HCA_RATIO: Final = 128
_F16: Final = TENSOR_TYPES[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class KvSettings:
    """Settings that decide the size of the caches, as the engine normalised them.

    ``context`` is the length of one sequence's cache (``n_ctx_seq``), ``ubatch`` the micro-batch.
    """

    context: int = 4096
    sequences: int = 1
    ubatch: int = 512
    unified: bool = False
    swa_full: bool = False
    flash_attention: bool = True
    type_k: TensorType = _F16
    type_v: TensorType = _F16


@dataclass(frozen=True, slots=True)
class CacheLayer:
    """What one layer holds in a cache: bytes of a K row and of a V row (0 where there is none)."""

    layer: int
    k_row_bytes: int
    v_row_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCache:
    """One cache: ``cells`` a stream, ``streams`` streams, for some of the layers.

    ``grows`` is False for caches that end at a window. ``name`` is main, swa, indexer, csa or hca.
    """

    name: str
    cells: int
    streams: int
    layers: tuple[CacheLayer, ...]
    grows: bool = True
    tokens_per_cell: int = 1

    @property
    def bytes_per_cell(self) -> int:
        """Return bytes that a cell takes over all layers."""
        return sum(layer.k_row_bytes + layer.v_row_bytes for layer in self.layers)

    @property
    def bytes_per_token(self) -> int:
        """Return bytes that one more token takes."""
        return self.bytes_per_cell // self.tokens_per_cell

    def layer_bytes(self, layer: CacheLayer, alignment: int = 32) -> int:
        """Return bytes of a layer's tensors, each padded to the buffer's alignment."""
        count = self.cells * self.streams
        return round_up(layer.k_row_bytes * count, alignment) + round_up(
            layer.v_row_bytes * count, alignment
        )

    def size_bytes(self, alignment: int = 32) -> int:
        """Return bytes of the whole cache."""
        return sum(self.layer_bytes(layer, alignment) for layer in self.layers)


def kv_caches(shape: Hyperparameters, settings: KvSettings) -> tuple[KvCache, ...]:
    """Return the caches that a context with these settings creates; none without attention."""
    arch = shape.architecture
    if arch in NO_CACHE or arch in RECURRENT:
        return ()
    if arch == "deepseek4":
        return _deepseek4(shape, settings)
    full, sliding = _rows(shape, settings.type_k, settings.type_v, settings.flash_attention)
    caches: list[KvCache] = []
    if full:
        caches.append(_cache("main", settings.context, settings, full))
    if sliding:
        cells = window_cells(shape, settings)
        caches.append(_cache("swa", cells, settings, sliding, grows=settings.swa_full))
    caches.extend(_indexer(shape, settings))
    return tuple(caches)


def _has_kv(shape: Hyperparameters, layer: int) -> bool:
    return shape.kv_from_start < 0 or layer < shape.kv_from_start


def _attending(shape: Hyperparameters) -> Callable[[int], bool]:
    """Return which layers the main cache takes (the layer filters of ``create_memory``)."""
    arch = shape.architecture
    if arch == "falcon-h1":
        return lambda _layer: True
    if arch in {"nemotron_h", "nemotron_h_moe"}:
        return lambda layer: not shape.recurrent[layer] and shape.feed_forward[layer] == 0
    if arch in {"qwen3next", "qwen35", "qwen35moe", "qwen4exp", "minimax-01", "glm5-next"}:
        return lambda layer: layer < shape.layers and not shape.recurrent[layer]
    if arch in HYBRID:
        return lambda layer: not shape.recurrent[layer]
    if arch in {"minimax-m3", "hy_v4"}:
        return lambda _layer: True
    if shape.layers_nextn > 0 and shape.layers > 0 and shape.router_layer < 0:
        return lambda layer: layer < shape.layers
    return lambda _layer: True


@lru_cache(maxsize=64)
def _rows(
    shape: Hyperparameters, type_k: TensorType, type_v: TensorType, flash_attention: bool
) -> tuple[tuple[CacheLayer, ...], tuple[CacheLayer, ...]]:
    """Return the rows of layers with a cache: of those that see everything, of sliding ones."""
    attends = _attending(shape)
    slides = shape.swa_kind != "none"
    layers = range(shape.layers_all)
    # Without flash attention V lies transposed, and rows of all layers take the largest width.
    largest = 0 if flash_attention else max(shape.v_width(layer) for layer in layers)
    full: list[CacheLayer] = []
    sliding: list[CacheLayer] = []
    for layer in layers:
        if not (_has_kv(shape, layer) and attends(layer)):
            continue
        v_width = shape.v_width(layer) if flash_attention else largest
        v_row = 0 if shape.mla else type_v.row_bytes(v_width)
        row = CacheLayer(layer, type_k.row_bytes(shape.k_width(layer)), v_row)
        (sliding if slides and shape.sliding[layer] else full).append(row)
    return tuple(full), tuple(sliding)


def window_cells(shape: Hyperparameters, settings: KvSettings) -> int:
    """Return the cells of the cache of sliding layers."""
    if settings.swa_full:
        return settings.context
    window = shape.window * (settings.sequences if settings.unified else 1)
    return round_up(min(settings.context, window + settings.ubatch), _CELLS)


def _cache(
    name: str,
    cells: int,
    settings: KvSettings,
    layers: Iterable[CacheLayer],
    *,
    grows: bool = True,
    streams: int | None = None,
    tokens_per_cell: int = 1,
) -> KvCache:
    if streams is None:
        streams = 1 if settings.unified else settings.sequences
    return KvCache(
        name=name,
        cells=cells,
        streams=streams,
        layers=tuple(layers),
        grows=grows,
        tokens_per_cell=tokens_per_cell,
    )


def _indexer(shape: Hyperparameters, settings: KvSettings) -> list[KvCache]:
    """Return the second, small cache of sparse attention: one key head on layers that index."""
    arch = shape.architecture
    trunk = range(shape.layers)
    k_width = shape.indexer_key_length
    v_width = 0
    if arch in {"deepseek32", "glm-dsa", "dots3note"}:
        layers = [layer for layer in trunk if shape.indexer_full[layer]]
    elif arch == "hy_v4" and shape.indexer_top_k > 0:
        layers = [layer for layer in range(shape.layers_all) if shape.indexer_full[layer]]
    elif arch == "minimax-m3":
        # The V of this cache is never used, but it is allocated.
        layers = list(range(shape.dense_lead, shape.layers_all))
        v_width = shape.value_length
    elif arch == "qwen4exp" and k_width > 0:
        layers = [layer for layer in trunk if not shape.recurrent[layer]]
    elif arch == "glm5-next":
        layers = [
            layer for layer in trunk if not shape.recurrent[layer] and shape.indexer_full[layer]
        ]
        k_width *= 3 if shape.indexer_pool > 0 else 1
    else:
        return []
    k_row = settings.type_k.row_bytes(k_width)
    v_row = settings.type_v.row_bytes(v_width)
    rows = [CacheLayer(layer, k_row, v_row) for layer in layers]
    return [_cache("indexer", settings.context, settings, rows)] if rows else []


def _deepseek4(shape: Hyperparameters, settings: KvSettings) -> tuple[KvCache, ...]:
    """Return DeepSeek V4's raw, compressed and indexer caches, which stay apart by sequence."""
    streams = settings.sequences
    window = shape.window + settings.ubatch
    raw_cells = round_up(min(settings.context, window), _CELLS)
    if settings.swa_full:
        raw_cells = settings.context
    row = settings.type_k.row_bytes

    def compressed(ratio: int) -> int:
        return round_up(max(1, ceil_div(settings.context, ratio)), _CELLS)

    def layers(ratio: int) -> list[int]:
        listed = shape.compress_ratios
        return [layer for layer in range(shape.layers_all) if listed[layer] == ratio]

    raw = [CacheLayer(layer, row(shape.k_width(layer)), 0) for layer in range(shape.layers_all)]
    csa = [CacheLayer(layer, row(shape.k_width(layer)), 0) for layer in layers(_CSA_RATIO)]
    hca = [CacheLayer(layer, row(shape.k_width(layer)), 0) for layer in layers(_HCA_RATIO)]
    lid = [CacheLayer(layer, row(shape.indexer_key_length), 0) for layer in layers(_CSA_RATIO)]
    made = (
        _cache("swa", raw_cells, settings, raw, grows=settings.swa_full, streams=streams),
        _cache(
            "csa",
            compressed(_CSA_RATIO),
            settings,
            csa,
            streams=streams,
            tokens_per_cell=_CSA_RATIO,
        ),
        _cache(
            "hca",
            compressed(_HCA_RATIO),
            settings,
            hca,
            streams=streams,
            tokens_per_cell=_HCA_RATIO,
        ),
        _cache(
            "indexer",
            compressed(_CSA_RATIO),
            settings,
            lid,
            streams=streams,
            tokens_per_cell=_CSA_RATIO,
        ),
    )
    return tuple(cache for cache in made if cache.layers)
