"""An encoder and a decoder without gates, as in the first of these models."""

from __future__ import annotations

from dataclasses import replace

from tests.helpers.families.encoder_decoder import FAMILY as GATED

FAMILY = replace(
    GATED,
    layers=tuple(
        {name: shape for name, shape in layer.items() if "ffn_gate" not in name}
        for layer in GATED.layers
    ),
)
