"""Layers of different widths: heads, key heads and feed-forward change, one has no attention."""

from __future__ import annotations

from tests.helpers.families.family import VOCABULARY, Family, attention, base_keys, feed_forward

_FIRST = {**attention(288, 96), **feed_forward()}
_SECOND = {**attention(288, 288), **feed_forward(96)}
_THIRD = {**attention(288, 32), **feed_forward(352)}
_FOURTH = feed_forward(224)
_FIFTH = {**attention(288, 32), **feed_forward(160)}
_SIXTH = {**attention(288, 288), **feed_forward(416)}

FAMILY = Family(
    architecture="deci",
    keys=base_keys(
        layers=7,
        heads=[9, 9, 9, 0, 9, 9, 9],
        kv_heads=[3, 9, 1, 0, 3, 1, 9],
        head=32,
        hidden=[608, 96, 352, 224, 608, 160, 416],
    ),
    outer={"token_embd.weight": (288, VOCABULARY), "output_norm.weight": (288,)},
    layers=(_FIRST, _SECOND, _THIRD, _FOURTH, _FIRST, _FIFTH, _SIXTH),
)
