"""Compute buffers: what the engine reserves for intermediate results of a prompt."""

from __future__ import annotations

from gguf_tools.compute.build import build_graph

__all__ = ["build_graph"]
