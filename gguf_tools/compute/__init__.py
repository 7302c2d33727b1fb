"""Compute buffers: what the engine reserves for intermediate results of a prompt."""

from __future__ import annotations
