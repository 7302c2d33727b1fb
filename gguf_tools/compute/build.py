"""Chooses how to build the graph of an architecture."""

from __future__ import annotations

from gguf_tools.compute.context import GraphContext
from gguf_tools.compute.graph import Graph
from gguf_tools.compute.traits import traits_of
from gguf_tools.compute.transformer import build_transformer
from gguf_tools.facts import vocabulary_size
from gguf_tools.header import Header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.settings import EngineSettings
from gguf_tools.units import round_up

__all__ = ["build_graph"]


def build_graph(header: Header, shape: Hyperparameters, settings: EngineSettings) -> Graph:
    """Return the graph of the prompt that memory is reserved for."""
    context = GraphContext(
        shape=shape,
        settings=settings,
        tensors=header.tensors,
        vocabulary=vocabulary_size(header) or 0,
        tokens=round_up(settings.prompt_tokens, settings.sequences),
        outputs=min(settings.prompt_tokens, settings.outputs),
        sequences=settings.sequences,
    )
    build_transformer(context, tuple(range(shape.layers)), traits_of(shape.architecture))
    return context.graph
