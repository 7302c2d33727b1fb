"""The numbers that shape a model, read as llama.cpp reads them, for each architecture."""

from __future__ import annotations

from gguf_tools.hparams.model import Hyperparameters, SwaKind
from gguf_tools.hparams.read import HparamsReading, read_hyperparameters

__all__ = ["HparamsReading", "Hyperparameters", "SwaKind", "read_hyperparameters"]
