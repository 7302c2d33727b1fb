"""Chooses how to build the graph of an architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gguf_tools.compute.banked import build_banked
from gguf_tools.compute.compressed import build_compressed
from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.encoder import BERT_FAMILY, build_bert, build_t5
from gguf_tools.compute.gemma import build_gemma3n, build_gemma4
from gguf_tools.compute.graph import Graph
from gguf_tools.compute.indexed import INDEXED, build_indexed
from gguf_tools.compute.rwkv import build_rwkv
from gguf_tools.compute.traits import Traits, traits_of
from gguf_tools.compute.transformer import build_transformer
from gguf_tools.facts import vocabulary_size
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.settings import EngineSettings
from gguf_tools.units import round_up

__all__ = ["build_graph"]


def build_graph(
    header: Header,
    shape: Hyperparameters,
    settings: EngineSettings,
    layers: tuple[int, ...] | None = None,
) -> Graph:
    """Return the graph of the prompt that memory is reserved for.

    Args:
        header: the model.
        shape: its hyperparameters.
        settings: as the engine takes them.
        layers: which layers to build, all by default.

    Raises:
        KeyError: the model lacks a tensor that its architecture needs.
    """
    context = GraphContext(
        shape=shape,
        settings=settings,
        tensors=header.tensors,
        vocabulary=vocabulary_size(header) or 0,
        tokens=round_up(settings.prompt_tokens, settings.sequences),
        outputs=min(settings.prompt_tokens, settings.outputs),
        sequences=settings.sequences,
    )
    builder = _builder(shape.architecture)
    if layers is None:
        layers = tuple(range(shape.layers))
    builder(context, layers, traits_of(shape.architecture))
    return context.graph


def _builder(architecture: str) -> Callable[[GraphContext, tuple[int, ...], Traits], None]:
    if architecture in BERT_FAMILY:
        return build_bert
    if architecture in INDEXED:
        return build_indexed
    return _BUILDERS.get(architecture, build_transformer)


_BUILDERS: Final = {
    "arwkv7": build_rwkv,
    "deepseek4": build_compressed,
    "gemma3n": build_gemma3n,
    "gemma4": build_gemma4,
    "kimi-k3": build_banked,
    "rwkv6": build_rwkv,
    "rwkv6qwen2": build_rwkv,
    "rwkv7": build_rwkv,
    "t5": build_t5,
}
